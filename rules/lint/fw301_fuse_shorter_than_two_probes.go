package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw301 = Check{
	Code:     "FW301",
	Severity: Warning,
	Title:    "fuse shorter than two probes",
	What:     "A fatal threshold above 0 takes less time than two probe intervals, or than one probe budget.",
	Why: "A threshold above 0 promises that more than one probe agrees. When it is over before the second " +
		"one has ended, a single observation decides; a probe that hangs takes its whole budget.",
	Fix: "A longer threshold, a shorter interval, or a shorter budget.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 1
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 2
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings: usualBut(func(t *rules.Timings) { t.ProbeInterval = 6 * time.Second; t.ProbeBudget = 6 * time.Second }),
	},
	run: func(p *pass) {
		if p.config == nil || p.config.Timings.Tick <= 0 {
			return
		}
		least := max(2*p.timings.ProbeInterval, p.timings.ProbeBudget)
		for _, o := range rules.Outcomes() {
			r := p.rules.Rule(o)
			if !r.Fatal() || r.Threshold == 0 || p.timings.Ticks(r.Threshold) >= least {
				continue
			}
			p.rule(o, rules.AttributeThreshold,
				fmt.Sprintf("%s: a threshold of %s lets no second probe agree (one every %s, each up to %s)",
					o, p.ticks(r.Threshold), span(p.timings.ProbeInterval), span(p.timings.ProbeBudget)),
				fmt.Sprintf("threshold = %d or more", p.ticksFor(least)))
		}
	},
}
