package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Leftover is what an operation that was taken back could not put back, since a node
// answered nobody then: a statement that was sent to it takes effect when it goes on.
// It holds no secret and is kept as JSON.
type Leftover struct {
	time  time.Time
	state state
}

// leftoverJSON is how it is kept.
type leftoverJSON struct {
	Time  time.Time `json:"time"`
	State state     `json:"state"`
}

// MarshalJSON writes what is left.
func (l *Leftover) MarshalJSON() ([]byte, error) { return json.Marshal(leftoverJSON{l.time, l.state}) }

// UnmarshalJSON reads what is left.
func (l *Leftover) UnmarshalJSON(data []byte) error {
	var kept leftoverJSON
	if err := json.Unmarshal(data, &kept); err != nil {
		return fmt.Errorf("what an operation left behind: %w", err)
	}
	l.time, l.state = kept.Time, kept.State
	return nil
}

// Primary is the node that is the primary, since nobody took its place.
func (l *Leftover) Primary() string { return l.state.Plan.OldPrimary }

// Fenced tells whether the primary's fence is among what is left.
func (l *Leftover) Fenced() bool {
	s := l.state.Fence.State
	return s != FenceUntried && s != FenceUnreachable
}

// Nodes are those on which something is left, in order.
func (l *Leftover) Nodes() []string {
	s := l.state
	names := slices.Concat(s.Starved, s.Repointed)
	if s.Prepared != "" {
		names = append(names, s.Prepared)
	}
	if l.Fenced() {
		names = append(names, l.Primary())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// With is what is left of two attempts, of which l was the later. How a node was before
// is what the earlier one saw: the later one saw what that had left.
func (l *Leftover) With(earlier *Leftover) *Leftover {
	switch {
	case earlier == nil || l != nil && earlier.Primary() != l.Primary():
		return l
	case l == nil:
		return earlier
	}
	both := &Leftover{l.time, l.state}
	s, e := &both.state, earlier.state
	s.Starved, s.Repointed = union(s.Starved, e.Starved), union(s.Repointed, e.Repointed)
	before := map[string]channel{}
	for _, channels := range []map[string]channel{s.Before, e.Before} {
		for name, c := range channels {
			before[name] = c
		}
	}
	s.Before = before
	if s.Prepared == "" {
		s.Prepared, s.SemiSync, s.SemiSyncBefore = e.Prepared, e.SemiSync, e.SemiSyncBefore
	}
	if earlier.Fenced() {
		// The later one may have read the flags that the earlier one had set.
		s.Fence = e.Fence
	}
	return both
}

// FenceAlone is the fence among what is left, without the rest. It is nil where the flags
// were not as those of a primary before.
func (l *Leftover) FenceAlone() *Leftover {
	f := l.state.Fence
	if !l.Fenced() || f.Known && (f.ReadOnly || f.Offline) {
		return nil
	}
	alone := &Leftover{l.time, l.state}
	alone.state.Starved, alone.state.Repointed, alone.state.Prepared = nil, nil, ""
	return alone
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// leftover is what the run's state says is still to be taken back.
func (r *run) leftover() *Leftover {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &Leftover{r.env.Now(), r.state}
	if len(l.Nodes()) == 0 {
		return nil
	}
	return l
}

// leftoverAge is how old what is left may be: nobody expects any more that it is taken back.
const leftoverAge = 24 * time.Hour

// TakeBack takes back what an operation left, on the nodes that answer now. The caller
// holds the lock, runs nothing else on the cluster, and is certain that the primary is
// still the one that it was. rest is what is still left, nil when nothing is; done says in
// words what was done, undone what could not be.
func TakeBack(ctx context.Context, env Env, l *Leftover) (rest *Leftover, done, undone []string) {
	r := newRun(env, l.state.Plan)
	if r.env.Now().Sub(l.time) > leftoverAge {
		return nil, nil, nil
	}
	if env.Lease != nil && env.Lease.Check(ctx) != nil {
		return l, nil, nil // nothing here is so urgent
	}
	r.state = l.state
	r.plan = &r.state.Plan
	later := &Leftover{l.time, l.state}
	now, wait := &r.state, &later.state
	now.Starved, wait.Starved = r.inReach(l.state.Starved)
	now.Repointed, wait.Repointed = r.inReach(l.state.Repointed)
	now.Prepared, wait.Prepared = r.oneInReach(l.state.Prepared)
	switch up, down := r.oneInReach(l.Primary()); {
	case up != "" && r.restarted(ctx, r.nodes[up], l.time):
		now.Fence, wait.Fence = fenceRecord{}, fenceRecord{} // the statement is gone, its settings are its own
	case up == "" && down == "": // not configured any more
		now.Fence, wait.Fence = fenceRecord{}, fenceRecord{}
	case down != "":
		now.Fence = fenceRecord{}
	default:
		wait.Fence = fenceRecord{}
	}
	r.undo(ctx)
	if rest = later; len(rest.Nodes()) == 0 {
		rest = nil
	}
	if left := r.leftover(); left != nil {
		left.time = l.time
		rest = left.With(rest)
	}
	return rest, r.result.Undone, r.result.UndoLeft
}

// restarted tells whether a server was started after a moment.
func (r *run) restarted(ctx context.Context, n *Node, moment time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	up, err := n.Session.Uptime(ctx)
	return err == nil && r.env.Now().Add(-up).After(moment.Add(time.Second)) // it counts whole seconds
}

// oneInReach is a configured node that answers, or one that does not.
func (r *run) oneInReach(name string) (up, down string) {
	switch n := r.nodes[name]; {
	case n == nil:
		return "", ""
	case n.Down:
		return "", name
	default:
		return name, ""
	}
}

// inReach parts the configured nodes into those that answer and the others.
func (r *run) inReach(names []string) (up, down []string) {
	for _, name := range names {
		switch u, d := r.oneInReach(name); {
		case u != "":
			up = append(up, u)
		case d != "":
			down = append(down, d)
		}
	}
	return up, down
}
