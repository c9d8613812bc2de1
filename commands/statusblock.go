package commands

import (
	"fmt"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/watch"
)

// statusBlock is the state of a cluster in a few lines of at most width columns:
// one for the cluster, one a node, and one for each node that is held.
func statusBlock(s watch.Snapshot, paint painter, width int) []string {
	head := fmt.Sprintf("── %s ── policy %s", s.Cluster, s.Engine.Policy.Policy)
	if s.Engine.Policy.Left > 0 {
		head += fmt.Sprintf(" for %s more", s.Engine.Policy.Left.Round(time.Second))
	}
	switch {
	case s.DryRun:
		head += ", dry run"
	case s.Lock != "":
		head += ", observing"
	case !s.Engine.Coordinator:
		head += ", not coordinator"
	}
	if s.Engine.Quota > 0 {
		head += fmt.Sprintf(", quota %d/%d used", s.Engine.QuotaUsed, s.Engine.Quota)
	}
	if s.Engine.Operation != "" {
		head += ", " + s.Engine.Operation
	} else if s.Winner != "" && s.Winner != primaryOf(s) {
		head += ", next " + s.Winner
	} else if s.Refusal != "" {
		head += ", no candidate"
	}
	if s.Journal.Dropped > 0 {
		head += fmt.Sprintf(", %d journal records lost", s.Journal.Dropped)
	}
	head = clip(head+" ", width)
	lines := []string{paint.bold(head + strings.Repeat("─", max(0, width-len([]rune(head)))))}
	views := map[string]watch.NodeView{}
	for _, v := range s.Nodes {
		views[v.Name] = v
	}
	for _, n := range s.Engine.Nodes {
		lines = append(lines, nodeLine(n, views[n.Name], paint, width))
		if n.Hold != nil && n.Stage == failover.NearlyDown {
			text := fmt.Sprintf("holds: %s for %s; lifted by %s", n.Hold.Reason, n.Hold.Since.Round(time.Second), n.Hold.Lifts)
			for _, line := range wrap(text, max(40, width-3)) {
				lines = append(lines, paint.yellow("   "+clip(line, max(1, width-3))))
			}
		}
	}
	return lines
}

// primaryOf is the primary's name, empty if there is none.
func primaryOf(s watch.Snapshot) string {
	for _, n := range s.Engine.Nodes {
		if n.Role == failover.Primary {
			return n.Name
		}
	}
	return ""
}

// nodeName fits a node's name into a column; of an address the end tells nodes
// apart, not the beginning.
func nodeName(name string, columns int) string {
	runes := []rune(name)
	if len(runes) <= columns || !strings.Contains(name, ":") {
		return clip(name, columns)
	}
	return "…" + string(runes[len(runes)-columns+1:])
}

// nodeLine is one node: role, name, stage, state, sparkline, lag, alarm.
func nodeLine(n failover.NodeSnapshot, v watch.NodeView, paint painter, width int) string {
	const spark = 12
	left := fmt.Sprintf("%-8s %-7s %-11s %-7s ", nodeName(n.Name, 8), n.Role, n.Stage, n.State)
	lag := "lag ?"
	if v.Lag != nil {
		lag = fmt.Sprintf("lag %.0fs", *v.Lag)
	}
	if n.Role == failover.Primary || n.Shunned != "" {
		lag = ""
	}
	right := strings.TrimRight(fmt.Sprintf(" %-6s %s", lag, alarmText(n)), " ")
	room := width - len([]rune(left)) - spark
	return paint.state(n.State, left) + sparkline(v.History, spark, paint) + clip(right, max(1, room))
}

// alarmText is the alarm that matters most: count, threshold, and the seconds to
// its expiry.
func alarmText(n failover.NodeSnapshot) string {
	switch {
	case n.Shunned != "":
		return n.Shunned
	case n.Maintenance:
		return "in maintenance"
	}
	best := -1
	for i, a := range n.Alarms {
		if best < 0 || a.Action > n.Alarms[best].Action ||
			a.Action == n.Alarms[best].Action && a.Left != nil && (n.Alarms[best].Left == nil || *a.Left < *n.Alarms[best].Left) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	a := n.Alarms[best]
	switch {
	case a.Expired:
		return fmt.Sprintf("%s, %d/%d", a.Action, a.Count, a.Threshold)
	case a.Threshold < 0:
		return "never acts"
	case a.Left == nil:
		return fmt.Sprintf("%d/%d of %d", a.Count, a.Threshold, a.Window)
	case !a.Running:
		return fmt.Sprintf("%d/%d stands still", a.Count, a.Threshold)
	default:
		return fmt.Sprintf("%d/%d, %s in %.0fs", a.Count, a.Threshold, a.Action, a.Left.Seconds())
	}
}
