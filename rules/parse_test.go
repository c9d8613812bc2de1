package rules

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fatalStall = "query_results_timeout.state = timeout\n" +
	"query_results_timeout.threshold = 8\n" +
	"query_results_timeout.action = fail\n"

// messages renders problems one a line, with their places.
func messages(problems []Problem) string {
	var b strings.Builder
	for i := range problems {
		b.WriteString(problems[i].Error() + "\n")
	}
	return b.String()
}

func TestParseReadsEverySpellingOfJavaProperties(t *testing.T) {
	want := Rule{State: Timeout, Threshold: 8, Action: Fail}
	for name, src := range map[string]string{
		"plain":                fatalStall,
		"no blanks":            "query_results_timeout.state=timeout\nquery_results_timeout.threshold=8\nquery_results_timeout.action=fail",
		"colons":               strings.ReplaceAll(fatalStall, " = ", ":"),
		"blanks only":          strings.ReplaceAll(fatalStall, " = ", " \t"),
		"blanks around":        "  " + strings.ReplaceAll(fatalStall, "\n", " \t \n\t "),
		"upper case":           strings.ToUpper(fatalStall),
		"CRLF":                 strings.ReplaceAll(fatalStall, "\n", "\r\n"),
		"CR":                   strings.ReplaceAll(fatalStall, "\n", "\r"),
		"byte order mark":      "\ufeff" + fatalStall,
		"comments":             "# one\n! two\n\n   # three = \\\n" + fatalStall + "#end",
		"continued value":      strings.ReplaceAll(fatalStall, "= ", "= \\\n      "),
		"continued key":        strings.ReplaceAll(fatalStall, "query_", "query_\\\r\n   "),
		"escapes":              strings.ReplaceAll(fatalStall, "timeout.", `\u0074ime\out.`),
		"comment sign inside":  strings.ReplaceAll(fatalStall, "8", "\\\n8"),
		"backslash at the end": strings.TrimSuffix(fatalStall, "\n") + "\\",
		"plus sign":            strings.ReplaceAll(fatalStall, "8", "+8"),
		"any order":            "query_results_timeout.action=fail\nquery_results_timeout.threshold=8\nquery_results_timeout.state=timeout",
	} {
		t.Run(name, func(t *testing.T) {
			m, warnings, err := Parse("my.properties", []byte(src), Defaults())
			if err != nil || len(warnings) > 0 {
				t.Fatalf("err = %v, warnings:\n%s", err, messages(warnings))
			}
			if got := m.Rule(QueryResultsTimeout); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if n := len(Defaults().Diff(m)); n != 1 {
				t.Errorf("%d rules changed, want 1", n)
			}
		})
	}
}

func TestParseWarnsAndIgnores(t *testing.T) {
	for name, tc := range map[string]struct{ src, want string }{
		"two of three": {
			"query_results_timeout.state = timeout\nquery_results_timeout.action = fail\n",
			"my.properties:1:1: query_results_timeout is ignored: .threshold not given; an outcome is overridden by .state, .threshold and .action together\n",
		},
		"window alone": {
			"\n  disk_full.window = 5\n",
			"my.properties:2:3: disk_full is ignored: .state and .threshold and .action not given; an outcome is overridden by .state, .threshold and .action together\n",
		},
		"unknown outcome": {
			"querry_results_timeout.state = timeout\n",
			`my.properties:1:1: unknown outcome "querry_results_timeout", the setting is ignored; did you mean query_results_timeout?` + "\n",
		},
		"unknown attribute": {
			"disk_full.treshold = 5\n",
			`my.properties:1:11: unknown attribute "treshold", the setting is ignored; did you mean threshold?` + "\n",
		},
		"value of an unknown outcome is not looked at": {
			"zzz.state = banana\n",
			`my.properties:1:1: unknown outcome "zzz", the setting is ignored; failwise rules lists all outcomes` + "\n",
		},
		"no attribute": {
			"disk_full = alert\n",
			`my.properties:1:1: "disk_full" is no setting and is ignored; give disk_full.state, disk_full.threshold and disk_full.action` + "\n",
		},
		"a timing": {
			"timing.tick = 1s\n",
			`my.properties:1:1: "timing.tick" is no setting and is ignored; times and limits are set in failwise.yaml, not here` + "\n",
		},
		"no key": {
			"= 8\n",
			`my.properties:1:1: "" is no setting and is ignored; keys are <outcome>.state, .threshold, .action, .window and .heal` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, warnings, err := Parse("my.properties", []byte(tc.src), Defaults())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, messages(warnings)); diff != "" {
				t.Error(diff)
			}
			if changes := Defaults().Diff(m); len(changes) > 0 {
				t.Errorf("rules changed: %v", changes)
			}
		})
	}
}

