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
	"failwise/failover/lock"
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
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.pollState(ctx)
		w.send(func() {
			w.pollRules()
			w.pollLock(ctx)
			w.refillLate()
			w.writeAgain()
		})
	}
}

// Reload reads the rule file again at once.
func (w *Watcher) Reload() { w.send(func() { w.takeRules(w.statemap.load()) }) }

func (w *Watcher) pollRules() { w.takeRules(w.statemap.poll()) }

// takeRules puts new rules in force; a file that was rejected changes nothing.
func (w *Watcher) takeRules(r reading, ok bool) {
	if !ok {
		return
	}
	for _, p := range r.warnings {
		w.note(slog.LevelWarn, "", "statemap: %s", p.Error())
	}
	if r.err != nil {
		w.note(slog.LevelError, "", "statemap rejected, the rules before it stay in force: %v", r.err)
		return
	}
	w.rules = r.rules
	w.tell(failover.RulesAre(r.rules))
	text := "statemap read again: no rule has changed"
	for i, c := range r.changes {
		if i == 0 {
			text = "rules have changed:"
		}
		text += "\n  " + c.String()
	}
	w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Rules, Message: text, Data: journal.Data(r.changes)})
	w.notice(Notice{Kind: "rules", Text: text})
}

// pollState takes in a state file that somebody else has changed.
func (w *Watcher) pollState(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, diskLimit)
	defer cancel()
	var known journal.Version
	if !w.ask(ctx, func() { known = w.kept.version }) {
		return
	}
	changed, err := w.state.Changed(limit, known)
	if err == nil && !changed {
		w.send(func() { w.kept.stalled = false })
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
		(next.LastFailoverAge == nil || *next.LastFailoverAge >= *k.engine.LastFailoverAge)
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
	k.engine, k.topology, k.topologyS, k.busy = next, w.memory, time.Now(), true
	w.write(ctx, next, k.failedOver)
}

// rememberEvery is how often the primary's progress is written down while nothing
// else changes.
const rememberEvery = 30 * time.Second

// write changes the state file.
func (w *Watcher) write(ctx context.Context, s failover.State, failedOver bool) {
	now, old := time.Now(), w.lastOld
	primary := w.known.roles
	memory, err := json.Marshal(w.memory)
	if err != nil {
		w.note(slog.LevelError, "", "last healthy topology: %v", err)
	}
	seenAt := w.memory.Time
	change := func(f *journal.State) error {
		f.QuotaUsed = s.QuotaUsed
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

// askLock finds out anew, beside the loop, whether this watcher may act.
func (w *Watcher) askLock(ctx context.Context) {
	lease := w.lease
	if w.cfg.DryRun || lease == nil {
		w.tell(failover.CoordinatorIs(w.cfg.DryRun))
		return
	}
	w.beside(func() {
		limit, cancel := context.WithTimeout(ctx, diskLimit)
		defer cancel()
		err := lease.Check(limit)
		w.send(func() {
			if w.lease == lease {
				w.tell(failover.CoordinatorIs(err == nil))
			}
		})
	})
}

// pollLock competes for the lock while another watcher holds it, notices when it
// is lost, and asks anew where it could not be asked.
func (w *Watcher) pollLock(ctx context.Context) {
	if w.cfg.DryRun {
		return
	}
	if w.lease != nil {
		select {
		case <-w.lease.Lost():
			w.lease = nil
			w.tell(failover.CoordinatorIs(false))
			w.note(slog.LevelError, "", "the lock is lost: observing only")
		default:
			if !w.engine.Snapshot(w.now).Coordinator {
				w.askLock(ctx)
			}
		}
		return
	}
	if w.acquiring {
		return
	}
	w.acquiring = true
	w.beside(func() {
		limit, cancel := context.WithTimeout(ctx, diskLimit)
		defer cancel()
		lease, err := w.cfg.Locker.Acquire(limit)
		var unfinished []journal.OperationLog
		var unread error
		if err == nil {
			unfinished, unread = journal.Unfinished(limit, w.dir)
		}
		taken := w.ask(context.WithoutCancel(ctx), func() { w.takeLock(ctx, lease, err, unfinished, unread) })
		if !taken && lease != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskLimit)
			defer cancel()
			_ = lease.Release(last)
		}
	})
}

// takeLock takes in the answer of the lock.
func (w *Watcher) takeLock(ctx context.Context, lease lock.Lease, err error, unfinished []journal.OperationLog, unread error) {
	w.acquiring = false
	if err != nil {
		if text := err.Error(); text != w.lockNote {
			w.lockNote = text
			w.note(slog.LevelWarn, "", "observing: %s", text)
		}
		return
	}
	w.lease = lease
	select {
	case w.leased <- lease:
	default:
	}
	if w.lockNote != "" {
		w.note(slog.LevelInfo, "", "holds the lock now: acting")
	}
	w.lockNote = ""
	if unread != nil {
		w.note(slog.LevelError, "", "promotion logs: %v", unread)
	}
	w.resume(ctx, unfinished)
	w.tell(failover.CoordinatorIs(true))
}
