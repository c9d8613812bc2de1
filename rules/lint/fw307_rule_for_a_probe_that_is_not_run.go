package lint

import (
	"fmt"

	"failwise/rules"
)

var fw307 = Check{
	Code:     "FW307",
	Severity: Warning,
	Title:    "rule for a probe that is not run",
	What: "The file gives a rule to an outcome of the `insert` probe, which is not among the configured " +
		"types.",
	Why: "`read_only`, `disk_full`, `storage_error` and `write_timeout` are seen by writing only. Without " +
		"the probe their rules have no effect.",
	Fix: "`probe: {types: [connect, insert]}`.",
	Bad: `disk_full.state     = suspect
disk_full.threshold = 12
disk_full.action    = alert
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{ProbeTypes: []string{"connect"}},
	run: func(p *pass) {
		if known, has := p.config.types("insert"); !known || has {
			return
		}
		for _, v := range p.doc.Overrides {
			if v.Outcome.OfInsert() {
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s is seen by the insert probe only, which is not configured", v.Outcome),
					"probe.types: [connect, insert]")
			}
		}
	},
}
