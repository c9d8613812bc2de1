package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw203 = Check{
	Code:     "FW203",
	Severity: Warning,
	Title:    "slow or failing statement made fatal",
	What: "An outcome that arises after a good login fails the node: `send_query_timeout`, " +
		"`query_exec_timeout`, `query_results_timeout`, `query_execution_failed`, `query_result_failed`, " +
		"`query_too_large`.",
	Why: "The server has just accepted a login: it lives. Three risks come with failing it. **Flapping " +
		"resets the count:** one good probe in between starts it anew, so a stall with short recoveries " +
		"never gets there. **False failovers under load:** a lock, a backup, a slow disk or a burst of " +
		"traffic looks the same, and the replica that takes over gets the same load, with a cold cache. " +
		"**A promotion is itself an outage:** writes stop while the old primary is fenced and the new " +
		"one catches up, for a server that may have been slow for a minute.",
	Fix: "`alert` tells a person. If it must fail over, use `window`, which counts a stall across its " +
		"recoveries, with at least a minute of bad ticks; that is not reported.",
	Bad: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = fail
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 72
query_results_timeout.action    = fail
query_results_timeout.window    = 90
`,
	run: func(p *pass) {
		for _, v := range p.doc.Overrides {
			if !v.Outcome.OfStatement() || !v.Rule.Fatal() {
				continue
			}
			bad := p.timings.Ticks(v.Rule.Threshold)
			if v.Rule.Window > 0 && bad >= time.Minute {
				continue
			}
			f := p.at(v, rules.AttributeAction,
				fmt.Sprintf("%s fails a node that has just accepted a login", v.Outcome), "")
			if v.Rule.Window == 0 && v.Rule.Threshold > 0 {
				f.Risks = append(f.Risks, fmt.Sprintf(
					"flapping resets the count: one good probe within %s starts it anew, so a stall with short recoveries never expires", span(bad)))
			}
			f.Risks = append(f.Risks,
				"false failovers under load: locks, a backup or a slow disk look the same, and the next primary inherits the load with a cold cache",
				"a promotion is a write outage of its own, for a server that may only be slow")
			window := max(v.Rule.Threshold, p.ticksFor(time.Minute))
			f.Hint = fmt.Sprintf("action alert, or count a stall across its recoveries: threshold = %d, window = %d", window, window*5/4+1)
		}
	},
}

// ticksFor returns the number of ticks that take at least d.
func (p *pass) ticksFor(d time.Duration) int {
	return int((d + p.timings.Tick - 1) / p.timings.Tick)
}
