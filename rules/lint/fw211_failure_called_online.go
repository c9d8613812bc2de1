package lint

import (
	"fmt"

	"failwise/rules"
)

var fw211 = Check{
	Code:     "FW211",
	Severity: Error,
	Title:    "failure called online",
	What:     "An outcome other than `ok` has the state `online`.",
	Why: "An online observation is what heals: it deletes all alarms of the node, those of other outcomes " +
		"as well. A failure that heals hides every fault that it alternates with.",
	Fix: "`suspect`, with action `none` if nothing is to happen.",
	Bad: `too_many_connections.state     = online
too_many_connections.threshold = -1
too_many_connections.action    = none
`,
	Good: `too_many_connections.state     = suspect
too_many_connections.threshold = 6
too_many_connections.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Outcome != rules.OK && v.Rule.State == rules.Online {
				p.at(v, rules.AttributeState, fmt.Sprintf("%s as online deletes all alarms of a node whenever it is seen", v.Outcome),
					"state suspect with action none, if nothing is to happen")
			}
		}
	},
}
