package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	long := strings.Repeat("# ", 60)
	for name, tc := range map[string]struct {
		finding Finding
		want    string
	}{
		"place, caret, hint": {
			Finding{File: "f", Line: 7, Column: 3, Width: 2, Severity: Error, Code: "FW102", Message: "m", Hint: "h", Source: "a bc"},
			"f:7: error FW102 m\n    7 | a bc\n      |   ^^\n      hint: h\n",
		},
		"the whole": {
			Finding{File: "f", Severity: Warning, Code: "FW214", Message: "m", Risks: []string{"r"}, Hint: "h\ni"},
			"f: warning FW214 m\n    risk: r\n    hint: h\n    hint: i\n",
		},
		"a missing value": {
			Finding{File: "f", Line: 123456, Column: 5, Width: 0, Severity: Error, Code: "FW102", Message: "m", Source: "a = "},
			"f:123456: error FW102 m\n123456 | a =\n       |     ^\n",
		},
		"tabs and terminal controls": {
			Finding{File: "f\x1b[31m", Line: 1, Column: 3, Width: 1, Severity: Error, Code: "FW102", Message: "m\a", Source: "\t\x1bx"},
			"f\ufffd[31m:1: error FW102 m\ufffd\n    1 |  \ufffdx\n      |   ^\n",
		},
		"wide letters": {
			Finding{File: "f", Line: 1, Column: 4, Width: 2, Severity: Error, Code: "FW102", Message: "m", Source: "日本=値e\u0301x"},
			"f:1: error FW102 m\n    1 | 日本=値e\u0301x\n      |      ^^^\n",
		},
		"a narrow form and a combined letter": {
			Finding{File: "f", Line: 1, Column: 4, Width: 1, Severity: Error, Code: "FW102", Message: "m", Source: "ｱe\u0301x"},
			"f:1: error FW102 m\n    1 | ｱe\u0301x\n      |   ^\n",
		},
		"place outside of the line": {
			Finding{File: "f", Line: 1, Column: 90, Width: 9, Severity: Error, Code: "FW102", Message: "m", Source: "ab"},
			"f:1: error FW102 m\n    1 | ab\n      |   ^\n",
		},
		"beginning of a long line": {
			Finding{File: "f", Line: 1, Column: 1, Width: 150, Severity: Error, Code: "FW102", Message: "m", Source: long},
			"f:1: error FW102 m\n    1 | " + long[:99] + "…\n      | " + strings.Repeat("^", 100) + "\n",
		},
		"end of a long line": {
			Finding{File: "f", Line: 1, Column: 119, Width: 1, Severity: Error, Code: "FW102", Message: "m", Source: long},
			"f:1: error FW102 m\n    1 | …" + strings.TrimRight(long[21:], " ") + "\n      | " + strings.Repeat(" ", 98) + "^\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Render(tc.finding, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStyleIsGivenEachPartOnce(t *testing.T) {
	f := Finding{File: "f", Line: 1, Column: 1, Width: 1, Severity: Warning, Code: "FW203", Message: "m", Risks: []string{"r"}, Hint: "h", Source: "x"}
	marked := Render(f, func(p Part, s Severity, text string) string {
		if s != Warning {
			t.Errorf("severity %s", s)
		}
		return "<" + string('0'+rune(p)) + text + ">"
	})
	want := "<0f:1:> <1warning> <2FW203> m\n    1 | x\n      | <3^>\n      <4risk:> r\n      <4hint:> h\n"
	if diff := cmp.Diff(want, marked); diff != "" {
		t.Error(diff)
	}
}

func TestAcceptedFindingsAreKept(t *testing.T) {
	src := "# failwise:ignore FW203 asked for\n" + fw203.Bad
	r := Run(Input{Name: "f", Source: []byte(src)})
	if len(r.Findings) != 0 || len(r.Ignored) != 1 || r.Ignored[0].Code != "FW203" {
		t.Errorf("findings %v, ignored %v", r.Findings, r.Ignored)
	}
}

func TestFindingsStandInTheOrderOfTheFile(t *testing.T) {
	src := fw203.Bad + fw102.Bad + fw103.Bad + fw213.Bad
	last := 0
	for _, f := range Run(Input{Name: "f", Source: []byte(src)}).Findings {
		if f.Line < last {
			t.Errorf("line %d after line %d", f.Line, last)
		}
		last = f.Line
	}
	if last == 0 {
		t.Error("nothing was found")
	}
}
