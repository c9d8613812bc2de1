package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

// Check is one thing that is looked for, with its own documentation.
type Check struct {
	// Code is FW and three digits: 1xx the file, 2xx the rules, 3xx the rules
	// together with the configuration.
	Code     string
	Severity Severity
	// Title is a few words in lower case.
	Title string
	// What, Why and Fix are paragraphs in Markdown.
	What, Why, Fix string
	// Bad is a statemap that the check finds fault with, Good the same mended.
	Bad, Good string
	// Config is what must be known for the examples, nil for nothing. Mended is
	// the same for Good, where that is what differs.
	Config, Mended *Config
	// final: the finding cannot be accepted by a comment.
	final bool
	run   func(*pass) // nil for a check that is part of another step
}

// Checks returns all checks in the order of their codes.
func Checks() []Check {
	return []Check{
		fw101, fw102, fw103, fw104, fw105, fw106, fw107, fw108, fw109, fw110,
		fw201, fw202, fw203, fw204, fw205, fw206, fw207, fw208, fw209, fw210, fw211, fw212, fw213, fw214, fw215, fw216, fw217, fw218,
		fw301, fw302, fw303, fw304, fw305, fw306, fw307, fw308, fw309,
	}
}

// pass is one run of one check over one file.
type pass struct {
	check *Check
	doc   *rules.Document
	// base is the map beneath, rules is base with the file's good rules on top,
	// even if the file as a whole is rejected.
	base, rules *rules.Map
	config      *Config
	timings     rules.Timings
	findings    []Finding
}

// finding starts a finding of the running check.
func (p *pass) finding(o rules.Outcome, at rules.Span, message, hint string) *Finding {
	p.findings = append(p.findings, Finding{
		File: p.doc.Name, Line: at.Line, Column: at.Column, Width: at.Width,
		Severity: p.check.Severity, Code: p.check.Code, Outcome: o,
		Message: message, Hint: hint, Source: p.doc.Line(at.Line),
	})
	return &p.findings[len(p.findings)-1]
}

// at reports something about an override, at the value of one of its attributes.
func (p *pass) at(v rules.Override, a rules.Attribute, message, hint string) *Finding {
	return p.finding(v.Outcome, v.At(a), message, hint)
}

// whole reports something about the rules as a whole.
func (p *pass) whole(message, hint string) *Finding {
	return p.finding(0, rules.Span{}, message, hint)
}

// rule reports something about an outcome's rule: at an attribute of the file's
// override if it has one, else about the whole.
func (p *pass) rule(o rules.Outcome, a rules.Attribute, message, hint string) *Finding {
	for _, v := range p.doc.Overrides {
		if v.Outcome == o {
			return p.at(v, a, message, hint)
		}
	}
	f := p.whole(message, hint)
	f.Outcome = o
	return f
}

// overridden reports whether the file gives the outcome's rule.
func (p *pass) overridden(o rules.Outcome) bool {
	for _, v := range p.doc.Overrides {
		if v.Outcome == o {
			return true
		}
	}
	return false
}

// problems turns the parser's problems of a kind into findings.
func (p *pass) problems(kind rules.ProblemKind) {
	for _, problem := range p.doc.Problems {
		if problem.Kind == kind {
			p.finding(problem.Outcome, problem.At, problem.Message, problem.Hint)
		}
	}
}

// shortestFuse returns the fatal outcome with the smallest threshold of at least
// low ticks, or none.
func (p *pass) shortestFuse(low int) (o rules.Outcome, ok bool) {
	for _, candidate := range rules.Outcomes() {
		r := p.rules.Rule(candidate)
		if !r.Fatal() || r.Threshold < low {
			continue
		}
		if !ok || r.Threshold < p.rules.Rule(o).Threshold {
			o, ok = candidate, true
		}
	}
	return o, ok
}

// ticks writes a number of ticks with the time they take: "8 ticks (80 s)".
func (p *pass) ticks(n int) string {
	word := "ticks"
	if n == 1 {
		word = "tick"
	}
	return fmt.Sprintf("%d %s (%s)", n, word, span(p.timings.Ticks(n)))
}

// span writes a duration as people do: "80 s", "15 min", "2 h".
func span(d time.Duration) string {
	switch {
	case d >= 2*time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
