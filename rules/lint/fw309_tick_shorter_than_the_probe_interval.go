package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw309 = Check{
	Code:     "FW309",
	Severity: Warning,
	Title:    "tick shorter than the probe interval",
	What:     "A tick is shorter than the time between two probes.",
	Why: "Thresholds count ticks, and ticks without a probe of their own repeat what was seen before: " +
		"several counts stand on one observation.",
	Fix: "A tick at least as long as the probe interval.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings: usualBut(func(t *rules.Timings) { t.Tick = 2 * time.Second }),
	},
	Mended: &Config{Timings: usual},
	run: func(p *pass) {
		if p.config == nil || p.config.Timings.Tick <= 0 || p.timings.Tick >= p.timings.ProbeInterval {
			return
		}
		p.whole(fmt.Sprintf("a tick of %s is shorter than the probe interval of %s: several ticks count one observation", span(p.timings.Tick), span(p.timings.ProbeInterval)),
			fmt.Sprintf("a probe interval of up to %s", span(p.timings.Tick)))
	},
}
