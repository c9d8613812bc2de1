package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw217 = Check{
	Code:     "FW217",
	Severity: Warning,
	Title:    "threshold longer than a day",
	What:     "A threshold takes more than 24 hours.",
	Why: "Nobody waits that long, and a single good probe starts the count anew. Most often seconds or " +
		"milliseconds were meant: thresholds are counted in ticks.",
	Fix: "Divide the time by the tick.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 80000
query_results_timeout.action    = alert
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if p.timings.Ticks(v.Rule.Threshold) > 24*time.Hour {
				p.at(v, rules.AttributeThreshold, fmt.Sprintf("%s: %s is longer than a day", v.Outcome, p.ticks(v.Rule.Threshold)),
					fmt.Sprintf("a tick is %s; 80 s are %d ticks", span(p.timings.Tick), p.ticksFor(80*time.Second)))
			}
		}
	},
}
