package lint

import (
	"fmt"

	"failwise/rules"
)

var fw205 = Check{
	Code:     "FW205",
	Severity: Warning,
	Title:    "proof of life made fatal",
	What:     "`too_many_connections`, `wrong_credentials`, `mysql_error` or `read_only` fails the node.",
	Why: "Only a living server sends an error number. Too many connections come along to the next " +
		"primary; a wrong or expired password of the monitoring account would fail over every cluster on " +
		"the same day; read_only was set by somebody, who would find a new primary.",
	Fix: "`alert`.",
	Bad: `too_many_connections.state     = suspect
too_many_connections.threshold = 6
too_many_connections.action    = fail
`,
	Good: `too_many_connections.state     = suspect
too_many_connections.threshold = 6
too_many_connections.action    = alert
`,
	run: func(p *pass) {
		reasons := map[rules.Outcome]string{
			rules.TooManyConnections: "the connections come along to the next primary",
			rules.WrongCredentials:   "an expired password of the monitoring account would fail one primary after the other",
			rules.MySQLError:         "a blocked host (1129) or a shutdown that somebody ordered (1053) would be answered by a failover",
			rules.ReadOnly:           "somebody set the primary read-only, and would find another one",
		}
		for _, v := range p.doc.Overrides {
			if reason, ok := reasons[v.Outcome]; ok && v.Rule.Fatal() {
				f := p.at(v, rules.AttributeAction, fmt.Sprintf("%s fails a node that proves to be alive", v.Outcome), "action alert")
				f.Risks = append(f.Risks, reason)
			}
		}
	},
}
