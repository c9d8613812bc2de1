package lint

import (
	"cmp"
	"fmt"
	"slices"

	"failwise/rules"
)

// Severity is how bad a finding is.
type Severity uint8

// The severities.
const (
	Warning Severity = iota + 1 // does something its author did not mean
	Error                       // is ignored, or has the file rejected
)

func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is what one check has to say about one place.
type Finding struct {
	File string `json:"file"`
	// Line and Column count from 1. Both are 0 for a finding about the rules as a
	// whole.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Width is the number of characters that the finding is about.
	Width    int      `json:"width"`
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	// Outcome is whose rule it is about, if it is about one.
	Outcome rules.Outcome `json:"outcome,omitempty"`
	// Message is one line in lower case.
	Message string `json:"message"`
	// Risks are what may come of it, one sentence each; usually none.
	Risks []string `json:"risks,omitempty"`
	// Hint says what to write instead.
	Hint string `json:"hint,omitempty"`
	// Source is the line of the file, for the caret.
	Source string `json:"source,omitempty"`
}

// Report is what all checks have to say about a file, in its order.
type Report struct {
	Findings []Finding `json:"findings"`
	// Ignored are the findings that a comment in the file accepts.
	Ignored []Finding `json:"ignored"`
}

// Count returns the number of findings of a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// sortFindings puts findings in the order of the file, those about the whole at
// the end.
func sortFindings(findings []Finding) {
	last := func(line int) int {
		if line == 0 {
			return int(^uint(0) >> 1)
		}
		return line
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(last(a.Line), last(b.Line)),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code),
		)
	})
}
