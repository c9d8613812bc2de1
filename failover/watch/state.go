package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/topology"
)

// kept is what the state file held when it was last read or written.
type kept struct {
	state   journal.State
	version journal.Version
	// busy: a write is under way. again: something changed meanwhile.
	busy, again bool
	// stalled was reported and has not ended.
	stalled bool
	// unwritten: the last write failed. failedOver: a failover is to be written.
	unwritten, failedOver bool

	engine    failover.State
	topology  topology.Memory
	topologyS time.Time

	semiSyncOwed bool
	leftover     *promote.Leftover
}

// leftoverKey is where the state file keeps what an operation could not take back.
const leftoverKey = "leftover"

// learnLeftover takes in what the watcher that acted could not take back.
func (w *Watcher) learnLeftover(s journal.State) {
	w.leftover = nil
	if kept, ok := s.Extra[leftoverKey]; ok {
		left := new(promote.Leftover)
		if err := json.Unmarshal(kept, left); err != nil {
			w.note(slog.LevelWarn, "", "state file: %v", err)
			return
		}
		w.leftover = left
	}
	w.kept.leftover = w.leftover
}

// restored is the engine's state as an earlier run left it.
func restored(s journal.State, now time.Time) (failover.State, error) {
	out := failover.State{QuotaUsed: s.QuotaUsed, Shunned: map[string]failover.Shun{}}
	var errs []error
	if p, ok, err := policyState(s.Policy, now); err != nil {
		errs = append(errs, err)
	} else if ok {
		out.Policy = &p
	}
	for name, np := range s.NodePolicy {
		p, ok, err := policyState(np, now)
		if err != nil {
			errs = append(errs, err)
		} else if ok {
			if out.NodePolicies == nil {
				out.NodePolicies = map[string]failover.PolicyState{}
			}
			out.NodePolicies[name] = p
		}
	}
	for name, sh := range s.Shunned {
		out.Shunned[name] = failover.Shun{FailedOverTo: sh.FailedOverTo}
	}
	if t := s.LastFailover.Time; !t.IsZero() {
		age := max(0, now.Sub(t))
		out.LastFailoverAge = &age
	}
	return out, errors.Join(errs...)
}

// policyState reads a stored policy; false if there is none.
func policyState(p journal.PolicyState, now time.Time) (failover.PolicyState, bool, error) {
	if p.Mode == "" {
		return failover.PolicyState{}, false, nil
	}
	mode := p.Mode
	if p.Ended(now) {
		mode = p.Then
	}
	if mode == "" {
		return failover.PolicyState{}, false, nil
	}
	policy, err := failover.ParsePolicy(mode)
	if err != nil {
		return failover.PolicyState{}, false, fmt.Errorf("state file: %w", err)
	}
	out := failover.PolicyState{Policy: policy, Detail: policyDetail(p)}
	if !p.Until.IsZero() && !p.Ended(now) {
		out.Left = p.Until.Sub(now)
		if out.Then, err = failover.ParsePolicy(p.Then); err != nil {
			return failover.PolicyState{}, false, fmt.Errorf("state file: %w", err)
		}
	}
	return out, true, nil
}

