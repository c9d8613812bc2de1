package commands

import (
	"regexp"
	"strings"
	"testing"
)

func TestProcessMetricsAreWellFormed(t *testing.T) {
	var out strings.Builder
	writeProcessMetrics(&out)
	line := regexp.MustCompile(`^(# TYPE (go|process)_[a-z_]+ (gauge|counter|summary)|(go|process)_[a-z_]+(\{version="[^"]+"\})? [0-9.e+-]+)$`)
	seen := map[string]bool{}
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !line.MatchString(l) {
			t.Errorf("not in the text format: %s", l)
		}
		if strings.HasPrefix(l, "# TYPE") && seen[l] {
			t.Errorf("twice: %s", l)
		}
		seen[l] = true
	}
	for _, want := range []string{"go_goroutines ", "go_memstats_alloc_bytes ", "go_gc_duration_seconds_count "} {
		if !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("missing %s in\n%s", want, out.String())
		}
	}
}

func TestParseProcess(t *testing.T) {
	const system = "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n"
	const stat = "4711 (fail) wise) S 1 4711 4711 0 -1 4194560 532 0 0 0 150 50 0 0 20 0 8 0 12345 1000000 250 18446744073709551615 1 1"
	got, ok := parseProcess([]byte(stat), []byte(system), 4096)
	want := processStat{cpu: 2, resident: 1024000, virtual: 1000000, started: 1700000123.45}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for name, in := range map[string][2]string{
		"cut short":    {"4711 (failwise) S 1 4711", system},
		"no boot time": {stat, "cpu  1 2 3\n"},
		"no number":    {strings.Replace(stat, "150", "x", 1), system},
		"empty":        {"", ""},
	} {
		if got, ok := parseProcess([]byte(in[0]), []byte(in[1]), 4096); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}
