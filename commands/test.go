package commands

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"failwise/failover"
	"failwise/failover/replay"
)

func testCommand() *command {
	return &command{
		name:     "test",
		operands: "FILE…",
		summary:  "run scenario files: tests for rules",
		about: "A scenario file says what is seen and when, and what must come of it;\n" +
			"docs/testing-rules.md describes the format. Exit code 0 if every test passes,\n" +
			"1 if one fails, 2 for a file that cannot be read; then nothing is run.",
		examples: []example{
			{"test scenarios/*.yaml", "all tests of a team's rules"},
			{"test scenarios/*.yaml --run 'stall|flap'", "those whose name matches"},
			{"test scenarios/*.yaml --output junit > junit.xml", "for a CI server"},
		},
		flags:   func(f *pflag.FlagSet) { f.String("run", "", "run only tests whose name matches `REGEXP`") },
		outputs: []string{"text", "json", "junit"},
		min:     1, max: -1,
		run: func(ctx context.Context, in *invocation) error { return in.test(ctx) },
	}
}

func (in *invocation) test(ctx context.Context) error {
	only, err := regexp.Compile(in.String("run"))
	if err != nil {
		return usagef("--run: %v", err)
	}
	var tests []*replay.Test
	for _, name := range in.Operands() {
		f, err := replay.Load(name)
		if err != nil {
			return unreadable(err)
		}
		for _, w := range f.Warnings {
			in.remark("%s", w.Error())
		}
		for _, t := range f.Tests {
			if only.MatchString(t.Name) {
				tests = append(tests, t)
			}
		}
	}
	if len(tests) == 0 {
		return usagef("no test has a name that matches %q", in.String("run"))
	}
	view := testView{in: in, paint: in.paint(Stdout)}
	for _, t := range tests {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := t.Run()
		if err != nil {
			return misconfigured(err)
		}
		view.add(r)
	}
	if err := view.finish(); err != nil {
		return err
	}
	if view.failed > 0 {
		return exitWith(ExitRefused)
	}
	return nil
}

// unreadable is an error about a scenario file, which ends in exit code 2.
func unreadable(err error) error {
	var bad *replay.FileError
	if errors.As(err, &bad) {
		return badFile(err)
	}
	if errors.Is(err, os.ErrNotExist) {
		return misconfigured(err, "docs/testing-rules.md shows a scenario file")
	}
	return misconfigured(err)
}

// testView shows results as they come, or keeps them for JSON and JUnit.
type testView struct {
	in             *invocation
	paint          painter
	passed, failed int
	results        []replay.Result
}

func (v *testView) add(r replay.Result) {
	if r.Passed() {
		v.passed++
	} else {
		v.failed++
	}
	if v.in.Format() != "text" {
		r.Events = nil
		v.results = append(v.results, r)
		return
	}
	word := v.paint.green("ok  ")
	if !r.Passed() {
		word = v.paint.red("FAIL")
	}
	fmt.Fprintf(v.in.Out, "%s  %s:%d  %s\n", word, r.Test.File, r.Test.Line, oneLine(r.Test.Name))
	for _, f := range r.Failures {
		fmt.Fprintf(v.in.Out, "      %s:%d\n        expected: %s\n        happened: %s\n", r.Test.File, f.Line, f.Expected, f.Happened)
		for _, ev := range f.Around {
			fmt.Fprintf(v.in.Out, "        %10s  %s\n", ev.At, replay.Line(ev))
		}
	}
}

func (v *testView) finish() error {
	switch v.in.Format() {
	case "json":
		return v.in.printJSON(v.report())
	case "junit":
		return v.junit()
	}
	_, err := fmt.Fprintf(v.in.Out, "%d passed, %d failed\n", v.passed, v.failed)
	return err
}

// testReport is the JSON output of test.
type testReport struct {
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Tests  []testJSON `json:"tests"`
}

type testJSON struct {
	File     string            `json:"file"`
	Line     int               `json:"line"`
	Name     string            `json:"name"`
	Passed   bool              `json:"passed"`
	Failures []testFailureJSON `json:"failures,omitempty"`
}

type testFailureJSON struct {
	Line     int              `json:"line"`
	Expected string           `json:"expected"`
	Happened string           `json:"happened"`
	Around   []failover.Event `json:"around"`
}

func (v *testView) report() testReport {
	report := testReport{Passed: v.passed, Failed: v.failed, Tests: []testJSON{}}
	for _, r := range v.results {
		t := testJSON{File: r.Test.File, Line: r.Test.Line, Name: r.Test.Name, Passed: r.Passed()}
		for _, f := range r.Failures {
			around := f.Around
			if around == nil {
				around = []failover.Event{}
			}
			t.Failures = append(t.Failures, testFailureJSON{f.Line, f.Expected, f.Happened, around})
		}
		report.Tests = append(report.Tests, t)
	}
	return report
}

// The elements of a JUnit report.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name     string         `xml:"name,attr"`
	Class    string         `xml:"classname,attr"`
	File     string         `xml:"file,attr"`
	Line     int            `xml:"line,attr"`
	Failures []junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (v *testView) junit() error {
	all := junitSuites{Tests: len(v.results), Failures: v.failed}
	for _, r := range v.results {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != r.Test.File {
			all.Suites = append(all.Suites, junitSuite{Name: r.Test.File})
		}
		suite := &all.Suites[len(all.Suites)-1]
		c := junitCase{Name: r.Test.Name, Class: r.Test.File, File: r.Test.File, Line: r.Test.Line}
		for _, f := range r.Failures {
			var text strings.Builder
			for _, ev := range f.Around {
				fmt.Fprintf(&text, "%s  %s\n", ev.At, replay.Line(ev))
			}
			c.Failures = append(c.Failures, junitFailure{
				Message: fmt.Sprintf("line %d: expected %s: %s", f.Line, f.Expected, f.Happened), Text: text.String(),
			})
		}
		suite.Tests++
		if len(c.Failures) > 0 {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	enc := xml.NewEncoder(v.in.Out)
	enc.Indent("", "  ")
	if _, err := fmt.Fprint(v.in.Out, xml.Header); err != nil {
		return err
	}
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	_, err := fmt.Fprintln(v.in.Out)
	return err
}