// policyDetail says who set a policy, and why.
func policyDetail(p journal.PolicyState) string {
	s := p.By
	if s != "" {
		s = "by " + s
	}
	if !p.Since.IsZero() {
		s += " at " + p.Since.Format(time.RFC3339)
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

// polls looks each second at what others may have changed: rule file, state file
// and lock.
func (w *Watcher) polls(ctx context.Context) {
	w.beside(func() { w.readRules(ctx) })
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var known journal.Version
		var stalled bool
		if w.ask(ctx, func() {
			w.pollLock(ctx)
			w.refillLate()
			w.writeAgain()
			w.heedLoss(ctx)
			known, stalled = w.kept.version, w.kept.stalled
		}) {
			w.pollState(ctx, known, stalled)
		}
	}
}

// pollState takes in a state file that somebody else has changed since the known
// version.
func (w *Watcher) pollState(ctx context.Context, known journal.Version, stalled bool) {
	limit, cancel := context.WithTimeout(ctx, diskLimit)
	defer cancel()
	changed, err := w.state.Changed(limit, known)
	if err == nil && !changed {
		if stalled {
			w.send(func() { w.kept.stalled = false })
		}
		return
	}
	var s journal.State
	var version journal.Version
	if err == nil {
		s, version, err = w.state.Load(limit)
	}
	w.send(func() {
		if err != nil {
			w.stateTrouble(err)
			return
		}
		w.takeLook(known, s, version)
	})
}

// takeLook takes in what a look at the file found that began when known was the
// latest version. One that a write of our own may have overtaken says nothing: it
// would take back what was just written. The next look sees what is there.
func (w *Watcher) takeLook(known journal.Version, s journal.State, version journal.Version) {
	if !w.kept.busy && w.kept.version == known {
		w.takeState(s, version)
	}
}

// ask runs f on the loop and waits for it.
func (w *Watcher) ask(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	if !w.send(func() { f(); close(done) }) {
		return false
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-w.done:
	}
	select {
	case <-done: // at the last moment
		return true
	default:
		return false
	}
}

func (w *Watcher) stateTrouble(err error) {
	if !w.kept.stalled {
		w.kept.stalled = true
		w.note(slog.LevelError, "", "state file: %v; decisions go on without it", err)
	}
}

// takeState tells the engine what a command has changed: policies, quota, shunned
// nodes.
func (w *Watcher) takeState(s journal.State, version journal.Version) {
	old := w.kept.state
	w.kept.state, w.kept.version = s, version
	now := time.Now()
	if s.Policy != old.Policy {
		w.takePolicy("", s.Policy, now)
	}
	for name, p := range s.NodePolicy {
		if p != old.NodePolicy[name] {
			w.takePolicy(name, p, now)
		}
	}
	for name := range old.NodePolicy {
		if _, still := s.NodePolicy[name]; !still && w.member(name) != nil {
			w.tell(failover.PolicyIs(failover.Automatic, name, 0, ""))
		}
	}
	if w.lease == nil {
		w.learnLeftover(s)
	}
	if s.SemiSyncOwed && !old.SemiSyncOwed {
		w.semiSyncOwed = true // the next look at the primary says whether it still is
	}
	if s.QuotaRefilled.After(old.QuotaRefilled) {
		w.tell(failover.QuotaReset())
		w.note(slog.LevelInfo, "", "the quota of automatic failovers was reset")
	}
	for name := range old.Shunned {
		if _, still := s.Shunned[name]; !still && w.member(name) != nil {
			w.tell(failover.RecoveredNode(name))
		}
	}
}

func (w *Watcher) takePolicy(node string, p journal.PolicyState, now time.Time) {
	if node != "" && w.member(node) == nil || w.cfg.observer {
		return
	}
	ps, ok, err := policyState(p, now)
	if err != nil {
		w.note(slog.LevelError, node, "%v", err)
		return
	}
	if !ok {
		ps.Policy = w.cfg.Policy
		if node != "" {
			ps.Policy = failover.Automatic
		}
	}
	w.tell(failover.PolicyIs(ps.Policy, node, ps.Left, ps.Detail))
	w.journal.Append(journal.Record{Time: now, Kind: journal.Policy, Node: node, Message: ps.Policy.String() + " " + ps.Detail, Data: journal.Data(p)})
}

// persist writes what the engine must not forget, beside the loop.
func (w *Watcher) persist(ctx context.Context) {
	k := &w.kept
	next := w.engine.State(w.now)
	same := next.QuotaUsed == k.engine.QuotaUsed && maps.Equal(next.Shunned, k.engine.Shunned) &&
		(next.LastFailoverAge == nil) == (k.engine.LastFailoverAge == nil) &&
		(next.LastFailoverAge == nil || *next.LastFailoverAge >= *k.engine.LastFailoverAge) &&
		w.semiSyncOwed == k.semiSyncOwed && w.leftover == k.leftover
	sameTopology := w.memory.Primary == k.topology.Primary && len(w.memory.Nodes) == len(k.topology.Nodes) &&
		time.Since(k.topologyS) < rememberEvery
	if same && (sameTopology || w.memory.IsZero()) {
		k.engine.LastFailoverAge = next.LastFailoverAge
		return
	}
	if k.busy {
		k.again = true
		return
	}
	k.failedOver = k.failedOver || next.LastFailoverAge != nil && (k.engine.LastFailoverAge == nil || *next.LastFailoverAge < *k.engine.LastFailoverAge)
	now := time.Now()
	if k.topologyS.IsZero() {
		now = now.Add(-w.phaseOf(rememberEvery))
	}
	k.engine, k.topology, k.topologyS, k.busy = next, w.memory, now, true
	k.semiSyncOwed, k.leftover = w.semiSyncOwed, w.leftover
	w.write(ctx, next, k.failedOver)
}

// rememberEvery is how often the primary's progress is written down while nothing
// else changes.
const rememberEvery = 30 * time.Second

// write changes the state file.
func (w *Watcher) write(ctx context.Context, s failover.State, failedOver bool) {
	now, old := time.Now(), w.lastOld
	primary, owed := w.known.roles, w.semiSyncOwed
	memory, err := json.Marshal(w.memory)
	if err != nil {
		w.note(slog.LevelError, "", "last healthy topology: %v", err)
	}
	seenAt := w.memory.Time
	acts := w.lease != nil // else what is left is another watcher's
	var left json.RawMessage
	if w.leftover != nil {
		if left, err = json.Marshal(w.leftover); err != nil {
			w.note(slog.LevelError, "", "%v", err)
		}
	}
	change := func(f *journal.State) error {
		f.QuotaUsed, f.SemiSyncOwed = s.QuotaUsed, owed
		if failedOver {
			f.LastFailover = journal.FailoverState{Time: now.Add(-*s.LastFailoverAge), OldPrimary: old, NewPrimary: primary}
		}
		for name := range f.Shunned {
			if _, still := s.Shunned[name]; !still {
				delete(f.Shunned, name)
			}
		}
		for name, sh := range s.Shunned {
			if f.Shunned == nil {
				f.Shunned = map[string]journal.ShunState{}
			}
			if _, known := f.Shunned[name]; !known {
				f.Shunned[name] = journal.ShunState{Reason: sh.String(), Since: now, FailedOverTo: sh.FailedOverTo}
			}
		}
		if acts {
			delete(f.Extra, leftoverKey)
		}
		if acts && left != nil {
			if f.Extra == nil {
				f.Extra = map[string]json.RawMessage{}
			}
			f.Extra[leftoverKey] = left
		}
		if memory != nil {
			f.Topology, f.TopologySeen = memory, seenAt
		}
		return nil
	}
	w.beside(func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskLimit)
		defer cancel()
		written, version, err := w.state.Update(limit, change)
		w.send(func() {
			k := &w.kept
			k.busy, k.unwritten = false, err != nil
			if err != nil {
				w.stateTrouble(err)
			} else {
				k.stalled, k.failedOver = false, false
				w.takeState(written, version)
			}
			if k.again {
				k.again = false
				k.differ()
			}
		})
	})
}

// differ has the next look find something to write.
func (k *kept) differ() { k.engine.QuotaUsed = -1 }

// writeAgain tries once more what could not be written.
func (w *Watcher) writeAgain() {
	if w.kept.unwritten && !w.stopped {
		w.kept.differ()
	}
}
