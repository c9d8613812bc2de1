package lint

import (
	"fmt"

	"failwise/rules"
)

var fw215 = Check{
	Code:     "FW215",
	Severity: Warning,
	Title:    "one face of a fault made fatal",
	What:     "Of two outcomes that one fault alternates between, the file makes one fatal and the other not.",
	Why: "The clock of an alarm stands still while the node shows a less serious outcome. A frozen server " +
		"times out at the login until its backlog of connections is full, then at the connect; a host " +
		"that vanished times out at the connect until the neighbour table notices, then has no route. " +
		"Where only one of the two is fatal, the count stops when the other one comes.",
	Fix: "Give both the same action.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 8
login_response_timeout.action    = alert
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	run: func(p *pass) {
		for _, pair := range []struct {
			a, b  rules.Outcome
			fault string
		}{
			{rules.LoginResponseTimeout, rules.SocketConnectTimeout, "a frozen server times out at the login, and at the connect once its backlog is full"},
			{rules.SocketConnectTimeout, rules.NoRouteToHost, "a host that vanished times out at the connect, and has no route once the neighbour table notices"},
		} {
			a, b := pair.a, pair.b
			if p.rules.Fatal(a) == p.rules.Fatal(b) || !p.overridden(a) && !p.overridden(b) {
				continue
			}
			if p.rules.Fatal(b) {
				a, b = b, a
			}
			at := a
			if p.overridden(b) {
				at = b
			}
			f := p.rule(at, rules.AttributeAction, fmt.Sprintf("%s is fatal and %s is not: the count stops while the second is seen", a, b),
				"give both the same action")
			f.Risks = append(f.Risks, pair.fault)
		}
	},
}
