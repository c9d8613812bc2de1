package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw208 = Check{
	Code:     "FW208",
	Severity: Warning,
	Title:    "window that outlives its incident",
	What:     "A window is longer than an hour, or more than ten times its threshold.",
	Why: "All bad ticks in a window belong to one incident, whatever lies between them. In a long one two " +
		"unrelated hiccups add up, and after the incident the alarm stays for the rest of the window: " +
		"the next bad probe, however short, is acted on at once.",
	Fix: "A window of one and a half to three times the threshold.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 6
query_results_timeout.action    = alert
query_results_timeout.window    = 720
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 6
query_results_timeout.action    = alert
query_results_timeout.window    = 15
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			w, n := v.Rule.Window, v.Rule.Threshold
			if w == 0 || w <= 10*n && p.timings.Ticks(w) <= time.Hour {
				continue
			}
			p.at(v, rules.AttributeWindow,
				fmt.Sprintf("%s: %s that were bad within %s count as one incident", v.Outcome, p.ticks(n), span(p.timings.Ticks(w))),
				fmt.Sprintf("a window of up to %d ticks", min(3*n, max(n, p.ticksFor(time.Hour)))))
		}
	},
}
