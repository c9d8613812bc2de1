package mha

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error about what an MHA configuration says.
var ErrInvalid = errors.New("invalid MHA configuration")

// Problem is one thing that is wrong, with its place. It quotes no value that may
// be a password.
type Problem struct {
	File string
	// Line counts from 1; 0 is the whole file.
	Line int
	// Text is one line in lower case.
	Text string
	// Hint says what to try; it may be empty.
	Hint string
}

func (p *Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Error is all that is wrong with a configuration, by file and line. It has at
// least one problem.
type Error struct{ Problems []Problem }

// Error is the first problem, and how many more there are.
func (e *Error) Error() string {
	s := e.Problems[0].String()
	if n := len(e.Problems) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// problems collects what is wrong.
type problems struct{ list []Problem }

func (p *problems) add(file string, line int, hint, format string, args ...any) {
	p.list = append(p.list, Problem{File: file, Line: line, Hint: hint, Text: fmt.Sprintf(format, args...)})
}

func (p *problems) at(s Setting, hint, format string, args ...any) {
	p.add(s.File, s.Line, hint, format, args...)
}

// err is nil if nothing was wrong.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	return &Error{Problems: p.list}
}
