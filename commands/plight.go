package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/watch"
	"failwise/rules"
)

// report is what is known of one cluster of many at one moment.
type report struct {
	cluster  string
	snapshot watch.Snapshot
	// trouble is why there is no snapshot, empty if there is one; starting is no
	// trouble yet.
	trouble  string
	starting bool
}

// plight is one way for a cluster not to be calm.
type plight struct {
	name string
	// of is false for a cluster that is not in this plight.
	of func(report) (row, bool)
}

// row is what is said of a cluster that is not calm.
type row struct {
	text  string
	state rules.State // for the colour
	// left orders the clusters in one plight: the least first.
	left time.Duration
}

// plights are in the order of their urgency: a cluster is in the first that fits.
var plights = []plight{
	{"at work", func(r report) (row, bool) {
		what := r.snapshot.Engine.Operation
		return row{text: what, state: rules.Suspect}, what != ""
	}},
	{"held", func(r report) (row, bool) {
		return r.node(func(n failover.NodeSnapshot) (string, time.Duration, bool) {
			if n.Hold == nil || n.Stage != failover.NearlyDown {
				return "", 0, false
			}
			return fmt.Sprintf("holds: %s", n.Hold.Reason), -n.Hold.Since, true
		})
	}},
	{"not watched", func(r report) (row, bool) {
		return row{text: r.trouble, state: rules.Stopped}, r.trouble != "" && !r.starting
	}},
	{"primary alarmed", func(r report) (row, bool) {
		return r.node(func(n failover.NodeSnapshot) (string, time.Duration, bool) {
			return alarmText(n), expiry(n), n.Role == failover.Primary && len(n.Alarms) > 0 && !n.Maintenance
		})
	}},
	{"without primary", func(r report) (row, bool) {
		return row{text: "no certain primary: failwise topology says why", state: rules.Stopped}, r.trouble == "" && primaryOf(r.snapshot) == ""
	}},
	{"alarmed", func(r report) (row, bool) {
		return r.node(func(n failover.NodeSnapshot) (string, time.Duration, bool) {
			return alarmText(n), expiry(n), len(n.Alarms) > 0 && !n.Maintenance && n.Shunned == ""
		})
	}},
	{"node out", func(r report) (row, bool) {
		return r.node(func(n failover.NodeSnapshot) (string, time.Duration, bool) { return n.Shunned, 0, n.Shunned != "" })
	}},
	{"not repointed", func(r report) (row, bool) {
		var names []string
		for name := range r.snapshot.Left {
			names = append(names, name)
		}
		slices.Sort(names)
		return row{text: strings.Join(names, ", ") + " not following the primary yet", state: rules.Timeout}, len(names) > 0
	}},
	{"observing", func(r report) (row, bool) {
		return row{text: "observing: " + r.snapshot.Lock, state: rules.Timeout}, r.snapshot.Lock != ""
	}},
	{"without candidate", func(r report) (row, bool) {
		refusal := r.snapshot.Refusal
		return row{text: "no candidate: " + refusal, state: rules.Timeout}, refusal != "" && len(r.snapshot.Nodes) > 1
	}},
	{"losing records", func(r report) (row, bool) {
		n := r.snapshot.Journal.Dropped
		return row{text: fmt.Sprintf("%d journal records lost", n), state: rules.Timeout}, n > 0
	}},
	{"in maintenance", func(r report) (row, bool) {
		if p := r.snapshot.Engine.Policy; p.Policy == failover.Maintenance {
			return row{text: "maintenance " + p.Detail, state: rules.Unknown}, true
		}
		return r.node(func(n failover.NodeSnapshot) (string, time.Duration, bool) { return alarmText(n), 0, n.Maintenance })
	}},
	{"starting", func(r report) (row, bool) {
		return row{text: r.trouble, state: rules.Unknown}, r.starting
	}},
}

// node is the row of the node that a plight is about: of several the one with the
// least time left.
func (r report) node(about func(failover.NodeSnapshot) (text string, left time.Duration, in bool)) (row, bool) {
	var worst row
	count := 0
	for _, n := range r.snapshot.Engine.Nodes {
		text, left, in := about(n)
		if !in {
			continue
		}
		if count++; count == 1 || left < worst.left {
			worst = row{fmt.Sprintf("%-8s %-7s %-11s %-7s %s", nodeName(n.Name, 8), n.Role, n.Stage, n.State, text), n.State, left}
		}
	}
	if count > 1 {
		worst.text += fmt.Sprintf(", and %d more", count-1)
	}
	return worst, count > 0
}

// never is the time to an expiry that does not come.
const never = time.Duration(1<<63 - 1)

// expiry is the time to a node's next expiry.
func expiry(n failover.NodeSnapshot) time.Duration {
	least := never
	for _, a := range n.Alarms {
		switch {
		case a.Expired && a.Action == rules.Fail:
			return 0
		case a.Left != nil && a.Running:
			least = min(least, *a.Left)
		}
	}
	return least
}
