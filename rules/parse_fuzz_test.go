package rules

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func FuzzParse(f *testing.F) {
	f.Add(string(defaultsFile))
	f.Add(string(MHA.File()))
	f.Add(fatalStall + "query_results_timeout.window = 12")
	f.Add("disk_full.threshold = 80s # x\\\n  y")
	f.Add("a\\u00zz:\\\r\n!\\\r# \xff\x00")
	f.Add("= = \\=\\:\\ \\t")
	f.Fuzz(func(t *testing.T, src string) {
		base := Couchbase.Rules()
		doc := Read("f", []byte(src))
		m, warnings, err := doc.Apply(base)
		if (m == nil) == (err == nil) {
			t.Fatalf("map %v with error %v", m, err)
		}
		lines := 1 + strings.Count(src, "\n") + strings.Count(src, "\r")
		for _, p := range doc.Problems {
			if p.At.Line < 1 || p.At.Line > lines || p.At.Column < 1 {
				t.Fatalf("%v is outside of the file of %d lines", p.At, lines)
			}
			if n := utf8.RuneCountInString(doc.Line(p.At.Line)); doc.lines != nil && p.At.Column+p.At.Width-1 > n+1 {
				t.Fatalf("%v is outside of the line of %d characters: %s", p.At, n, p.Error())
			}
			if strings.ContainsAny(p.Error(), "\n\r\x1b") {
				t.Fatalf("message with control characters: %q", p.Error())
			}
		}
		if err != nil {
			var rejected *RejectedError
			if !errors.As(err, &rejected) || len(rejected.Problems) == 0 {
				t.Fatalf("%T without problems: %v", err, err)
			}
			return
		}
		for _, w := range warnings {
			if w.Kind.Rejects() {
				t.Fatalf("a warning that rejects: %s", w.Error())
			}
		}
		for _, o := range Outcomes() {
			if err := m.Rule(o).Validate(); err != nil {
				t.Fatalf("%s: %v", o, err)
			}
		}
		if len(base.Diff(m)) > len(doc.Overrides) {
			t.Fatal("more rules changed than the file gives")
		}
	})
}

// drawRule draws any valid rule.
func drawRule(t *rapid.T) Rule {
	r := Rule{
		State:     rapid.SampledFrom(States()).Draw(t, "state"),
		Threshold: rapid.SampledFrom([]int{-1, 0, 1, 2, 8, 72, MaxThreshold}).Draw(t, "threshold"),
		Action:    rapid.SampledFrom([]Action{None, Alert, Fail}).Draw(t, "action"),
		Heal:      rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "heal"),
	}
	if r.Threshold > 0 && rapid.Bool().Draw(t, "windowed") {
		r.Window = min(MaxThreshold, r.Threshold+rapid.IntRange(0, 9).Draw(t, "longer"))
	}
	return r
}

func TestWhatIsWrittenIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.MapOf(rapid.SampledFrom(Outcomes()), rapid.Custom(drawRule)).Draw(t, "set")
		want, err := Defaults().With(set, "set")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for o, r := range set {
			b.WriteString(r.Properties(o))
		}
		got, warnings, err := Parse("f", []byte(b.String()), Defaults())
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		if diff := want.Diff(got); len(diff) > 0 {
			t.Fatal(diff)
		}
	})
}
