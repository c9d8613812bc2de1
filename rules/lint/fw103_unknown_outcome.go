package lint

import "failwise/rules"

var fw103 = Check{
	Code:     "FW103",
	Severity: Error,
	Title:    "unknown outcome",
	What:     "A key names no outcome of the catalogue.",
	Why:      "The setting is ignored, and the outcome that was meant keeps the rule it had.",
	Fix:      "Write the outcome as `failwise rules` does.",
	Bad: `query_result_timeout.state     = timeout
query_result_timeout.threshold = 8
query_result_timeout.action    = alert
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) { p.problems(rules.UnknownOutcome) },
}
