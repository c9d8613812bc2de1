package lint

import "failwise/rules"

var fw106 = Check{
	Code:     "FW106",
	Severity: Warning,
	Title:    "key set twice",
	What:     "The same key stands twice in the file.",
	Why:      "The last one counts. The reader of the first one does not see that.",
	Fix:      "Delete the one that was not meant.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
query_results_timeout.threshold = 9
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) { p.problems(rules.DuplicateKey) },
}
