package watch

import (
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
// each hold, failover and failed replica.
type Decision struct {
	Time time.Time     `json:"time"`
	Kind failover.Kind `json:"decision"`
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
	if w.round != nil && w.round.Node == ev.Node {
		round := *w.round
		d.Confirmation = &round
	}
	w.decided[ev.Node] = d
	w.journal.Append(journal.Record{Time: d.Time, Kind: journal.Decision, Node: d.Node, Outcome: d.Outcome, Message: d.Text, Data: journal.Data(d)})
}

func planText(p promote.Plan) string {
	var b strings.Builder
	_ = p.WriteText(&b) // a strings.Builder does not fail
	return b.String()
}
