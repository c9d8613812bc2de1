package check

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRangeAlerts(t *testing.T) {
	// The examples of the Monitoring Plugins guidelines, and the ends.
	for _, c := range []struct {
		text         string
		quiet, alert []float64
	}{
		{"10", []float64{0, 5, 10}, []float64{-0.1, 10.1, math.Inf(1)}},
		{"10:", []float64{10, 1e9, math.Inf(1)}, []float64{9.9, -1}},
		{"~:10", []float64{-1e9, 10, math.Inf(-1)}, []float64{10.1}},
		{"10:20", []float64{10, 15, 20}, []float64{9.9, 20.1}},
		{"@10:20", []float64{9.9, 20.1}, []float64{10, 15, 20}},
		{"@~:0", []float64{0.1}, []float64{0, -5}},
		{"0:0", []float64{0}, []float64{1, -1}},
		{"-5:-1", []float64{-3}, []float64{0, -6}},
		{"", []float64{0, 1e9, math.NaN()}, nil},
		{"5", nil, []float64{math.NaN()}},
	} {
		r, err := ParseRange(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for _, v := range c.quiet {
			if r.Alerts(v) {
				t.Errorf("%q alerts at %v", c.text, v)
			}
		}
		for _, v := range c.alert {
			if !r.Alerts(v) {
				t.Errorf("%q does not alert at %v", c.text, v)
			}
		}
	}
}

func TestTimeRange(t *testing.T) {
	for text, want := range map[string]string{
		"10s": "10", "250ms:2s": "0.25:2", "1m30s": "90", "@1:2m": "@1:120", "~:1h": "~:3600", "0.5": "0.5", "5s:": "5:",
	} {
		r, err := ParseTimeRange(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
	}
}

func TestBadRanges(t *testing.T) {
	for _, text := range []string{":", "@", "20:10", "a", "1:b", "1:2:3", "nan", "inf", "0x10", "1_0", "~", "@:", "10 ", "10s", "1e400"} {
		if r, err := ParseRange(text); !errors.Is(err, ErrRange) {
			t.Errorf("%q: %q, %v", text, r, err)
		}
	}
}

func TestRangeStringIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open := rapid.SampledFrom([]string{"", "@"}).Draw(t, "at")
		start := rapid.Float64Range(-1e12, 1e12).Draw(t, "start")
		end := rapid.Float64Range(start, 1e12).Draw(t, "end")
		text := open + rapid.SampledFrom([]string{decimal(start), "~"}).Draw(t, "s") + ":" + rapid.SampledFrom([]string{decimal(end), ""}).Draw(t, "e")
		r, err := ParseRange(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := ParseRange(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is written %q and read %+v, %v", text, r, again, err)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"10", "@1:2", "~:5s", "1:", ":", "-0", "1e3:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) (Range, error){ParseRange, ParseTimeRange} {
			r, err := parse(s)
			if err != nil {
				continue
			}
			again, err := ParseRange(r.String())
			if err != nil || again.String() != r.String() {
				t.Errorf("%q is written %q, and that is %q, %v", s, r, again, err)
			}
			if strings.ContainsAny(r.String(), ";|' eE") {
				t.Errorf("%q cannot stand in perfdata", r)
			}
		}
	})
}
