package lint

import (
	"fmt"

	"failwise/rules"
)

var fw110 = Check{
	Code:     "FW110",
	Severity: Warning,
	Title:    "heal without effect",
	What:     "A rule has both `window` and `heal`.",
	Why: "A windowed alarm is not healed by good probes: bad ticks slide out of the window instead. " +
		"`heal` is ignored.",
	Fix: "Delete one of the two.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
query_results_timeout.window    = 12
query_results_timeout.heal      = 3
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
query_results_timeout.window    = 12
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Rule.Window > 0 && v.Rule.Heal > 0 {
				p.at(v, rules.AttributeHeal, fmt.Sprintf("%s: heal has no effect together with window", v.Outcome),
					"delete heal; bad ticks leave the window by themselves")
			}
		}
	},
}
