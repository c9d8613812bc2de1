package lint

import (
	"fmt"

	"failwise/rules"
)

var fw204 = Check{
	Code:     "FW204",
	Severity: Warning,
	Title:    "hair trigger",
	What:     "An outcome other than `socket_io_error` fails the node with threshold 0, or one other than `storage_error` calls people.",
	Why: "Threshold 0 acts on a single observation. Only a refused connection is quick and sharp enough " +
		"to fail a node for: the kernel answers it within a millisecond. Anything else, a lost packet or a " +
		"moment's load, happens to healthy servers as well. To be told at once is worth it when a server " +
		"reports that its disk is broken; alerts on faults that are over in a second are soon ignored.",
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
			does, sharp := "fails the node", "only socket_io_error is sharp enough for 0"
			switch {
			case v.Rule.Threshold != 0 || v.Outcome == rules.SocketIOError || v.Rule.Action == rules.None:
				continue
			case v.Rule.Action == rules.Alert && v.Outcome == rules.StorageError:
				continue
			case v.Rule.Action == rules.Alert:
				does, sharp = "calls people", "only socket_io_error and storage_error are sharp enough for 0"
			}
			p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s: one single observation %s", v.Outcome, does),
				fmt.Sprintf("threshold = 6 (%s); %s", span(p.timings.Ticks(6)), sharp))
		}
	},
}
