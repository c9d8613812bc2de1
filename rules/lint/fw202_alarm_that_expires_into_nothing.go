package lint

import (
	"fmt"

	"failwise/rules"
)

var fw202 = Check{
	Code:     "FW202",
	Severity: Warning,
	Title:    "alarm that expires into nothing",
	What:     "The action is `none`, the threshold is 0 or more.",
	Why: "The alarm is counted, expires, and only leaves a line in the journal. Whoever wrote the number " +
		"expected more.",
	Fix: "`alert` to be told, or threshold -1.",
	Bad: `too_many_connections.state     = suspect
too_many_connections.threshold = 30
too_many_connections.action    = none
`,
	Good: `too_many_connections.state     = suspect
too_many_connections.threshold = 30
too_many_connections.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Rule.Threshold >= 0 && v.Rule.Action == rules.None {
				p.at(v, rules.AttributeAction, fmt.Sprintf("%s: expires after %s into action none", v.Outcome, p.ticks(v.Rule.Threshold)),
					"action alert, or threshold -1")
			}
		}
	},
}
