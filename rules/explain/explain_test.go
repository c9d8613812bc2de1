package explain

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"failwise/rules"
	"failwise/rules/lint"
)

var update = flag.Bool("update", false, "write the pages of testdata anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test ./rules/explain -update writes it anew\n%s", path, diff)
	}
}

func parse(t *testing.T, src string, base *rules.Map) *rules.Map {
	t.Helper()
	m, warnings, err := rules.Parse("my.properties", []byte(src), base)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return m
}

func page(t *testing.T, q Question) Page {
	t.Helper()
	p, err := Explain(q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPages(t *testing.T) {
	windowed := parse(t, rules.Rule{State: rules.Timeout, Threshold: 72, Action: rules.Fail, Window: 90}.Properties(rules.QueryResultsTimeout), rules.Defaults())
	couchbase := Setup{Timings: rules.Couchbase.Timings(), Replicas: 4, ConfirmReplicas: "passive"}
	for name, q := range map[string]Question{
		"query_results_timeout.txt":        {Outcome: rules.QueryResultsTimeout},
		"query_results_timeout-window.txt": {Outcome: rules.QueryResultsTimeout, Rules: windowed, Role: Primary},
		"query_results_timeout-mha.txt":    {Outcome: rules.QueryResultsTimeout, Rules: rules.MHA.Rules(), Role: Primary},
		"socket_io_error.txt":              {Outcome: rules.SocketIOError},
		"login_response_timeout.txt":       {Outcome: rules.LoginResponseTimeout, Rules: rules.Couchbase.Rules(), Setup: couchbase, Role: Primary},
		"too_many_connections.txt":         {Outcome: rules.TooManyConnections, Via: "server error 1040 (ER_CON_COUNT_ERROR)"},
		"write_timeout.txt":                {Outcome: rules.WriteTimeout, Role: Replica},
		"ok.txt":                           {Outcome: rules.OK},
		"not_online.txt":                   {Outcome: rules.NotOnline},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, page(t, q).Text(0, nil)) })
	}
}

func TestTable(t *testing.T) {
	m := parse(t, rules.Rule{State: rules.Timeout, Threshold: 72, Action: rules.Fail, Window: 90}.Properties(rules.QueryResultsTimeout), rules.Defaults())
	pages := All(m, Setup{}, "")
	if len(pages) != len(rules.Outcomes()) {
		t.Errorf("%d pages", len(pages))
	}
	golden(t, "all-80.txt", Table(pages, 80, nil))
	golden(t, "all-120.txt", Table(pages, 120, nil))
	golden(t, "all-60.txt", Table(pages, 60, nil))
}

func TestPageAsJSON(t *testing.T) {
	b, err := json.MarshalIndent(page(t, Question{Outcome: rules.NoRouteToHost, Role: Primary}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "no_route_to_host.json", string(b)+"\n")
}

func TestTextFitsItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(60, 200).Draw(t, "width")
		m := rapid.SampledFrom(rules.Profiles()).Draw(t, "profile").Rules()
		p, err := Explain(Question{Outcome: rapid.SampledFrom(rules.Outcomes()).Draw(t, "outcome"), Rules: m})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(p.Text(width, nil), "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("%d columns: %q", utf8.RuneCountInString(line), line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Fatalf("blanks at the end of %q", line)
			}
		}
		for _, line := range strings.Split(Table([]Page{p}, width, nil), "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("%d columns: %q", utf8.RuneCountInString(line), line)
			}
		}
	})
}

