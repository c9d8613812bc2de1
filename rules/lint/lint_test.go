package lint

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"failwise/rules"
)

var update = flag.Bool("update", false, "write docs/lint.md and the expected findings of testdata anew")

// fixtureConfig is the part of a configuration that a fixture gives.
type fixtureConfig struct {
	Tick, Interval, Budget, AgeLimit string
	Settle, Quota                    int
	Types                            []string
	Confirm, NetTimeout              string
}

func (c fixtureConfig) config(t *testing.T) *Config {
	t.Helper()
	d := func(s string) time.Duration {
		if s == "" {
			return 0
		}
		v, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	out := &Config{ProbeTypes: c.Types, ConfirmReplicas: c.Confirm, ReplicaNetTimeout: d(c.NetTimeout)}
	if c.Tick != "" {
		out.Timings = rules.Timings{
			Tick: d(c.Tick), ProbeInterval: d(c.Interval), ProbeBudget: d(c.Budget), AgeLimit: d(c.AgeLimit),
			Settle: c.Settle, Quota: c.Quota, SettleRestarts: 3, Retry: time.Minute, Attempts: 3,
		}
	}
	return out
}

// TestFixtures runs each testdata archive: X.properties must give the findings of
// X.want, under the profile and configuration that stand before it.
func TestFixtures(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Code, func(t *testing.T) {
			path := filepath.Join("testdata", strings.ToLower(c.Code)+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatalf("%s needs a fixture: %v", c.Code, err)
			}
			want := map[string]string{}
			for _, f := range archive.Files {
				want[f.Name] = string(f.Data)
			}
			var config *Config
			base := rules.Defaults()
			bad, good := 0, 0
			out := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				name, kind, _ := strings.Cut(f.Name, ".")
				switch kind {
				case "json":
					var fc fixtureConfig
					if err := json.Unmarshal(f.Data, &fc); err != nil {
						t.Fatalf("%s: %v", f.Name, err)
					}
					config = fc.config(t)
				case "profile":
					p, err := rules.ParseProfile(string(f.Data))
					if err != nil {
						t.Fatal(err)
					}
					base = p.Rules()
				case "want":
					continue
				}
				out.Files = append(out.Files, f)
				if kind != "properties" {
					continue
				}
				var got strings.Builder
				hit := false
				for _, finding := range Run(Input{Name: f.Name, Source: f.Data, Base: base, Config: config}).Findings {
					got.WriteString(Render(finding, nil))
					hit = hit || finding.Code == c.Code
				}
				if hit {
					bad++
				} else {
					good++
				}
				out.Files = append(out.Files, txtar.File{Name: name + ".want", Data: []byte(got.String())})
				if diff := cmp.Diff(want[name+".want"], got.String()); diff != "" && !*update {
					t.Errorf("%s (-want +got)\n%s", f.Name, diff)
				}
			}
			if bad == 0 || good == 0 {
				t.Errorf("%s has %d fixtures that the check reports and %d that it does not; it needs both", path, bad, good)
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestExamplesAreWhatTheyClaimToBe(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Code, func(t *testing.T) {
			found := false
			for _, f := range Run(Input{Name: "bad.properties", Source: []byte(c.Bad), Config: c.Config}).Findings {
				found = found || f.Code == c.Code && f.Severity == c.Severity
			}
			if !found {
				t.Error("the bad example is not reported")
			}
			config := c.Config
			if c.Mended != nil {
				config = c.Mended
			}
			for _, f := range Run(Input{Name: "good.properties", Source: []byte(c.Good), Config: config}).Findings {
				t.Errorf("the good example is reported: %s", Render(f, nil))
			}
		})
	}
}

func TestShippedRulesAreClean(t *testing.T) {
	for _, p := range rules.Profiles() {
		for _, types := range [][]string{nil, {"connect"}, {"connect", "insert"}} {
			config := &Config{Timings: p.Timings(), ProbeTypes: types, ConfirmReplicas: "bounce"}
			for _, f := range Run(Input{Name: p.String(), Base: p.Rules(), Config: config}).Findings {
				t.Errorf("%s with probe types %v: %s", p, types, Render(f, nil))
			}
		}
	}
}

func TestCodesAreUniqueAscendingAndDocumented(t *testing.T) {
	last := ""
	for _, c := range Checks() {
		if c.Code <= last || len(c.Code) != 5 || !strings.HasPrefix(c.Code, "FW") {
			t.Errorf("%q after %q", c.Code, last)
		}
		last = c.Code
		if c.Title == "" || c.What == "" || c.Why == "" || c.Fix == "" || c.Bad == "" || c.Good == "" || c.Severity == 0 {
			t.Errorf("%s is not described in full", c.Code)
		}
	}
}

func TestTheUsualTimingsAreTheDefaultProfiles(t *testing.T) {
	if usual != rules.Tungsten.Timings() {
		t.Errorf("usual = %+v", usual)
	}
}

func BenchmarkRun(b *testing.B) {
	src := rules.DefaultsFile()
	for b.Loop() {
		Run(Input{Name: "f", Source: src})
	}
}

func FuzzRun(f *testing.F) {
	for _, c := range Checks() {
		f.Add(c.Bad)
	}
	f.Add("# failwise:ignore FW203,FW204 x\n#failwise:ignore\n! failwise:ignore FW999")
	f.Fuzz(func(t *testing.T, src string) {
		config := &Config{Timings: usual, ProbeTypes: []string{"select"}, ConfirmReplicas: "off", ReplicaNetTimeout: time.Hour}
		report := Run(Input{Name: "f", Source: []byte(src), Config: config})
		_, _, err := rules.Parse("f", []byte(src), rules.Defaults())
		if err != nil && report.Count(Error) == 0 {
			t.Fatalf("a file that is rejected has no error: %v", err)
		}
		for _, finding := range append(report.Findings, report.Ignored...) {
			text := Render(finding, nil)
			if strings.ContainsAny(text, "\x1b\r\x00") {
				t.Fatalf("control characters in %q", text)
			}
			if strings.Count(finding.Message, "\n") > 0 {
				t.Fatalf("a message of two lines: %q", finding.Message)
			}
		}
	})
}
