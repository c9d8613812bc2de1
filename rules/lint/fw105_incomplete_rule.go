package lint

import "failwise/rules"

var fw105 = Check{
	Code:     "FW105",
	Severity: Error,
	Title:    "incomplete rule",
	What:     "An outcome has only one or two of `.state`, `.threshold` and `.action`.",
	Why: "A rule is overridden as a whole or not at all, as in Tungsten: a change of one number would " +
		"otherwise depend on a file that its author does not see. The lines are ignored.",
	Fix: "Give all three. `failwise rules` prints those in force.",
	Bad: `query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) { p.problems(rules.IncompleteTriple) },
}
