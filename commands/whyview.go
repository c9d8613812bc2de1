package commands

import (
	"encoding/json"
	"fmt"
	"strings"

	"failwise/failover"
	"failwise/rules"
)

// printWhy lays a decision out for a reader at 03:12: the answer first, then what
// it rests on.
func (in *invocation) printWhy(r whyReport) {
	paint := in.paint(Stdout)
	width := in.Width(Stdout)
	if width <= 0 {
		width = 80
	}
	row := func(label, format string, args ...any) {
		for i, line := range wrap(fmt.Sprintf(format, args...), max(40, width-13)) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(in.Out, "%s %s\n", paint.dim(fmt.Sprintf("%-12s", label)), line)
		}
	}
	fmt.Fprintf(in.Out, "%s\n", paint.bold(fmt.Sprintf("%s of %s at %s", r.Node, r.Cluster, r.At)))
	row("verdict", "%s", r.Verdict)
	if p := r.Probe; p != nil {
		row("seen", "%s since %s: %s", paint.state(stateOfDefault(p.Outcome), p.Outcome.String()), r.Since, orText(p.Message, "connect, login and statement answered"))
	}
	d := r.decision
	if d == nil {
		if r.Event != nil {
			row("last event", "%s %s", jsonTime(r.Event.Time), r.Event.Message)
		}
		return
	}
	if d.Operation != "" {
		in.printWhyOperation(d, row)
		return
	}
	row("rule", "%s: %s (%s)", d.Outcome, d.Rule, d.Origin)
	for _, n := range d.Snapshot.Nodes {
		if n.Name == r.Node {
			row("stage", "%s %s", n.Role, n.Stage)
			for _, a := range n.Alarms {
				row("alarm", "%s", alarmSentence(a, d.Snapshot.Policy.Policy))
			}
		}
	}
	row("policy", "%s%s", d.Snapshot.Policy.Policy, policyNote(d.Snapshot))
	if d.Reason != failover.NoHold {
		row("said no", "%s: %s%s", d.Reason, d.Means, peerNote(d))
		row("lifted by", "%s", d.Lifts)
	}
	in.printWhyConfirmation(d, row)
	for _, v := range d.Candidates.Verdicts {
		if v.Eligible {
			row("candidate", "%d. %s: %s", v.Rank, v.Node, v.Reason)
		} else if len(v.Rejections) > 0 {
			row("candidate", "%s not eligible, %s: %s; fix: %s", v.Node, v.Rejections[0].Rule, v.Rejections[0].Reason, v.Rejections[0].Fix)
		}
	}
	for _, f := range d.Findings {
		row("finding", "%s %s: %s; fix: %s", f.Node, f.Rule, f.Text, f.Fix)
	}
	if in.Verbosity() > 0 {
		for _, e := range d.Evidence {
			row("evidence", "%s probe: %s in phase %s after %.3f s: %s", e.Type, e.Outcome, e.Phase, e.Seconds, e.Message)
		}
	}
	if d.Outcome != rules.OK {
		row("more", "failwise explain %s", d.Outcome)
	}
}

func (in *invocation) printWhyOperation(d *decisionView, row func(string, string, ...any)) {
	var result struct {
		NewPrimary string `json:"new_primary"`
		Loss       struct {
			Why   string `json:"why"`
			Count uint64 `json:"count"`
		} `json:"loss"`
		Fence    string   `json:"fence"`
		FenceWhy string   `json:"fence_why"`
		Undone   []string `json:"undone"`
		UndoLeft []string `json:"undo_left"`
	}
	if json.Unmarshal(d.Result, &result) != nil {
		return
	}
	if result.NewPrimary != "" {
		row("new primary", "%s", result.NewPrimary)
	}
	if result.Loss.Why != "" && d.What == "failover" {
		row("loss", "%d known lost transactions; %s", result.Loss.Count, result.Loss.Why)
	}
	if result.Fence != "" && result.Fence != "untried" {
		row("fence", "%s: %s", result.Fence, result.FenceWhy)
	}
	if len(result.Undone) > 0 {
		row("taken back", "%s", strings.Join(result.Undone, "; "))
	}
	if len(result.UndoLeft) > 0 {
		row("left", "%s", strings.Join(result.UndoLeft, "; "))
	}
}

func (in *invocation) printWhyConfirmation(d *decisionView, row func(string, string, ...any)) {
	c := d.Confirmation
	if c == nil {
		return
	}
	if c.Recheck != nil {
		row("recheck", "%s: %s", c.Recheck.Outcome, c.Recheck.Message)
	}
	for _, v := range c.Votes {
		row("vote", "%s %s: %s", v.Name, v.Vote, v.Evidence)
	}
	for _, a := range c.Routes {
		row("route", "%s %s: %s", a.Command, a.Route, a.Evidence)
	}
}

// alarmSentence is an alarm in one line.
func alarmSentence(a failover.AlarmStatus, policy failover.Policy) string {
	switch {
	case a.Window > 0:
		return fmt.Sprintf("%s: %d of the last %d ticks, %s at %d", a.Outcome, a.Count, a.Window, a.Action, a.Threshold)
	case a.Threshold < 0:
		return fmt.Sprintf("%s: counted %d ticks, never expires", a.Outcome, a.Count)
	case a.Expired:
		return fmt.Sprintf("%s: expired at %d of %d ticks, %s", a.Outcome, a.Count, a.Threshold, a.Action)
	case !a.Running:
		return fmt.Sprintf("%s: stands still at %d of %d ticks, since the latest outcome does not support it", a.Outcome, a.Count, a.Threshold)
	case a.Left != nil && policy != failover.Automatic:
		return fmt.Sprintf("%s: %d of %d ticks, expires in %.0f s if nothing changes; the policy is %s", a.Outcome, a.Count, a.Threshold, a.Left.Seconds(), policy)
	case a.Left != nil:
		return fmt.Sprintf("%s: %d of %d ticks, %s in %.0f s if nothing changes", a.Outcome, a.Count, a.Threshold, a.Action, a.Left.Seconds())
	default:
		return fmt.Sprintf("%s: %d of %d ticks", a.Outcome, a.Count, a.Threshold)
	}
}

func policyNote(s failover.Snapshot) string {
	var notes []string
	if s.Policy.Detail != "" {
		notes = append(notes, s.Policy.Detail)
	}
	if !s.Coordinator {
		notes = append(notes, "this watcher was not the coordinator")
	}
	if s.Quota > 0 {
		notes = append(notes, fmt.Sprintf("quota %d of %d used", s.QuotaUsed, s.Quota))
	}
	if s.Operation != "" {
		notes = append(notes, s.Operation)
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func peerNote(d *decisionView) string {
	s := ""
	if d.Peer != "" {
		s += " (" + d.Peer + ")"
	}
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// stateOfDefault is the state of an outcome under the shipped rules, for colour.
func stateOfDefault(o rules.Outcome) rules.State { return rules.Defaults().Rule(o).State }
