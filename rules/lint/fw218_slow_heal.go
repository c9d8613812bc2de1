package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw218 = Check{
	Code:     "FW218",
	Severity: Warning,
	Title:    "slow heal",
	What:     "`heal` asks for more good probes than come in five minutes.",
	Why: "The alarms of a node are deleted together, after the largest heal among them. Until then the " +
		"node is not `up`, is no candidate for promotion, and each bad probe adds to a count that a " +
		"healthy server would have lost.",
	Fix: "Two to five probes are enough to see that a recovery lasts.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
login_response_timeout.heal      = 500
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
login_response_timeout.heal      = 3
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			takes := time.Duration(v.Rule.Heal) * p.timings.ProbeInterval
			if v.Rule.Window == 0 && takes > 5*time.Minute {
				p.at(v, rules.AttributeHeal, fmt.Sprintf("%s: %d good probes take %s; until then the node counts as down", v.Outcome, v.Rule.Heal, span(takes)),
					"heal = 3")
			}
		}
	},
}