func TestStyleChangesNoWord(t *testing.T) {
	p := page(t, Question{Outcome: rules.LoginResponseTimeout})
	strip := strings.NewReplacer("<", "", ">", "")
	marked := p.Text(80, func(_ Kind, s rules.State, text string) string {
		if s != rules.Timeout {
			t.Errorf("state %s", s)
		}
		return "<" + text + ">"
	})
	if !strings.Contains(marked, "<login_response_timeout>") || !strings.Contains(marked, "<timeout>") {
		t.Error("the outcome or its state was not styled")
	}
	// Words in angle brackets do not occur on this page.
	if diff := cmp.Diff(p.Text(80, nil), strip.Replace(marked)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryOutcomeIsExplained(t *testing.T) {
	for _, o := range rules.Outcomes() {
		s := subjects[o]
		if len(s.neighbours) == 0 {
			t.Errorf("%s has no neighbours", o)
		}
		for _, m := range []*rules.Map{rules.Defaults(), rules.Couchbase.Rules(), rules.MHA.Rules()} {
			p := page(t, Question{Outcome: o, Rules: m})
			if len(p.Why) == 0 || p.Verdict == "" || len(p.Roles) != 2 {
				t.Errorf("%s in profile %s lacks its reasons", o, m.Profile())
			}
			if !p.Rule.Fatal && len(p.Protects) == 0 && o != rules.OK && !never(o) {
				t.Errorf("%s in profile %s does not say what sitting still protects from", o, m.Profile())
			}
		}
	}
	if _, err := Explain(Question{}); err == nil {
		t.Error("no outcome was explained")
	}
}

// Each alternative must be a rule that the parser takes and that lint says what
// the page says about.
func TestAlternativesAreGoodRulesWithTheFindingsTheyName(t *testing.T) {
	for _, m := range []*rules.Map{rules.Defaults(), rules.Couchbase.Rules(), rules.MHA.Rules()} {
		for _, o := range rules.Outcomes() {
			p := page(t, Question{Outcome: o, Rules: m})
			for _, a := range p.Alternatives {
				var codes []string
				for _, f := range lint.Run(lint.Input{Name: "f", Source: []byte(a.Rule), Base: m}).Findings {
					codes = append(codes, f.Code)
				}
				if !slices.Equal(codes, a.Lint) {
					t.Errorf("%s in profile %s, %q: lint reports %v, the page says %v\n%s", o, m.Profile(), a.Title, codes, a.Lint, a.Rule)
				}
				if m.Rule(o).Equal(a.rule) {
					t.Errorf("%s: %q is the rule in force", o, a.Title)
				}
				if a.Gains == "" || a.Risk == "" {
					t.Errorf("%s: %q lacks its gains or risk", o, a.Title)
				}
			}
		}
	}
}

func TestTimingIsCountedFromTheFault(t *testing.T) {
	tungsten := Setup{Timings: rules.Tungsten.Timings(), Replicas: 2}
	few := tungsten
	few.ConfirmReplicas = "off"
	for name, tc := range map[string]struct {
		q             Question
		role          Role
		expires, acts Span
	}{
		"refused":                 {Question{Outcome: rules.SocketIOError, Setup: tungsten}, Primary, Span{0, 3}, Span{0, 13}},
		"refused, unconfirmed":    {Question{Outcome: rules.SocketIOError, Setup: few}, Primary, Span{0, 3}, Span{0, 8}},
		"refused replica":         {Question{Outcome: rules.SocketIOError, Setup: tungsten}, Replica, Span{0, 3}, Span{0, 3}},
		"connect timeout":         {Question{Outcome: rules.SocketConnectTimeout, Setup: tungsten}, Primary, Span{85, 88}, Span{90, 98}},
		"no route":                {Question{Outcome: rules.NoRouteToHost, Setup: tungsten}, Primary, Span{60, 68}, Span{60, 78}},
		"alert":                   {Question{Outcome: rules.WriteTimeout, Setup: tungsten}, Primary, Span{65, 68}, Span{65, 68}},
		"settle beside the votes": {Question{Outcome: rules.SocketConnectTimeout, Rules: rules.Couchbase.Rules(), Setup: Setup{Timings: rules.Couchbase.Timings(), Replicas: 1}}, Primary, Span{125, 126}, Span{130, 134}},
		"stall, nobody to ask":    {Question{Outcome: rules.QueryExecTimeout, Rules: rules.MHA.Rules(), Setup: Setup{Timings: rules.MHA.Timings(), Replicas: 9}}, Primary, Span{14, 17}, Span{19, 22}},
		"setup from the profile":  {Question{Outcome: rules.SocketIOError, Rules: rules.MHA.Rules()}, Replica, Span{9, 12}, Span{9, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, part := range page(t, tc.q).Roles {
				if part.Role != tc.role {
					continue
				}
				if part.Timing == nil {
					t.Fatal("no timing")
				}
				if part.Timing.Expires != tc.expires || part.Timing.Acts != tc.acts {
					t.Errorf("expires %v, acts %v; want %v and %v", part.Timing.Expires, part.Timing.Acts, tc.expires, tc.acts)
				}
			}
		})
	}
	for _, o := range []rules.Outcome{rules.OK, rules.QueryResultsTimeout, rules.NotOnline, rules.UntrappedCondition} {
		if got := page(t, Question{Outcome: o}).Roles[0].Timing; got != nil {
			t.Errorf("%s: %+v", o, got)
		}
	}
}

func TestOriginAndWhatItReplaces(t *testing.T) {
	m := parse(t, "# mine\n"+rules.Rule{State: rules.Timeout, Threshold: 5, Action: rules.Alert}.Properties(rules.QueryExecTimeout), rules.MHA.Rules())
	r := page(t, Question{Outcome: rules.QueryExecTimeout, Rules: m}).Rule
	if r.Origin != "my.properties:2" || r.Profile != "mha" {
		t.Errorf("origin %q, profile %q", r.Origin, r.Profile)
	}
	want := []Replaced{{"timeout 3 fail", "profile mha"}, {"timeout -1 none", "shipped default"}}
	if diff := cmp.Diff(want, r.Replaces); diff != "" {
		t.Error(diff)
	}
}

// osName is how an error number of the operating system is named here, wherever
// the tests run.
func osName(name string, errno syscall.Errno) string {
	return fmt.Sprintf("%s (%d, %s)", name, int(errno), errno)
}

func TestByNumber(t *testing.T) {
	for _, tc := range []struct {
		number string
		phase  rules.Phase
		want   rules.Outcome
		via    string
	}{
		{"1040", rules.PhaseNone, rules.TooManyConnections, "server error 1040 (ER_CON_COUNT_ERROR)"},
		{" 1045 ", rules.PhaseLogin, rules.WrongCredentials, "server error 1045 (ER_ACCESS_DENIED_ERROR), in phase login"},
		{"1227", rules.PhaseNone, rules.WrongCredentials, "server error 1227 (ER_SPECIFIC_ACCESS_DENIED_ERROR)"},
		{"1227", rules.PhaseExecute, rules.QueryExecutionFailed, "server error 1227 (ER_SPECIFIC_ACCESS_DENIED_ERROR), in phase execute"},
		{"1290", rules.PhaseNone, rules.ReadOnly, "server error 1290 (ER_OPTION_PREVENTS_STATEMENT)"},
		{"1030/28", rules.PhaseNone, rules.DiskFull, "server error 1030 (ER_GET_ERRNO) with OS error 28"},
		{"1030/5", rules.PhaseNone, rules.StorageError, "server error 1030 (ER_GET_ERRNO) with OS error 5"},
		{"1030", rules.PhaseNone, rules.QueryExecutionFailed, "server error 1030 (ER_GET_ERRNO); with OS error 28 or 122 in its message it is disk_full, with 5 or 30 storage_error: ask for 1030/28"},
		{"1598", rules.PhaseNone, rules.StorageError, "server error 1598 (ER_BINLOG_LOGGING_IMPOSSIBLE)"},
		{"1317", rules.PhaseNone, rules.QueryExecutionFailed, "server error 1317 (ER_QUERY_INTERRUPTED), which ends a session: the probe tries once more at once, and this counts only if it cannot"},
		{"1130", rules.PhaseNone, rules.MySQLError, "server error 1130 (ER_HOST_NOT_PRIVILEGED)"},
		{"9999", rules.PhaseNone, rules.MySQLError, "server error 9999; in answer to the statement it is query_execution_failed"},
		{"9999", rules.PhaseExecute, rules.QueryExecutionFailed, "server error 9999, in phase execute"},
		{"EAGAIN", rules.PhaseNone, rules.SocketConnectTimeout, osName("EAGAIN", syscall.EAGAIN) + ", on a unix socket"},
		{"econnrefused", rules.PhaseNone, rules.SocketIOError, osName("ECONNREFUSED", syscall.ECONNREFUSED)},
		{strconv.Itoa(int(syscall.ECONNREFUSED)), rules.PhaseNone, rules.SocketIOError, osName("ECONNREFUSED", syscall.ECONNREFUSED)},
		{"3/28", rules.PhaseNone, rules.DiskFull, "server error 3 (EE_WRITE) with OS error 28"},
		{"ECONNRESET", rules.PhaseExecute, rules.SocketNoIO, osName("ECONNRESET", syscall.ECONNRESET) + ", in phase execute, which ends a session: the probe tries once more at once, and this counts only if it cannot"},
	} {
		o, via, err := ByNumber(tc.number, tc.phase)
		if err != nil || o != tc.want || via != tc.via {
			t.Errorf("ByNumber(%q, %s) = %s, %q, %v; want %s, %q", tc.number, tc.phase, o, via, err, tc.want, tc.via)
		}
	}
	for _, number := range []string{"", "ECONNNOTHING", "70000", "1030/x", "1030/"} {
		if o, _, err := ByNumber(number, rules.PhaseNone); err == nil {
			t.Errorf("ByNumber(%q) = %s", number, o)
		}
	}
	var unknown *rules.UnknownError
	if _, _, err := ByNumber("ECONREFUSED", rules.PhaseNone); !errors.As(err, &unknown) || unknown.Suggestion != "ECONNREFUSED" {
		t.Errorf("err = %v", err)
	}
}

func TestByPhase(t *testing.T) {
	if o, via := ByPhase(rules.PhaseLogin); o != rules.LoginResponseTimeout || via != "time over in phase login" {
		t.Errorf("%s, %q", o, via)
	}
}

func TestParseRole(t *testing.T) {
	for _, s := range []string{"", "primary", "replica"} {
		if r, err := ParseRole(s); err != nil || string(r) != s {
			t.Errorf("ParseRole(%q) = %q, %v", s, r, err)
		}
	}
	if _, err := ParseRole("master"); err == nil || err.Error() != `unknown role "master"; it is one of primary, replica` {
		t.Errorf("err = %v", err)
	}
}

func TestSpansReadLikeSpeech(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 500 * time.Millisecond: "0.5 s", 80 * time.Second: "80 s", 2 * time.Minute: "2 min", 12 * time.Minute: "12 min", 8 * time.Hour: "8 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for b.Loop() {
		p, err := Explain(Question{Outcome: rules.QueryResultsTimeout})
		if err != nil {
			b.Fatal(err)
		}
		_ = p.Text(80, nil)
	}
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		_ = Table(All(nil, Setup{}, ""), 80, nil)
	}
}
