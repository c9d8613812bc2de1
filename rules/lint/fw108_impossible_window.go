package lint

import "failwise/rules"

var fw108 = Check{
	Code:     "FW108",
	Severity: Error,
	Title:    "impossible window",
	What:     "A window is shorter than its threshold, or the threshold is not at least 1.",
	Why: "`window = M` with `threshold = N` means: expire when N of the last M ticks were bad. That needs " +
		"M ≥ N ≥ 1. The file is rejected.",
	Fix: "Make the window longer or the threshold smaller.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
query_results_timeout.window    = 6
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
query_results_timeout.window    = 12
`,
	final: true,
	run:   func(p *pass) { p.problems(rules.BadWindow) },
}
