package lint

import (
	"fmt"

	"failwise/rules"
)

var fw201 = Check{
	Code:     "FW201",
	Severity: Warning,
	Title:    "action that can never fire",
	What:     "The action is `alert` or `fail`, the threshold is -1.",
	Why: "A threshold of -1 never expires, so the action is never taken. The outcome does not even count " +
		"as fatal: it does not keep the clock of a fatal alarm running.",
	Fix: "Give a threshold, or write `none` to say that nothing is to happen.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = -1
query_results_timeout.action    = fail
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Rule.Threshold < 0 && v.Rule.Action != rules.None {
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s: action %s can never fire, threshold -1 never expires", v.Outcome, v.Rule.Action),
					"a threshold of 0 or more, or action none")
			}
		}
	},
}
