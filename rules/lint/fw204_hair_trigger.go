package lint

import (
	"fmt"

	"failwise/rules"
)

var fw204 = Check{
	Code:     "FW204",
	Severity: Warning,
	Title:    "hair trigger",
	What:     "An outcome other than `socket_io_error` fails the node with threshold 0.",
	Why: "Threshold 0 acts on a single observation. Only a refused connection is quick and sharp enough " +
		"for that: the kernel answers it within a millisecond. Anything else, a lost packet or a " +
		"moment's load, happens to healthy servers as well.",
	Fix: "A threshold of at least a few ticks.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 0
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 6
login_response_timeout.action    = fail
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if v.Rule.Threshold == 0 && v.Rule.Action == rules.Fail && v.Outcome != rules.SocketIOError {
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s: one single observation fails the node", v.Outcome),
					fmt.Sprintf("threshold = 6 (%s); only socket_io_error is sharp enough for 0", span(p.timings.Ticks(6))))
			}
		}
	},
}
