package lint

import (
	"fmt"

	"failwise/rules"
)

var fw107 = Check{
	Code:     "FW107",
	Severity: Warning,
	Title:    "override that changes nothing",
	What:     "A rule equals the one it replaces.",
	Why: "It does nothing today, and when a later release changes the default it silently keeps the old " +
		"one.",
	Fix: "Delete it, or accept it with a comment that says it is meant to stay.",
	Bad: `socket_connect_timeout.state     = timeout
socket_connect_timeout.threshold = 8
socket_connect_timeout.action    = fail
`,
	Good: `socket_connect_timeout.state     = timeout
socket_connect_timeout.threshold = 12
socket_connect_timeout.action    = fail
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Rule.Equal(p.base.Rule(v.Outcome)) {
				from := "the " + p.base.Origin(v.Outcome).String()
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s: the rule equals %s", v.Outcome, from), "delete its lines")
			}
		}
	},
}
