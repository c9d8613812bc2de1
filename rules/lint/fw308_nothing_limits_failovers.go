package lint

import (
	"failwise/rules"
)

var fw308 = Check{
	Code:     "FW308",
	Severity: Warning,
	Title:    "nothing limits failovers",
	What:     "Neither a quota nor an age limit is set.",
	Why: "A cause that follows the primary (a query that crashes servers, a network that flaps) moves it " +
		"from node to node until none is left.",
	Fix: "`age_limit: 10m`, or `quota: 1`.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings: usualBut(func(t *rules.Timings) { t.AgeLimit = 0 }),
	},
	Mended: &Config{Timings: usual},
	run: func(p *pass) {
		if p.config == nil || p.config.Timings.Tick <= 0 || p.timings.Quota > 0 || p.timings.AgeLimit > 0 {
			return
		}
		p.whole("no quota and no age limit: one failover may follow the other without end", "age_limit: 10m")
	},
}
