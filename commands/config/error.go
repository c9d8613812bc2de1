package config

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is wrapped by every error about what a configuration says.
var ErrInvalid = errors.New("invalid configuration")

// Problem is one thing that is wrong, with its place.
type Problem struct {
	// Source is the file, "environment VARIABLE" or "flag --name".
	Source string
	// Line and Column count from 1; 0 outside of files.
	Line, Column int
	// Text is one line in lower case.
	Text string
	// Hint says what to try; it may be empty.
	Hint string
}

func (p *Problem) String() string {
	if p.Line == 0 {
		return p.Source + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Source, p.Line, p.Column, p.Text)
}

// Error is all that is wrong with a configuration, in the order it was found.
// It has at least one problem.
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

// Hints says what to try next about the first problem, and how to see the others.
func (e *Error) Hints() []string {
	var hints []string
	if h := e.Problems[0].Hint; h != "" {
		hints = append(hints, h)
	}
	if len(e.Problems) > 1 {
		hints = append(hints, "failwise config check lists all of them")
	}
	return hints
}

// problems collects what is wrong while a configuration is read.
type problems struct{ list []Problem }

func (p *problems) add(at place, hint, format string, args ...any) {
	p.list = append(p.list, Problem{
		Source: at.source, Line: at.line, Column: at.column,
		Text: strings.TrimSpace(fmt.Sprintf(format, args...)), Hint: hint,
	})
}

// err is nil if nothing was wrong.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{Problems: p.list}
}

// place is where a setting stands.
type place struct {
	source       string
	line, column int
}

func (p place) String() string {
	if p.line == 0 {
		return p.source
	}
	return fmt.Sprintf("%s:%d", p.source, p.line)
}
