package lint

import (
	"fmt"
	"strings"
)

const docsIntro = `# What lint reports

` + "`failwise lint FILE`" + ` finds settings of a statemap that cannot do what they were meant to do. Each finding has a
code, which this page explains. Exit code 0: nothing, or warnings only; 1: warnings, with ` + "`--strict`" + `; 2: errors.

Codes FW1xx are about the file, FW2xx about the rules in it, FW3xx about the rules together with a configuration.

A finding that is meant to be so is accepted by a comment on the line above, with a reason:

` + "```properties" + `
# failwise:ignore FW203 the data team wants to fail over on slow queries
query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = fail
` + "```" + `

The comment may stand above any setting of the outcome. Several codes are joined by commas. Findings about the rules as
a whole are accepted by a comment anywhere in the file. What rejects the file cannot be accepted.

`

// markdown is docs/lint.md: a paragraph for each check.
func markdown() string {
	var b strings.Builder
	b.WriteString(docsIntro)
	b.WriteString("| code | severity | |\n|---|---|---|\n")
	for _, c := range Checks() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", c.Code, anchor(c), c.Severity, c.Title)
	}
	for _, c := range Checks() {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s %s\n\n", c.Code, c.Title, c.What, c.Why)
		if c.Good != c.Bad { // else the configuration is what is wrong
			fmt.Fprintf(&b, "```properties\n%s```\n\n", c.Bad)
		}
		fmt.Fprintf(&b, "```text\n%s```\n\n", example(c))
		fmt.Fprintf(&b, "**Fix.** %s", c.Fix)
		if c.Good != c.Bad {
			fmt.Fprintf(&b, "\n\n```properties\n%s```", c.Good)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// example renders the finding of a check's bad example.
func example(c Check) string {
	for _, f := range Run(Input{Name: "my.properties", Source: []byte(c.Bad), Config: c.Config}).Findings {
		if f.Code == c.Code {
			return Render(f, nil)
		}
	}
	return ""
}

// anchor is the link that Markdown renderers give to the check's heading.
func anchor(c Check) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(c.Code+": "+c.Title))
}
