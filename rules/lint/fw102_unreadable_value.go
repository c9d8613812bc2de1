package lint

import "failwise/rules"

var fw102 = Check{
	Code:     "FW102",
	Severity: Error,
	Title:    "unreadable value",
	What:     "A state, threshold, action, window or heal has a value that it cannot have.",
	Why: "One bad value rejects the whole file, since half of a set of rules may be more dangerous than " +
		"none of it; a running `watch` keeps the rules it has. Thresholds are counted in ticks, not in " +
		"seconds, and a comment cannot follow a value.",
	Fix: "States are `online`, `stopped`, `timeout`, `suspect`, `unknown`; actions `none`, `alert`, " +
		"`fail`; a threshold is `-1` (never), `0` (at once) or a number of ticks up to 1000000.",
	Bad: `disk_full.state     = suspect
disk_full.threshold = 60s
disk_full.action    = alert
`,
	Good: `disk_full.state     = suspect
disk_full.threshold = 12
disk_full.action    = alert
`,
	final: true,
	run:   func(p *pass) { p.problems(rules.BadValue) },
}
