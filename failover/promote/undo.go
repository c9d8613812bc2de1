package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"failwise/failover/journal"
	"failwise/failover/mysql"
)

// undo takes back what was done, all of it side by side, since writers wait and a
// candidate may be frozen: candidates and siblings follow the old primary again, the old
// primary is writable again, receivers run again. What cannot be taken back is named in
// the result, and stays in the state for [TakeBack].
func (r *run) undo(ctx context.Context) {
	r.cancelRepointing()
	r.update(func(s *state) { s.Repointed, s.GivenUp = append(s.Repointed, s.GivenUp...), nil })
	prepared := r.state.Prepared
	turned := append(slices.Clone(r.state.Repointed), prepared)
	var now, later []string
	for _, name := range r.state.Starved {
		if slices.Contains(turned, name) {
			later = append(later, name)
		} else {
			now = append(now, name)
		}
	}
	var wg sync.WaitGroup
	var astray, deaf, deafToo []string
	wg.Go(func() {
		astray = r.undoCandidate(ctx)
		deaf = r.receive(ctx, later)
	})
	wg.Go(func() { deafToo = r.receive(ctx, now) })
	wg.Go(func() { r.undoFence(ctx) })
	wg.Wait()
	r.update(func(s *state) {
		s.Starved, s.Repointed = append(deaf, deafToo...), astray
		if slices.Contains(astray, prepared) {
			s.Prepared = prepared
		}
	})
	if len(r.result.UndoLeft) > 0 {
		r.result.Leftover = r.leftover()
	}
	if len(r.result.Undone)+len(r.result.UndoLeft) > 0 {
		r.write(ctx, journal.StepUndone, StepUnset, "", fmt.Sprintf("undone: %v; left: %v", r.result.Undone, r.result.UndoLeft))
	}
}

func (r *run) undone(step StepName, target, words string, err error) {
	r.mu.Lock()
	if err != nil {
		words = fmt.Sprintf("%s: %s: %v", target, words, err)
		r.result.UndoLeft = append(r.result.UndoLeft, words)
	} else {
		words = target + ": " + words
		r.result.Undone = append(r.result.Undone, words)
	}
	r.mu.Unlock()
	r.report(Progress{Step: step, Target: target, State: StepUndone, Result: words, Err: err})
}

// undoCandidate puts the candidate and the siblings back where they were, and names
// those that it could not.
func (r *run) undoCandidate(ctx context.Context) (left []string) {
	left = r.follow(ctx, append(slices.Clone(r.state.Repointed), r.state.Prepared))
	if !r.undoSemiSync(ctx) && !slices.Contains(left, r.state.Prepared) {
		left = append(left, r.state.Prepared)
	}
	r.update(func(s *state) { s.Repointed, s.Prepared, s.Detour = nil, "", "" })
	return left
}

// follow makes replicas follow the old primary again, and names those that do not.
func (r *run) follow(ctx context.Context, names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, known := r.before(name)
		return !known
	})
	slices.Sort(names)
	names = slices.Compact(names)
	return failed(r.each(names, func(n *Node) error {
		before, _ := r.before(n.Name)
		err := r.putBack(ctx, n, before)
		r.undone(Prepare, n.Name, "follow "+hostPort(before.Host, before.Port)+" again", err)
		return err
	}))
}

// failed are the names that have an error, in order.
func failed(errs map[string]error) []string {
	var names []string
	for name, err := range errs {
		if err != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// untried are those of the nodes that have not failed as candidates: the others stay
// stopped.
func (r *run) untried(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), r.state.tried)
}

// undoSemiSync switches the candidate's semi-sync source side off, if we switched it
// on; false if it could not.
func (r *run) undoSemiSync(ctx context.Context) bool {
	n := r.nodes[r.state.Prepared]
	if n == nil || !r.state.SemiSync || r.state.SemiSyncBefore {
		return true
	}
	err := firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.SetSemiSyncSource(ctx, false) })
	if err != nil {
		r.undone(Prepare, n.Name, "have semi-sync off", err)
	}
	return err == nil
}

