package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

const (
	// headStart is how long the flags before may take to be read before the fence is
	// sent anyway: on a hung server nothing is answered, and a fence that takes
	// effect when it thaws is worth more than the knowledge.
	headStart = 100 * time.Millisecond
	// killAgain is the pause between rounds of ending client sessions while
	// read_only still waits for running writes.
	killAgain = 50 * time.Millisecond
	// semiSyncAfter is how long MySQL's super_read_only may wait for killed commits
	// before semi-sync is switched off: a commit that waits for an acknowledgement
	// holds it up, and its client must be gone before that commit is let through.
	semiSyncAfter = 300 * time.Millisecond
)

// fenceOld fences the old primary and every node that fell during this plan, and
// asks the hook. It fails where proof is required and there is none.
func (r *run) fenceOld(ctx context.Context) error {
	targets := append([]string{r.plan.OldPrimary}, r.state.Fallen...)
	return r.do(ctx, Fence, r.plan.OldPrimary, 0, func(ctx context.Context) (string, error) {
		var old fenceRecord
		fallen := map[string]fenceRecord{}
		var mu sync.Mutex
		r.each(targets, func(n *Node) error {
			record := r.fenceNode(ctx, n, r.patience(n))
			mu.Lock()
			defer mu.Unlock()
			if n.Name == r.plan.OldPrimary {
				old = record
			} else {
				fallen[n.Name] = record
				r.note(Fence, n.Name, record.State.String()+": "+record.Why)
			}
			return nil
		})
		if r.resumed {
			// What it is now may be an earlier process's work.
			old.Known = false
		}
		r.update(func(s *state) { s.Fence = old.over(s.Fence) })
		if old.State == FenceProved {
			if err := r.lastWords(ctx); err != nil {
				return "", err
			}
		}
		fence := r.state.Fence
		if len(fallen) == 0 || fence.State != FenceProved { // else the hook has been asked already
			var err error
			fence, err = r.fenceHook(ctx, r.plan.OldPrimary, fence)
			r.update(func(s *state) { s.Fence = fence })
			if err != nil {
				return "", err
			}
		}
		for name, record := range fallen {
			if _, err := r.fenceHook(ctx, name, record); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
		}
		return fence.State.String() + ": " + fence.Why, nil
	})
}

// fenceHook asks the fence hook for a node, which may prove the fence, and fails where
// proof is required and there is none.
func (r *run) fenceHook(ctx context.Context, node string, fence fenceRecord) (fenceRecord, error) {
	if r.env.Hooks.Has(hooks.Fence) {
		call := r.call(hooks.Fence, "")
		call.OldPrimary = r.address(node)
		report := r.env.Hooks.Fire(ctx, call)
		if err := report.Err(); err != nil {
			r.warn(err.Error())
		}
		if report.Aborts {
			return fence, fmt.Errorf("%w: %w", ErrHook, report.Err())
		}
		if report.Proof {
			fence.State, fence.Why = FenceProved, "the fence hook ended with status 0; by SQL: "+fence.Why
		}
	}
	if fence.State != FenceProved && r.env.FenceRequire == RequireProof {
		return fence, fmt.Errorf("%w, and proof is required: %s: %s", ErrNotFenced, fence.State, fence.Why)
	}
	return fence, nil
}

// lastWords reads what a fenced old primary has executed in the end: from then on
// the loss is known exactly.
func (r *run) lastWords(ctx context.Context) error {
	n := r.nodes[r.plan.OldPrimary]
	second, done := n.second()
	defer done()
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	st, err := second.Status(ctx)
	if err != nil {
		r.note(Fence, n.Name, "what it executed last could not be read: "+err.Error())
		return nil
	}
	r.update(func(*state) { r.env.Seen.Progress = st.Progress() })
	if r.picked.node == nil {
		return nil
	}
	held := r.state.Loss.NoLoss
	timeout := time.Duration(st.SemiSync.Or(mysql.SemiSync{}).TimeoutMS) * time.Millisecond
	loss := r.lossReport(r.picked)
	switch {
	case loss.Count == 0:
		loss.NoLoss, loss.Why = true, "the old primary is fenced and has nothing that the candidate has not received"
	case held && time.Since(r.started) < timeout:
		loss.NoLoss = true
		loss.Why = "semi-sync was in sync: these waited for an acknowledgement when the old primary was fenced, and no client was told that they succeeded"
	default:
		loss.NoLoss, loss.Why = false, "read from the fenced old primary: some of these may have been acknowledged"
	}
	r.update(func(s *state) { s.Loss = loss })
	if loss.Count > 0 {
		r.note(Fence, n.Name, fmt.Sprintf("%d transactions of the old primary are on no candidate: %s: %s", loss.Count, loss.Known, loss.Why))
	}
	return r.bearable(loss)
}

