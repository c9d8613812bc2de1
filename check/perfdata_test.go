package check

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestPerfdataIsWrittenAsTheGuidelinesWant(t *testing.T) {
	one, three := mustRange(t, "1"), mustRange(t, "3")
	for _, c := range []struct {
		p    Perfdata
		want string
	}{
		{Perfdata{Label: "total", Value: 0.0042, Unit: Seconds, Warn: one, Crit: three, Bounds: true, Max: 5}, "total=0.0042s;1;3;0;5"},
		{TimePerfdata("connect", 600*time.Microsecond), "connect=0.0006s"},
		{Perfdata{Label: "lag db 1", Value: math.NaN(), Unit: Seconds, Crit: three}, "'lag db 1'=U;;3"},
		{Perfdata{Label: "a='b'|", Value: 1e-9}, "a__b__=0"},
		{Perfdata{Label: "big", Value: 1e18, Unit: Bytes, Bounds: true, Max: math.Inf(1)}, "big=1000000000000000000B;;;0"},
		{Perfdata{Label: "", Value: -0.00000001}, "_=0"},
		{Perfdata{Label: "used", Value: 12.5, Unit: Percent, Warn: mustRange(t, "@~:5")}, "used=12.5%;@~:5"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.p, got, c.want)
		}
	}
	if got := JoinPerfdata([]Perfdata{{Label: "a", Value: 1}, {Label: "b", Value: 2}}); got != "a=1 b=2" {
		t.Error(got)
	}
}

func mustRange(t *testing.T, s string) Range {
	t.Helper()
	r, err := ParseRange(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// perfdataGrammar is the form of one value as consumers split it.
var perfdataGrammar = regexp.MustCompile(`^([^\s='|;"]+|'[^'=|\n]+')=(U|-?\d+(\.\d+)?(s|%|B|c)?)(;[-@~:.\d]*){0,2}(;-?[.\d]*){0,2}$`)

func FuzzPerfdata(f *testing.F) {
	f.Add("total", 0.5, "1:2", 0.0, 5.0)
	f.Add("a b=c'|\n", math.Inf(1), "@~:1", math.NaN(), -1.0)
	f.Fuzz(func(t *testing.T, label string, value float64, limits string, low, high float64) {
		warn, err := ParseTimeRange(limits)
		if err != nil {
			warn = Range{}
		}
		p := Perfdata{Label: label, Value: value, Unit: Seconds, Warn: warn, Crit: warn, Bounds: true, Min: low, Max: high}
		s := p.String()
		if !perfdataGrammar.MatchString(s) || strings.Contains(s, "\x00") {
			t.Errorf("%q", s)
		}
	})
}
