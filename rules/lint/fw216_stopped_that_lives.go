package lint

import (
	"fmt"

	"failwise/rules"
)

var fw216 = Check{
	Code:     "FW216",
	Severity: Warning,
	Title:    "stopped that lives",
	What:     "An outcome that proves the server alive has the state `stopped`.",
	Why:      "States are what people read at night: `stopped` says that the process is gone.",
	Fix:      "`suspect` for an error, `timeout` for something slow.",
	Bad: `too_many_connections.state     = stopped
too_many_connections.threshold = 6
too_many_connections.action    = alert
`,
	Good: `too_many_connections.state     = suspect
too_many_connections.threshold = 6
too_many_connections.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Outcome.Alive() && v.Rule.State == rules.Stopped {
				p.at(v, rules.AttributeState, fmt.Sprintf("%s proves that the server lives, yet its state is stopped", v.Outcome),
					fmt.Sprintf("state = %s", rules.Defaults().Rule(v.Outcome).State))
			}
		}
	},
}
