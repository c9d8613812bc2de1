package lint

import "failwise/rules"

var fw101 = Check{
	Code:     "FW101",
	Severity: Error,
	Title:    "unreadable file",
	What:     "The file is not text, or an escape in it is malformed.",
	Why: "A statemap has the syntax of Java properties: `\\u` begins a character of four hexadecimal " +
		"digits, and a backslash at the end of a line joins the next one to it. A file that cannot be " +
		"read is rejected as a whole; a running `watch` keeps the rules it has.",
	Fix: "Write `\\\\` for a backslash and save the file as UTF-8.",
	Bad: `disk_full.state = \u00fg
`,
	Good: `disk_full.state     = suspect
disk_full.threshold = 12
disk_full.action    = alert
`,
	final: true,
	run:   func(p *pass) { p.problems(rules.BadSyntax) },
}
