package lint

import (
	"fmt"

	"failwise/rules"
)

var fw210 = Check{
	Code:     "FW210",
	Severity: Warning,
	Title:    "outcome that never comes",
	What:     "`untrapped_condition` or `undefined` is overridden.",
	Why: "No probe ends in either: the first is reserved, the second stands for a node that has not been " +
		"probed yet. The rule has no effect.",
	Fix: "Delete it. For errors that nothing else names the outcome is `unexpected_exception`.",
	Bad: `untrapped_condition.state     = suspect
untrapped_condition.threshold = 6
untrapped_condition.action    = alert
`,
	Good: `unexpected_exception.state     = suspect
unexpected_exception.threshold = 6
unexpected_exception.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Outcome == rules.UntrappedCondition || v.Outcome == rules.Undefined {
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s is never the result of a probe, its rule has no effect", v.Outcome),
					"delete its lines; other errors are unexpected_exception")
			}
		}
	},
}
