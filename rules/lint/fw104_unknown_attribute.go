package lint

import "failwise/rules"

var fw104 = Check{
	Code:     "FW104",
	Severity: Error,
	Title:    "unknown attribute",
	What:     "The part of a key after the dot is none of `state`, `threshold`, `action`, `window` and `heal`.",
	Why:      "The setting is ignored; if it was one of the first three, so is the whole outcome.",
	Fix:      "Mend the spelling.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.treshold = 8
query_results_timeout.action    = alert
query_results_timeout.threshold = 8
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) { p.problems(rules.UnknownAttribute) },
}
