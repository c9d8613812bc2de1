package lint

import (
	"fmt"
	"strings"

	"failwise/rules"
)

// marker begins a comment that accepts findings.
const marker = "failwise:ignore"

// acceptance is one such comment for one code.
type acceptance struct {
	comment rules.Comment
	// column is where the code stands.
	column       int
	code, reason string
	// line is the setting beneath, outcome the one it sets; 0 if there is none.
	line    int
	outcome rules.Outcome
	used    bool
}

// accepts reports whether the comment speaks of the finding: it stands above its
// line or above another setting of its outcome, or the finding is about the
// whole.
func (a acceptance) accepts(f Finding) bool {
	if a.code != f.Code || a.reason == "" {
		return false
	}
	return f.Line == 0 || f.Line == a.line || f.Outcome != 0 && f.Outcome == a.outcome
}

// suppress takes out the findings that comments accept and reports comments that
// accept nothing.
func suppress(doc *rules.Document, findings []Finding) Report {
	known := map[string]Check{}
	for _, c := range Checks() {
		known[c.Code] = c
	}
	acceptances := readAcceptances(doc)
	r := Report{Findings: []Finding{}, Ignored: []Finding{}}
	for _, f := range findings {
		accepted := false
		for i := range acceptances {
			if a := &acceptances[i]; a.accepts(f) && !known[f.Code].final {
				a.used, accepted = true, true
			}
		}
		if accepted {
			r.Ignored = append(r.Ignored, f)
		} else {
			r.Findings = append(r.Findings, f)
		}
	}
	for _, a := range acceptances {
		if a.used {
			continue
		}
		message, hint := a.fault(known)
		r.Findings = append(r.Findings, Finding{
			File: doc.Name, Line: a.comment.Line, Column: a.column, Width: max(len(a.code), 1),
			Severity: fw109.Severity, Code: fw109.Code, Message: message, Hint: hint, Source: doc.Line(a.comment.Line),
		})
	}
	return r
}

// fault says why an acceptance has no effect.
func (a acceptance) fault(known map[string]Check) (message, hint string) {
	c, exists := known[a.code]
	switch {
	case a.code == "":
		return "the comment names no code", "# " + marker + " FW203 the reason"
	case !exists:
		return fmt.Sprintf("there is no check %q", a.code), "docs/lint.md lists all codes"
	case c.final || a.code == fw109.Code:
		return a.code + " cannot be accepted", "mend what it says"
	case a.reason == "":
		return "the reason is missing, nothing is accepted", "# " + marker + " " + a.code + " the reason"
	}
	return a.code + " finds nothing here", "delete the comment"
}

// readAcceptances finds the comments that accept findings.
func readAcceptances(doc *rules.Document) []acceptance {
	comments := map[int]bool{}
	for _, c := range doc.Comments {
		comments[c.Line] = true
	}
	settings := map[int]rules.Setting{}
	for _, s := range doc.Settings {
		settings[s.KeyAt.Line] = s
	}
	var all []acceptance
	for _, c := range doc.Comments {
		body := strings.TrimLeft(c.Text[1:], " \t\f")
		rest, found := strings.CutPrefix(body, marker)
		if !found || rest != "" && !strings.ContainsAny(rest[:1], " \t") {
			continue
		}
		below := c.Line + 1
		for comments[below] {
			below++
		}
		s, ok := settings[below]
		if !ok {
			below = 0
		}
		words := strings.Fields(rest)
		codes := []string{""}
		reason := ""
		if len(words) > 0 {
			codes = strings.Split(words[0], ",")
			reason = strings.Join(words[1:], " ")
		}
		for _, code := range codes {
			all = append(all, acceptance{
				comment: c, column: c.Column + max(0, strings.Index(c.Text, code)),
				code: code, reason: reason, line: below, outcome: s.Outcome,
			})
		}
	}
	return all
}
