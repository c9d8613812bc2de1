package replay

import (
	"fmt"
	"strings"
	"time"

	"failwise/failover"
	"failwise/rules"
)

// SideReport is what a timeline came to under one set of rules.
type SideReport struct {
	Name string
	// Tick is the unit of thresholds.
	Tick time.Duration
	// Failovers counts the decisions; First is the first of them and Promoted
	// the node that the replay promoted for it.
	Failovers int
	First     *failover.Event
	Promoted  string
	// Failed counts the replicas failed, Alerts the alerts.
	Failed, Alerts int
	// Holds are the reasons for which the primary was held, in order of their
	// first report.
	Holds []HoldTally
	// Alarms are the alarms of the primary, in the catalogue's order.
	Alarms []AlarmTally
	// Snapshot is how things stand at the last row.
	Snapshot failover.Snapshot
}

// HoldTally is one reason for which the primary was held.
type HoldTally struct {
	Reason failover.Reason
	// First and Last are when it was reported, Count how often.
	First, Last time.Duration
	Count       int
}

// AlarmTally is what became of the alarms of one outcome of the primary.
type AlarmTally struct {
	Outcome rules.Outcome
	Rule    rules.Rule
	// Count is how many were raised, Expired how many expired.
	Count, Expired int
	// Longest is the longest time from a raise to the self-heal that ended it,
	// or to the last row.
	Longest time.Duration
}

// tally gathers a side report.
type tally struct {
	report  *SideReport
	rules   *rules.Map
	primary string
	alarms  [rules.NumOutcomes]AlarmTally
	// raised is when the running alarm of an outcome of the primary was raised,
	// or never.
	raised [rules.NumOutcomes]time.Duration
}

func newTally() tally {
	t := tally{report: &SideReport{}}
	for i := range t.raised {
		t.raised[i] = never
	}
	return t
}

// begin begins with an engine of the side's rules.
func (t *tally) begin(side Side, nodes []failover.Node) {
	t.rules, t.report.Name, t.report.Tick = side.Rules, side.Name, side.Timings.Tick
	t.roles(nodes)
}

func (t *tally) roles(nodes []failover.Node) {
	for _, n := range nodes {
		if n.Role == failover.Primary {
			t.primary = n.Name
		}
	}
}

func (t *tally) take(events []failover.Event) {
	r := t.report
	for _, ev := range events {
		switch ev.Kind {
		case failover.FailoverDecided:
			if r.Failovers++; r.First == nil {
				first := ev
				r.First = &first
			}
		case failover.Promoted:
			if r.Promoted == "" {
				r.Promoted = ev.Node
			}
			t.primary = ev.Node
		case failover.ReplicaFailed:
			r.Failed++
		case failover.Alerted:
			r.Alerts++
		default:
		}
		// What comes after the first failover is about another primary.
		if ev.Node == t.primary && r.Failovers == 0 {
			t.takePrimary(ev)
		}
	}
}

func (t *tally) takePrimary(ev failover.Event) {
	a := &t.alarms[ev.Outcome]
	switch ev.Kind {
	case failover.AlarmRaised:
		a.Count++
		t.raised[ev.Outcome] = ev.At
	case failover.Expired:
		a.Expired++
	case failover.Healed:
		for o := range t.raised {
			t.endAlarm(o, ev.At)
		}
	case failover.Held:
		t.held(ev)
	default:
	}
}

func (t *tally) endAlarm(o int, at time.Duration) {
	if t.raised[o] != never {
		t.alarms[o].Longest = max(t.alarms[o].Longest, at-t.raised[o])
		t.raised[o] = never
	}
}

func (t *tally) held(ev failover.Event) {
	for i := range t.report.Holds {
		if h := &t.report.Holds[i]; h.Reason == ev.Reason {
			h.Count++
			h.Last = ev.At
			return
		}
	}
	t.report.Holds = append(t.report.Holds, HoldTally{ev.Reason, ev.At, ev.At, 1})
}

func (t *tally) finish(last time.Duration, s failover.Snapshot) *SideReport {
	r := t.report
	r.Snapshot = s
	end := last
	if r.First != nil {
		end = r.First.At
	}
	for o := range t.alarms {
		t.endAlarm(o, end)
		if a := t.alarms[o]; a.Count > 0 {
			a.Outcome, a.Rule = rules.Outcome(o), t.rules.Rule(rules.Outcome(o))
			r.Alarms = append(r.Alarms, a)
		}
	}
	return r
}

// Verdict is the report in one sentence: would it have failed over, when, or what
// held it. clock writes a time of the timeline.
func (r *SideReport) Verdict(clock func(time.Duration) string) string {
	if r.First != nil {
		s := fmt.Sprintf("would have failed over %s at %s on %s", r.First.Node, clock(r.First.At), r.First.Outcome)
		if r.Failovers > 1 {
			s += fmt.Sprintf(", the first of %d failovers", r.Failovers)
		}
		return s
	}
	if len(r.Holds) > 0 {
		var parts []string
		for _, h := range r.Holds {
			parts = append(parts, fmt.Sprintf("%s (%s, first at %s)", h.Reason, h.Reason.Means(), clock(h.First)))
		}
		return "would not have failed over: held by " + strings.Join(parts, "; ")
	}
	if len(r.Alarms) == 0 {
		return "would not have failed over: the primary was never bad"
	}
	var parts []string
	for _, a := range r.Alarms {
		parts = append(parts, a.why(r.Tick))
	}
	return "would not have failed over: " + strings.Join(parts, "; ")
}

// why says why the alarms of one outcome failed nothing.
func (a AlarmTally) why(tick time.Duration) string {
	s := fmt.Sprintf("%s %s", a.Outcome, times(a.Count))
	switch r := a.Rule; {
	case r.Threshold < 0:
		return s + " (never expires: threshold -1)"
	case r.Action != rules.Fail:
		return s + fmt.Sprintf(" (expired %s, its action is %s)", times(a.Expired), r.Action)
	case r.Window > 0:
		return s + fmt.Sprintf(" (never %d bad ticks of %d)", r.Threshold, r.Window)
	default:
		return s + fmt.Sprintf(" (longest %s, it needs %s without an online probe)", a.Longest, time.Duration(r.Threshold)*tick)
	}
}
