package lint

import (
	"fmt"

	"failwise/rules"
)

var fw206 = Check{
	Code:     "FW206",
	Severity: Warning,
	Title:    "own side made fatal",
	What: "An outcome that speaks of this side, of a name or of a certificate fails the node: " +
		"`open_file_limit_error`, `network_unreachable`, `unknown_host`, `tls_error`, " +
		"`unexpected_exception`, `untrapped_condition`, `undefined`.",
	Why: "The node may be in best health. What is broken is the watcher's host, its resolver, its network " +
		"or a certificate that ends for all nodes in the same minute.",
	Fix: "`alert`.",
	Bad: `unknown_host.state     = suspect
unknown_host.threshold = 6
unknown_host.action    = fail
`,
	Good: `unknown_host.state     = suspect
unknown_host.threshold = 6
unknown_host.action    = alert
`,
	run: func(p *pass) {
		reasons := map[rules.Outcome]string{
			rules.OpenFileLimitError:  "the watcher's own host has no file or port left",
			rules.NetworkUnreachable:  "the watcher's own network, or a router, is broken",
			rules.UnknownHost:         "a failure of DNS would fail a healthy primary",
			rules.TLSError:            "a certificate that expires does so for all nodes at once",
			rules.UnexpectedException: "nobody knows what this error is",
			rules.UntrappedCondition:  "nobody knows what this error is",
			rules.Undefined:           "no probe has ended yet",
		}
		for _, v := range p.doc.Overrides {
			if reason, ok := reasons[v.Outcome]; ok && v.Rule.Fatal() {
				f := p.at(v, rules.AttributeAction, fmt.Sprintf("%s says nothing about the node and fails it", v.Outcome), "action alert")
				f.Risks = append(f.Risks, reason)
			}
		}
	},
}