// putBack makes the channel point where it did and its SQL thread run; the
// receiver is left to receive, unless the channel has to be started as a whole.
func (r *run) putBack(ctx context.Context, n *Node, before channel) error {
	bounded, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	channels, err := n.Session.Channels(bounded)
	if err != nil {
		return err
	}
	if r.state.tried(n.Name) {
		if err := sourceOff(ctx, n, r.env.Statement); err != nil {
			return err
		}
	}
	if len(channels) != 1 {
		return mysql.ErrNotReplica
	}
	now := channels[0]
	if now.SourceHost != before.Host || now.SourcePort != before.Port {
		if err := stopReplication(ctx, n.Session, before.Name, r.env.Statement); err != nil {
			return err
		}
		options := mysql.SourceOptions{Channel: before.Name, Host: before.Host, Port: before.Port, HeartbeatPeriod: before.Heartbeat}
		if err := r.changeSource(ctx, n, r.env.Statement, options); err != nil {
			return err
		}
	}
	return firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.StartReplication(ctx, before.Name) })
}

// undoFence makes the old primary writable again, if it was. A statement of ours
// that is still pending is ended first.
func (r *run) undoFence(ctx context.Context) {
	f := r.state.Fence
	n := r.nodes[r.plan.OldPrimary]
	if f.State == FenceUntried || f.State == FenceUnreachable || n == nil {
		return
	}
	err := r.unfence(ctx, n, f)
	r.undone(Fence, n.Name, "be writable again", err)
	if err == nil {
		r.update(func(s *state) { s.Fence.State, s.Fence.Why = FenceUntried, "taken back" })
	}
}

func (r *run) unfence(ctx context.Context, n *Node, f fenceRecord) error {
	second, done := n.second()
	defer done()
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	for _, s := range []*mysql.Session{n.Session, n.Second} {
		if s == nil {
			continue
		}
		if _, _, pending := s.Pending(); !pending {
			continue
		}
		if err := s.Cancel(ctx); errors.Is(err, mysql.ErrPending) {
			return err
		}
	}
	v, err := second.Version(ctx)
	if err != nil {
		return err
	}
	if f.Known && f.ReadOnly {
		return nil
	}
	if v.Flavour == mysql.MySQL {
		if f.SemiSync {
			if err := second.SetSemiSyncSource(ctx, true); err != nil {
				return err
			}
		}
		if !f.Offline {
			if err := second.SetOfflineMode(ctx, false); err != nil {
				return err
			}
		}
	}
	if v.Flavour == mysql.MariaDB && f.Locked {
		// The session that took the global lock holds it, if it still lives.
		if err := again(func() error { return n.Session.SetReadOnly(ctx, false) }); err != nil {
			return err
		}
		if err := n.Session.UnlockTables(ctx); err != nil {
			return err
		}
	} else if err := second.SetReadOnly(ctx, false); err != nil {
		return err
	}
	flags, err := second.ReadFlags(ctx)
	if err != nil {
		return err
	}
	if !flags.Open() && !f.Offline {
		return fmt.Errorf("it is still read-only: read_only %s", flags.ReadOnly)
	}
	return nil
}

// receive starts the receivers of replicas that we stopped, and names those that it
// could not.
func (r *run) receive(ctx context.Context, names []string) []string {
	return failed(r.each(names, func(n *Node) error {
		before, known := r.before(n.Name)
		if known && !before.IO || r.state.tried(n.Name) && !known {
			return nil
		}
		err := firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.StartIO(ctx, before.Name) })
		const noSource = 1200
		if !known && (unreachable(err) || errors.Is(err, mysql.ErrNotReplica) || mysql.Number(err) == noSource) {
			// It could not be reached to be stopped either, or is no replica.
			return nil
		}
		r.undone(Starve, n.Name, "receive again", err)
		return err
	}))
}
