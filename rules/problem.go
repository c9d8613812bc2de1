package rules

import (
	"fmt"
)

// ProblemKind is what is wrong with a place in a statemap file.
type ProblemKind uint8

// The kinds of problems.
const (
	BadSyntax        ProblemKind = iota + 1 // rejects the file
	BadValue                                // rejects the file
	BadWindow                               // window shorter than threshold and the like; rejects the file
	UnknownOutcome                          // the setting is ignored
	UnknownAttribute                        // the setting is ignored
	IncompleteTriple                        // the outcome's settings are ignored
	DuplicateKey                            // the earlier setting is ignored
)

// Rejects reports whether such a problem rejects the whole file. The others are
// warnings.
func (k ProblemKind) Rejects() bool { return k <= BadWindow }

// Problem is something wrong at a place in a statemap file.
type Problem struct {
	Kind ProblemKind
	File string
	At   Span
	// Outcome is whose rule it is about, if that is known.
	Outcome Outcome
	// Message says what is wrong, in lower case and on one line.
	Message string
	// Hint says what to try, or is empty.
	Hint string
}

// Error is "file:line:column: message; hint".
func (p *Problem) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.At.Line, p.At.Column, p.Message)
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// RejectedError is returned for a statemap file that changes nothing because of
// at least one bad value.
type RejectedError struct {
	File string
	// Problems are those that reject the file, in the order of the file. There is
	// at least one.
	Problems []Problem
}

// Error shows the first problem and counts the rest.
func (e *RejectedError) Error() string {
	s := e.Problems[0].Error()
	if n := len(e.Problems) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Unwrap returns the problems, so that errors.As finds a [*Problem].
func (e *RejectedError) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i := range e.Problems {
		errs[i] = &e.Problems[i]
	}
	return errs
}