// over keeps what is known from an earlier look at the flags before.
func (f fenceRecord) over(earlier fenceRecord) fenceRecord {
	if earlier.Known {
		f.Known, f.ReadOnly, f.SuperReadOnly, f.Offline = true, earlier.ReadOnly, earlier.SuperReadOnly, earlier.Offline
	}
	f.SemiSync = f.SemiSync || earlier.SemiSync
	f.Locked = f.Locked || earlier.Locked
	if f.State == FenceUnreachable && earlier.State == FenceProved {
		f.State, f.Why = FenceProved, earlier.Why+"; out of reach since"
	}
	return f
}

// fenceNode makes one server refuse writes: read_only from one session while the
// clients' sessions are ended from another, since each waits for the other.
func (r *run) fenceNode(ctx context.Context, n *Node, limit time.Duration) fenceRecord {
	first, second, done := n.fencers()
	defer done()
	return fence(ctx, first, second, n, limit)
}

// fallenLimit bounds the fence of a node that was just lost: it answered nobody or
// refused, and writers wait.
const fallenLimit = time.Second

// patience is how long the fence of a node may take.
func (r *run) patience(n *Node) time.Duration {
	if slices.Contains(r.state.Fallen, n.Name) {
		return min(fallenLimit, r.env.Fence)
	}
	return r.env.Fence
}

// fencers are two sessions for a fence, those that are free first: one that hangs in
// an earlier look at the server would never send anything. A session of its own is
// opened for what is missing, and closed by done.
func (n *Node) fencers() (first, second *mysql.Session, done func()) {
	var free, own []*mysql.Session
	for _, s := range []*mysql.Session{n.Session, n.Second} {
		if s == nil {
			continue
		}
		if _, _, busy := s.Pending(); !busy {
			free = append(free, s)
		}
	}
	// The first one's statement takes effect when a hung server goes on, if it was sent.
	slices.SortStableFunc(free, func(a, b *mysql.Session) int {
		switch {
		case a.Connected() == b.Connected():
			return 0
		case a.Connected():
			return -1
		default:
			return 1
		}
	})
	for len(free) < 2 {
		s := n.Session.Sibling()
		free, own = append(free, s), append(own, s)
	}
	return free[0], free[1], func() {
		for _, s := range own {
			_ = s.Close()
		}
	}
}

// ours are the sessions that a fence of the node leaves alone.
func (n *Node) ours(more ...*mysql.Session) []*mysql.Session {
	list := append(more, n.Session)
	if n.Second != nil {
		list = append(list, n.Second)
	}
	return list
}

// second is the node's second session, and what to do when it is not needed any more.
func (n *Node) second() (*mysql.Session, func()) {
	if n.Second != nil {
		return n.Second, func() {}
	}
	s := n.Session.Sibling()
	return s, func() { _ = s.Close() }
}

// fence works within limit. first is left alone when its statement is pending:
// the statement may still take effect, and its session must stay open for that.
func fence(ctx context.Context, first, second *mysql.Session, n *Node, limit time.Duration) (record fenceRecord) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	flags := make(chan error, 1)
	var before mysql.Flags
	go func() {
		err := again(func() (err error) {
			before, err = second.ReadFlags(ctx)
			return err
		})
		flags <- err
	}()
	timer := time.NewTimer(headStart)
	defer timer.Stop()
	asked := true
	select {
	case err := <-flags:
		asked = false
		if unreachable(err) {
			return fenceRecord{State: FenceUnreachable, Why: err.Error()}
		}
		if err == nil {
			record.Known = true
			record.ReadOnly, record.SuperReadOnly, record.Offline = !before.ReadOnly.Writable(), before.SuperReadOnly, before.OfflineMode
		}
	case <-timer.C:
	}
	set := make(chan error, 1)
	go func() { set <- anew(ctx, func() error { return first.SetReadOnlyFirmly(ctx) }) }()
	if asked {
		if err := <-flags; err != nil {
			return pendingOr(record, err, <-set)
		}
	}
	version, err := second.Version(ctx)
	if err != nil {
		return pendingOr(record, err, <-set)
	}
	if version.Flavour == mysql.MySQL {
		if err := second.SetOfflineMode(ctx, true); err != nil && mysql.Number(err) == 0 {
			return pendingOr(record, err, <-set)
		}
	}
	awaitSent(ctx, first, second, set)
	setErr, killErr := endClients(ctx, second, n.ours(first, second), version.Flavour, set, &record)
	now, err := second.ReadFlags(ctx)
	switch {
	case err != nil:
		return pendingOr(record, err, setErr)
	case now.Fenced(version.Flavour):
		record.State, record.Why = FenceProved, "read_only was read back as "+now.ReadOnly.String()
		if version.Flavour == mysql.MySQL {
			record.Why = "super_read_only was read back as ON"
		}
		if killErr != nil {
			record.Why += fmt.Sprintf(" (not all sessions could be ended: %v)", killErr)
		}
	case errors.Is(setErr, mysql.ErrPending):
		record.State, record.Why = FencePending, "read_only is still waiting for running writes"
	default:
		record.State, record.Why = FenceFailed, fmt.Sprintf("read_only is still off: %v", setErr)
	}
	return record
}

