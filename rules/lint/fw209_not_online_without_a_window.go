package lint

import (
	"fmt"

	"failwise/rules"
)

var fw209 = Check{
	Code:     "FW209",
	Severity: Warning,
	Title:    "not_online without a window",
	What:     "`not_online` has a threshold but no window.",
	Why: "No probe produces `not_online`. It stands for every bad outcome in windowed rules, and is not " +
		"looked at without one.",
	Fix: "Add `not_online.window`.",
	Bad: `not_online.state     = suspect
not_online.threshold = 12
not_online.action    = alert
`,
	Good: `not_online.state     = suspect
not_online.threshold = 12
not_online.action    = alert
not_online.window    = 18
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Outcome == rules.NotOnline && v.Rule.Window == 0 && v.Rule.Threshold >= 0 {
				p.at(v, rules.AttributeThreshold, "not_online has no effect without a window",
					fmt.Sprintf("not_online.window = %d", max(1, v.Rule.Threshold*3/2)))
			}
		}
	},
}
