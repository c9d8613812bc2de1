package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw303 = Check{
	Code:     "FW303",
	Severity: Warning,
	Title:    "settle longer than a fuse",
	What: "The settle takes longer than the shortest fatal threshold, or delays a threshold of 0 by more " +
		"than a minute.",
	Why: "Settling comes after the alarm has expired. When it is the longer of the two, the numbers in " +
		"the statemap no longer say when a primary is failed over, and each other node that goes down " +
		"restarts it.",
	Fix: "A settle of two or three ticks.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 6
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 6
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings: usualBut(func(t *rules.Timings) { t.Settle = 9 }),
	},
	Mended: &Config{Timings: usual},
	run: func(p *pass) {
		if p.config == nil || p.config.Timings.Tick <= 0 || p.timings.Settle == 0 {
			return
		}
		settle := p.timings.Ticks(p.timings.Settle)
		if o, ok := p.shortestFuse(1); ok && p.timings.Settle > p.rules.Rule(o).Threshold {
			p.whole(fmt.Sprintf("settle of %s is longer than the threshold of %s, %s",
				p.ticks(p.timings.Settle), o, p.ticks(p.rules.Rule(o).Threshold)), "settle: 2")
			return
		}
		if o, ok := p.shortestFuse(0); ok && p.rules.Rule(o).Threshold == 0 && settle > time.Minute {
			p.whole(fmt.Sprintf("%s acts at once, then waits for a settle of %s", o, p.ticks(p.timings.Settle)), "settle: 2")
		}
	},
}