// endClients ends the clients' sessions again and again until read_only is set
// or the time is over. It gives the setting's own result.
func endClients(ctx context.Context, second *mysql.Session, ours []*mysql.Session, flavour mysql.Flavour, set <-chan error, record *fenceRecord) (setErr, killErr error) {
	begun := time.Now()
	semiSyncOff := false
	ticker := time.NewTicker(killAgain)
	defer ticker.Stop()
	for {
		killErr = killAll(ctx, second, ours)
		select {
		case setErr = <-set:
			// One more round: who logged in before the flag took effect.
			if setErr == nil {
				killErr = killAll(ctx, second, ours)
			}
			return setErr, killErr
		case <-ticker.C:
		}
		if flavour == mysql.MySQL && !semiSyncOff && time.Since(begun) >= semiSyncAfter {
			semiSyncOff = true
			if semi, err := second.SemiSync(ctx); err == nil && semi.SourceEnabled {
				record.SemiSync = true
				_ = second.SetSemiSyncSource(ctx, false)
			}
		}
	}
}

// ackWait is how MariaDB shows a session that waits for an acknowledgement.
const ackWait = "Waiting for semi-sync ACK from slave"

// killAll ends the sessions of all clients, those that wait for an acknowledgement
// last. With the wait point AFTER_SYNC one session of MariaDB waits on behalf of
// its whole commit group: were it ended first, the others of the group would tell
// their clients success, with their rows on no replica.
func killAll(ctx context.Context, second *mysql.Session, ours []*mysql.Session) error {
	list, err := second.Processes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, waiting := range []bool{false, true} {
		for _, p := range list {
			own := slices.ContainsFunc(ours, func(s *mysql.Session) bool { return s.ConnectionID() == p.ID })
			if !p.Client() || own || (p.State == ackWait) != waiting {
				continue
			}
			if err := second.Kill(ctx, p.ID); err != nil {
				errs = append(errs, err)
				if ctx.Err() != nil {
					return errors.Join(errs...)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// sendLimit is how long the first session may take to send its statement before the
// second one begins to end sessions: one that is only logging in is not known as ours.
const sendLimit = 500 * time.Millisecond

// awaitSent waits a moment until the server has begun with the first session's
// statement: from then on no new write gets through.
func awaitSent(ctx context.Context, first, second *mysql.Session, set <-chan error) {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	for looks := 0; ctx.Err() == nil && len(set) == 0 && looks < 20; pause(ctx, time.Millisecond) {
		if _, _, pending := first.Pending(); !pending {
			continue
		}
		looks++
		list, err := second.Processes(ctx)
		if err != nil {
			return
		}
		for _, p := range list {
			if p.ID == first.ConnectionID() && p.Command == "Query" {
				return
			}
		}
	}
}

// pendingOr is the verdict where the second session got no answer: what the first
// one got decides.
func pendingOr(record fenceRecord, err, setErr error) fenceRecord {
	switch {
	case errors.Is(setErr, mysql.ErrPending), setErr == nil:
		record.State, record.Why = FencePending, "the statement was sent and cannot be read back: "+err.Error()
	case unreachable(setErr):
		record.State, record.Why = FenceUnreachable, setErr.Error()
	default:
		record.State, record.Why = FenceFailed, setErr.Error()
	}
	return record
}

// refence goes back to fence when the old primary has been seen online before
// the new one was opened. A fence that is proved stands.
func (r *run) refence(ctx context.Context) error {
	if r.attended != nil {
		ctx = r.attended.asked // a silent candidate does not end the fence of another node
	}
	if r.env.OldOnline == nil || !r.env.OldOnline() || r.state.Opened {
		return nil
	}
	if r.state.Fence.State == FenceProved {
		return nil
	}
	r.note(Fence, r.plan.OldPrimary, "the old primary was seen online: back to fence")
	if err := r.fenceOld(ctx); err != nil {
		return err
	}
	if r.state.Fence.State != FenceProved {
		return &StepError{Step: Fence, Target: r.plan.OldPrimary, Err: fmt.Errorf("%w, and it was seen online: %s: %s",
			ErrNotFenced, r.state.Fence.State, r.state.Fence.Why)}
	}
	return nil
}
