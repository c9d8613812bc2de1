package lint

import (
	"fmt"

	"failwise/rules"
)

var fw306 = Check{
	Code:     "FW306",
	Severity: Warning,
	Title:    "instant and unconfirmed",
	What:     "An outcome fails the node with threshold 0, and `confirm.replicas` is `off`.",
	Why: "A firewall that rejects gives the same refused connection as a dead server. Only the replicas " +
		"can tell them apart: they still see the primary, or have lost it too.",
	Fix: "`confirm: {replicas: bounce}`, or a threshold of a few ticks.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `socket_io_error.state     = stopped
socket_io_error.threshold = 3
socket_io_error.action    = fail
`,
	Config: &Config{ConfirmReplicas: "off"},
	run: func(p *pass) {
		if p.config == nil || p.config.ConfirmReplicas != "off" {
			return
		}
		for _, o := range rules.Outcomes() {
			if r := p.rules.Rule(o); r.Fatal() && r.Threshold == 0 {
				p.rule(o, rules.AttributeThreshold,
					fmt.Sprintf("%s fails the node at once and no replica is asked: a firewall's REJECT looks the same", o),
					"confirm.replicas: bounce")
			}
		}
	},
}
