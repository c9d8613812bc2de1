package lint

import (
	"fmt"

	"failwise/rules"
)

var fw304 = Check{
	Code:     "FW304",
	Severity: Warning,
	Title:    "select alone cannot see logins",
	What:     "`select` is the only probe type, and outcomes of the login are fatal.",
	Why: "A held session goes on working in a server that accepts no new ones. The login timeout it is " +
		"meant to act on is seen only after that session breaks.",
	Fix: "`probe: {types: [connect, select]}`.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{ProbeTypes: []string{"select"}},
	Mended: &Config{ProbeTypes: []string{"connect", "select"}},
	run: func(p *pass) {
		if p.config == nil || len(p.config.ProbeTypes) != 1 || p.config.ProbeTypes[0] != "select" {
			return
		}
		for _, o := range []rules.Outcome{rules.LoginResponseTimeout, rules.SocketConnectTimeout, rules.TooManyConnections} {
			if p.rules.Fatal(o) {
				p.whole(fmt.Sprintf("%s is fatal, but select keeps one session open and rarely logs in", o), "probe.types: [connect, select]")
				return
			}
		}
	},
}
