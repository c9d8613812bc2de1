package watch

import (
	"fmt"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// Decision is one decision with all it rested on: what was seen, which rule
// applied, which check said no, and what would lift it. The journal keeps one for
// each hold, failover and failed replica, and one a tick for a node whose alarms
// run: the decision then was to wait.
type Decision struct {
	Time time.Time `json:"time"`
	// Kind is the event's; unset where the node's alarms only run.
	Kind failover.Kind `json:"decision,omitempty"`
	Node string        `json:"node"`
	Text string        `json:"text"`
	// Reason, Means and Lifts are a hold's.
	Reason failover.Reason `json:"reason,omitempty"`
	Means  string          `json:"means,omitempty"`
	Lifts  string          `json:"lifts,omitempty"`
	Peer   string          `json:"peer,omitempty"`
	Detail string          `json:"detail,omitempty"`
	// Outcome is the node's latest, with its rule and where that comes from.
	Outcome rules.Outcome `json:"outcome"`
	Rule    string        `json:"rule"`
	Origin  string        `json:"origin"`
	// Snapshot is what the engine knew.
	Snapshot failover.Snapshot `json:"snapshot"`
	// Evidence is the node's latest probes, one a type.
	Evidence []check.Result `json:"evidence"`
	// Confirmation is the latest round of questions about the node.
	Confirmation *roundRecord       `json:"confirmation,omitempty"`
	Findings     []topology.Finding `json:"findings,omitempty"`
	Candidates   topology.Choice    `json:"candidates"`
}

// decide records a decision.
func (w *Watcher) decide(ev failover.Event) {
	d := w.decision(ev)
	w.decided[ev.Node] = d
	w.journal.Append(journal.Record{Time: d.Time, Kind: journal.Decision, Node: d.Node, Outcome: d.Outcome, Message: d.Text, Data: journal.Data(d)})
}

// waiting records, once a tick, why nothing is done about nodes whose alarms run.
func (w *Watcher) waiting() {
	tick := int64(w.now / w.cfg.Timings.Tick)
	if tick == w.ticked {
		return
	}
	w.ticked = tick
	for _, n := range w.engine.Snapshot(w.now).Nodes {
		if len(n.Alarms) == 0 || n.Stage == failover.InFailover {
			continue
		}
		d := w.decision(failover.Event{Node: n.Name, Outcome: n.Outcome})
		d.Text = waitText(n)
		if h := n.Hold; h != nil {
			d.Reason, d.Means, d.Lifts, d.Peer, d.Detail = h.Reason, h.Reason.Means(), h.Lifts, h.Peer, h.Detail
		}
		w.journal.Append(journal.Record{Time: d.Time, Kind: journal.Decision, Node: d.Node, Outcome: d.Outcome, Message: d.Text, Data: journal.Data(d)})
	}
}

// waitText says what the node's alarms are waiting for.
func waitText(n failover.NodeSnapshot) string {
	if n.Hold != nil {
		return "holding: " + n.Hold.Reason.Means()
	}
	if n.Shunned != "" {
		return fmt.Sprintf("shunned: %s; %s is what is seen of it", n.Shunned, n.Outcome)
	}
	for _, a := range n.Alarms {
		if a.Action == rules.Fail && a.Left != nil && a.Running {
			return fmt.Sprintf("waiting: %s is at %d of %s, %.0f s to go", a.Outcome, a.Count, ticks(a.Threshold), a.Left.Seconds())
		}
	}
	for _, a := range n.Alarms {
		if a.Action == rules.Alert && a.Expired {
			return fmt.Sprintf("alerted: %s for %s; no rule fails the node for it", a.Outcome, ticks(a.Count))
		}
	}
	return fmt.Sprintf("watching: no rule acts on what is seen: %s", n.Outcome)
}

// decision collects what a decision about a node rests on.
func (w *Watcher) decision(ev failover.Event) Decision {
	d := Decision{
		Time: time.Now(), Kind: ev.Kind, Node: ev.Node, Text: w.sentence(ev),
		Reason: ev.Reason, Means: ev.Reason.Means(), Lifts: ev.Reason.Lifts(), Peer: ev.Peer, Detail: ev.Detail,
		Outcome: ev.Outcome, Rule: w.rules.Rule(ev.Outcome).String(), Origin: w.rules.Origin(ev.Outcome).String(),
		Snapshot: w.engine.Snapshot(w.now), Findings: w.topo.Findings, Candidates: w.choice,
	}
	if m := w.member(ev.Node); m != nil {
		for _, t := range []check.Type{check.Connect, check.Select, check.Insert} {
			if r, ok := m.latest[t]; ok {
				d.Evidence = append(d.Evidence, r)
			}
		}
	}
	if w.round != nil && w.round.Node == ev.Node && w.round.Began.After(w.known.episode[ev.Node]) {
		round := *w.round
		d.Confirmation = &round
	}
	return d
}

func planText(p promote.Plan) string {
	var b strings.Builder
	_ = p.WriteText(&b) // a strings.Builder does not fail
	return b.String()
}