func TestParseRejectsTheWholeFile(t *testing.T) {
	for name, tc := range map[string]struct{ src, want string }{
		"state": {
			"disk_full.state = stoped\n",
			`my.properties:1:19: disk_full.state: unknown state "stoped"; did you mean stopped?`,
		},
		"action": {
			"disk_full.action = failover\n",
			`my.properties:1:20: disk_full.action: unknown action "failover"; it is one of none, alert, fail`,
		},
		"threshold too low": {
			"disk_full.threshold = -2\n",
			`my.properties:1:23: disk_full.threshold: -2 is out of range; -1 (never), 0 (at once) or up to 1000000 ticks`,
		},
		"threshold too high": {
			"disk_full.threshold = 1000001\n",
			`my.properties:1:23: disk_full.threshold: 1000001 is out of range; -1 (never), 0 (at once) or up to 1000000 ticks`,
		},
		"threshold beyond all numbers": {
			"disk_full.threshold = 99999999999999999999999999\n",
			`my.properties:1:23: disk_full.threshold: 99999999999999999999999999 is out of range; -1 (never), 0 (at once) or up to 1000000 ticks`,
		},
		"threshold in seconds": {
			"disk_full.threshold = 80s\n",
			`my.properties:1:23: disk_full.threshold: "80s" is no whole number; it is counted in ticks, not in time: -1 (never), 0 (at once) or up to 1000000 ticks`,
		},
		"comment after the value": {
			"disk_full.threshold = 6 # a minute\n",
			`my.properties:1:23: disk_full.threshold: "6 # a minute" is no whole number; a comment needs its own line, it cannot follow a value`,
		},
		"no value": {
			"disk_full.state\ndisk_full.threshold =\n",
			`my.properties:1:16: disk_full.state: the value is missing (and 1 more)`,
		},
		"window shorter than threshold": {
			fatalStall + "query_results_timeout.window = 7\n",
			`my.properties:4:32: query_results_timeout: window needs window >= threshold >= 1, not window 7 with threshold 8; the alarm expires when threshold of the last window ticks had the outcome`,
		},
		"window with threshold 0": {
			"disk_full.window=5\ndisk_full.state=suspect\ndisk_full.threshold=0\ndisk_full.action=alert",
			`my.properties:1:18: disk_full: window needs window >= threshold >= 1, not window 5 with threshold 0; the alarm expires when threshold of the last window ticks had the outcome`,
		},
		"window 0": {
			"disk_full.window=0",
			`my.properties:1:18: disk_full.window: 0 is out of range; 1 to 1000000 ticks and not shorter than the threshold; without a window leave the line out`,
		},
		"heal 0": {
			"disk_full.heal=0",
			`my.properties:1:16: disk_full.heal: 0 is out of range; 1 to 1000000 online probes in a row`,
		},
		"a bad value that a later line replaces": {
			"disk_full.state = bad\n" + "disk_full.state = suspect\n",
			`my.properties:1:19: disk_full.state: unknown state "bad"; it is one of online, stopped, timeout, suspect, unknown`,
		},
		"escape": {
			`disk_full.state = \u00zz`,
			`my.properties:1:19: malformed \u escape; write \u and four hexadecimal digits, or \\ for a backslash`,
		},
		"escape at the end": {
			`disk_full.state = \u00`,
			`my.properties:1:19: malformed \u escape; write \u and four hexadecimal digits, or \\ for a backslash`,
		},
		"UTF-16": {
			"\xff\xfed\x00i\x00",
			`my.properties:1:1: the file is UTF-16; save it as UTF-8`,
		},
		"binary": {
			"\x7fELF\x00\x00",
			`my.properties:1:1: the file has NUL bytes and is no text; is this the right file?`,
		},
		"too large": {
			strings.Repeat("#\n", MaxFileSize/2+1),
			`my.properties:1:1: the file has 1048578 bytes, more than a statemap can have (1048576); is this the right file?`,
		},
		"columns count characters": {
			"  disk_full.state = \u00fc\u00fc\\\n   \u00fc; disk_full.action = x",
			`my.properties:1:21: disk_full.state: unknown state "üüü; disk_full.action = x"; it is one of online, stopped, timeout, suspect, unknown`,
		},
		"the Kelvin sign is no k": {
			"o\u212a.state = online\nok.state = on\u212a",
			"my.properties:2:12: ok.state: unknown state \"on\u212a\"; it is one of online, stopped, timeout, suspect, unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, err := Parse("my.properties", []byte(tc.src), Defaults())
			if m != nil {
				t.Error("a rejected file gave a map")
			}
			var rejected *RejectedError
			if !errors.As(err, &rejected) {
				t.Fatalf("err = %v, want a RejectedError", err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			var p *Problem
			if !errors.As(err, &p) || p.At.Line < 1 || p.At.Column < 1 {
				t.Errorf("no located problem in %v", err)
			}
		})
	}
}

func TestParseReportsEverythingInOnePass(t *testing.T) {
	src := "disk_full.state = full\n" +
		"ok.treshold = 1\n" +
		"disk_full.threshold = many\n" +
		"unknow_host.state = suspect\n" +
		"ok.state = online\n"
	_, warnings, err := Parse("f", []byte(src), Defaults())
	var rejected *RejectedError
	if !errors.As(err, &rejected) {
		t.Fatalf("err = %v", err)
	}
	if got := messages(rejected.Problems); strings.Count(got, "\n") != 2 {
		t.Errorf("errors:\n%s", got)
	}
	if got := messages(warnings); strings.Count(got, "\n") != 4 {
		t.Errorf("warnings:\n%s", got)
	}
	last := 0
	for _, p := range Read("f", []byte(src)).Problems {
		if p.At.Line < last {
			t.Errorf("line %d after line %d", p.At.Line, last)
		}
		last = p.At.Line
	}
}

func TestTheLastOfTwoEqualKeysCounts(t *testing.T) {
	m, warnings, err := Parse("f", []byte(fatalStall+"\nQUERY_RESULTS_TIMEOUT.THRESHOLD = 9\n"), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Rule(QueryResultsTimeout).Threshold; got != 9 {
		t.Errorf("threshold %d, want 9", got)
	}
	want := "f:5:1: query_results_timeout.threshold is set twice, the last one counts; line 2 has the other one; delete one of them\n"
	if diff := cmp.Diff(want, messages(warnings)); diff != "" {
		t.Error(diff)
	}
}

func TestUndefinedIsAnotherWordForNone(t *testing.T) {
	src := strings.ReplaceAll(fatalStall, "fail", "Undefined")
	m, _, err := Parse("f", []byte(src), Defaults())
	if err != nil || m.Rule(QueryResultsTimeout).Action != None {
		t.Errorf("%s, %v", m.Rule(QueryResultsTimeout), err)
	}
}

func TestWindowAndHealComeWithTheTriple(t *testing.T) {
	src := fatalStall + "query_results_timeout.window = 12\nquery_results_timeout.heal = 3\n"
	m, warnings, err := Parse("f", []byte(src), Defaults())
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := Rule{State: Timeout, Threshold: 8, Action: Fail, Window: 12, Heal: 3}
	if got := m.Rule(QueryResultsTimeout); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOriginsTellWhatWasReplaced(t *testing.T) {
	src := "\n# on top of the profile\n" + fatalStall
	m, _, err := Parse("my.properties", []byte(src), MHA.Rules())
	if err != nil {
		t.Fatal(err)
	}
	m, err = m.With(map[Outcome]Rule{QueryResultsTimeout: {State: Timeout, Threshold: 1, Action: Alert}}, "scenario.yaml:7")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for at := m.Origin(QueryResultsTimeout); ; at = at.Replaces.Origin {
		got = append(got, at.String())
		if at.Replaces == nil {
			break
		}
	}
	want := []string{"scenario.yaml:7", "my.properties:3", "profile mha", "shipped default"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadingAllocatesByTheSetting keeps the reader from allocating by the
// character: every check reads the shipped rules once.
func TestReadingAllocatesByTheSetting(t *testing.T) {
	src := DefaultsFile()
	doc := Read(DefaultsName, src)
	allocs := testing.AllocsPerRun(10, func() { Read(DefaultsName, src) })
	if limit := float64(8 * len(doc.Settings)); allocs > limit {
		t.Errorf("%.0f allocations for %d settings, want at most %.0f", allocs, len(doc.Settings), limit)
	}
}
