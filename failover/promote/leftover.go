package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Leftover is what an operation that was taken back could not put back, since a node
// answered nobody then: a statement that was sent to it takes effect when it goes on.
// It holds no secret and is kept as JSON.
type Leftover struct{ state state }

// MarshalJSON writes what is left.
func (l *Leftover) MarshalJSON() ([]byte, error) { return l.state.encode() }

// UnmarshalJSON reads what is left.
func (l *Leftover) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &l.state); err != nil {
		return fmt.Errorf("what an operation left behind: %w", err)
	}
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
	both := &Leftover{state: l.state}
	s, e := &both.state, earlier.state
	s.Starved, s.Repointed = union(s.Starved, e.Starved), union(s.Repointed, e.Repointed)
	before := map[string]channel{}
	for _, channels := range []map[string]channel{s.Before, e.Before} {
		for name, c := range channels {
			before[name] = c
		}
	}
	s.Before = before
	if earlier.Fenced() {
		s.Fence = s.Fence.over(e.Fence)
		if !l.Fenced() {
			s.Fence = e.Fence
		}
	}
	return both
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
	l := &Leftover{state: r.state}
	if len(l.Nodes()) == 0 {
		return nil
	}
	return l
}

// TakeBack takes back what an operation left, on the nodes that answer now. The primary
// must still be the one that it was. rest is what is still left, nil when nothing is;
// done says in words what was done, undone what could not be.
func TakeBack(ctx context.Context, env Env, l *Leftover) (rest *Leftover, done, undone []string) {
	r := newRun(env, l.state.Plan)
	later := &Leftover{state: l.state}
	later.state.Starved, later.state.Repointed, later.state.Prepared, later.state.Fence = nil, nil, "", fenceRecord{}
	r.state = l.state
	r.plan = &r.state.Plan
	r.state.Starved, later.state.Starved = r.inReach(l.state.Starved)
	r.state.Repointed, later.state.Repointed = r.inReach(l.state.Repointed)
	if n := r.nodes[l.state.Prepared]; n == nil || n.Down {
		r.state.Prepared, later.state.Prepared = "", l.state.Prepared
	}
	if n := r.nodes[l.Primary()]; n == nil || n.Down {
		r.state.Fence, later.state.Fence = fenceRecord{}, l.state.Fence
	}
	r.undo(ctx)
	rest = later.With(r.leftover())
	if rest != nil && len(rest.Nodes()) == 0 {
		rest = nil
	}
	return rest, r.result.Undone, r.result.UndoLeft
}

// inReach parts the configured nodes into those that answer and the others.
func (r *run) inReach(names []string) (up, down []string) {
	for _, name := range names {
		switch n := r.nodes[name]; {
		case n == nil:
		case n.Down:
			down = append(down, name)
		default:
			up = append(up, name)
		}
	}
	return up, down
}
