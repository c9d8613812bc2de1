package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw302 = Check{
	Code:     "FW302",
	Severity: Warning,
	Title:    "probe budget longer than the interval",
	What:     "A probe may take longer than the time to the next one, and not because the profile has it so.",
	Why: "At most one probe of a node is in flight. While a node hangs, probes come as often as the " +
		"budget allows, not as often as the interval says; what the interval promises about detection " +
		"holds only for nodes that answer.",
	Fix: "A budget no longer than the interval, or a longer interval.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings: usualBut(func(t *rules.Timings) { t.ProbeBudget = 8 * time.Second }),
	},
	Mended: &Config{Timings: usual},
	run: func(p *pass) {
		if p.config == nil || p.config.Timings.Tick <= 0 {
			return
		}
		own := p.base.Profile().Timings()
		interval, budget := p.timings.ProbeInterval, p.timings.ProbeBudget
		if budget <= interval || budget <= own.ProbeBudget && interval >= own.ProbeInterval {
			return
		}
		p.whole(fmt.Sprintf("a probe may take %s and is due every %s: while a node hangs, probes are %s apart", span(budget), span(interval), span(budget)),
			fmt.Sprintf("a probe budget of up to %s", span(interval)))
	},
}
