package promote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"failwise/failover/gtid"
	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

// survey reads all nodes and settles the candidate of a switch.
func (r *run) survey(ctx context.Context) (old mysql.Status, readings []Reading, candidate string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	all := r.readAll(ctx, append([]string{r.plan.OldPrimary}, r.replicas()...))
	primary, readings := all[0], all[1:]
	if primary.Err != nil {
		return old, nil, "", fmt.Errorf("%w: the primary cannot be read: %w", ErrPreflight, primary.Err)
	}
	old = primary.Status
	r.env.Seen.Progress = old.Progress()
	if semi, known := old.SemiSync.Get(); known {
		r.env.Seen.SemiSyncEnabled, r.env.Seen.SemiSync = semi.SourceEnabled, semi.SourceEnabled && semi.SourceActive
		r.env.Seen.SemiSyncReplicas, r.env.Seen.WaitCount = int(semi.Clients), int(semi.WaitCount)
	}
	choice, err := r.env.Choose(Question{OldPrimary: r.plan.OldPrimary, Readings: readings, Seen: r.env.Seen})
	if err != nil {
		return old, readings, "", fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	candidate, err = r.pick(choice)
	if err != nil {
		return old, readings, "", fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	return old, readings, candidate, nil
}

// readAll reads nodes in parallel and gives their readings in the given order.
func (r *run) readAll(ctx context.Context, names []string) []Reading {
	list := make([]Reading, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		list[i].Node = name
		n := r.nodes[name]
		wg.Go(func() {
			list[i].Err = again(func() (err error) {
				list[i].Status, err = n.Session.Status(ctx)
				return err
			})
		})
	}
	wg.Wait()
	return list
}

// change runs the steps of a switch.
func (r *run) change(ctx context.Context) error {
	picked, err := r.preflight(ctx)
	if err != nil {
		return err
	}
	if err := r.near(ctx, picked.node); err != nil {
		return err
	}
	position, err := r.block(ctx)
	if err != nil {
		return err
	}
	if err := r.awaitAll(ctx, picked.node, position); err != nil {
		return err
	}
	err = r.handOver(ctx, picked)
	if err != nil && !r.state.Opened {
		return err
	}
	r.result.WritesBlocked = time.Since(r.blocked)
	r.result.WritesBlockedMS = float64(r.result.WritesBlocked.Microseconds()) / 1000
	if err != nil {
		return err
	}
	return r.switched(ctx, picked.node)
}

// handOver opens the candidate of a switch. One that answers nobody on the way is
// given up.
func (r *run) handOver(ctx context.Context, picked chosen) error {
	attended, stop := r.attendCandidate(ctx, picked.node, silentLimit)
	defer stop()
	if err := r.prepare(attended, picked); err != nil {
		return err
	}
	if err := r.stillBlocked(ctx); err != nil {
		return err
	}
	r.attended.give(r.env.Statement + cancelLimit)
	return r.openAndProve(attended, picked.node)
}

// stillBlocked makes sure, at the last moment, that nothing was written since: a
// session that was lost has taken its global lock with it.
func (r *run) stillBlocked(ctx context.Context) error {
	n := r.nodes[r.plan.OldPrimary]
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	v, err := n.Session.Version(ctx)
	if err == nil {
		var now string
		if now, err = final(ctx, n.Session, v.Flavour); err == nil && now != r.state.Final {
			err = fmt.Errorf("it went from %s to %s although writes are blocked", r.state.Final, now)
		}
	}
	if err == nil && n.Session.ConnectionID() != r.blocker {
		err = errors.New("the session that blocks writes was lost")
	}
	if err != nil {
		return &StepError{Step: Block, Target: n.Name, Err: err}
	}
	return nil
}

// switched does what follows the new primary's first write.
func (r *run) switched(ctx context.Context, n *Node) error {
	_, watch := attend(ctx, n, openSilentLimit)
	defer watch.stop()
	var wg sync.WaitGroup
	wg.Go(func() { r.announce(ctx, n, watch) })
	wg.Go(func() { r.demoteOld(ctx, n) })
	wg.Go(func() { r.repoint(ctx, n, watch) })
	wg.Wait()
	r.verify(ctx, watch)
	r.mendSemiSync(ctx, n, watch)
	return r.finish(ctx)
}

// preflight refuses what would not work, or not quickly.
func (r *run) preflight(ctx context.Context) (chosen, error) {
	var picked chosen
	err := r.do(ctx, Preflight, r.plan.Candidate, 0, func(ctx context.Context) (string, error) {
		old, readings, name, err := r.survey(ctx)
		if err != nil {
			return "", err
		}
		if name != r.plan.Candidate {
			return "", fmt.Errorf("%w: the candidate is now %s, not %s: plan again", ErrPreflight, name, r.plan.Candidate)
		}
		for _, reading := range readings {
			if reading.Err != nil {
				continue
			}
			if c, err := soleChannel(reading.Status); err == nil {
				r.update(func(s *state) { s.Before[reading.Node] = channelOf(c) })
			}
			if reading.Node == name {
				picked = chosen{node: r.nodes[name], reading: reading}
			}
		}
		if !old.Writable() {
			return "", fmt.Errorf("%w: %s is not writable, so it is not the primary", ErrPreflight, r.plan.OldPrimary)
		}
		if r.env.Account.User == "" {
			return "", fmt.Errorf("%w: %s could not follow the new primary: set replication.user and replication.password_file", ErrPreflight, r.plan.OldPrimary)
		}
		c, err := soleChannel(picked.reading.Status)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrPreflight, name, err)
		}
		if c.IO != mysql.ThreadYes || c.SQL != mysql.ThreadYes {
			return "", fmt.Errorf("%w: %s does not replicate: its receiver is %s (error %d), its SQL thread %s (error %d)", ErrPreflight, name, c.IO, c.IOErrno, c.SQL, c.SQLErrno)
		}
		lag, known := c.Lag.Get()
		if !known || lag > r.env.MaxLag {
			return "", fmt.Errorf("%w: %s lags %v, at most %v is allowed: wait, or name another node with --to", ErrPreflight, name, lag, r.env.MaxLag)
		}
		long, err := r.nodes[r.plan.OldPrimary].Session.Transactions(ctx, r.env.LongTransaction)
		if err == nil && len(long) > 0 {
			return "", fmt.Errorf("%w: session %d on %s has a transaction open since %v: end it or wait", ErrPreflight, long[0].ProcessID, r.plan.OldPrimary, long[0].Age)
		}
		if err != nil {
			r.warn(fmt.Sprintf("long transactions could not be looked for: %v", err))
		}
		r.update(func(s *state) {
			s.Loss = Loss{NoLoss: true, SemiSync: r.env.Seen.SemiSync, Why: "writes are blocked until the new primary has all"}
		})
		return name, nil
	})
	return picked, err
}

const (
	// nearEnough is how long the candidate may need for what the primary has at a
	// moment: about what clients will wait for.
	nearEnough = 50 * time.Millisecond
	nearRounds = 20
)

// near waits, with writes still open, until the candidate is close behind: what it
// lacks when writes are blocked is what clients wait for. A candidate that stays
// behind is used nevertheless; the limit on blocking protects the clients.
func (r *run) near(ctx context.Context, n *Node) error {
	old := r.nodes[r.plan.OldPrimary]
	v, err := old.Session.Version(ctx)
	if err != nil {
		return &StepError{Step: Preflight, Target: old.Name, Err: err}
	}
	for range nearRounds {
		bounded, cancel := context.WithTimeout(ctx, r.env.MaxLag+r.env.Statement)
		position, err := final(bounded, old.Session, v.Flavour)
		begun := time.Now()
		reached := false
		if err == nil {
			reached, err = n.Session.WaitForGTID(bounded, position, r.env.MaxLag)
		}
		cancel()
		switch {
		case err != nil:
			return &StepError{Step: Preflight, Target: n.Name, Err: err}
		case !reached:
			return &StepError{Step: Preflight, Target: n.Name, Err: fmt.Errorf("%w: it is more than %v behind", ErrPreflight, r.env.MaxLag)}
		case time.Since(begun) <= nearEnough:
			return nil
		}
	}
	r.note(Preflight, n.Name, "it stays behind; writes will be blocked until it has caught up")
	return nil
}

// block stops new writes on the primary and gives its final position in the form
// of WaitForGTID.
func (r *run) block(ctx context.Context) (string, error) {
	n := r.nodes[r.plan.OldPrimary]
	var position string
	r.update(func(s *state) {
		s.Fence = fenceRecord{State: FencePending, Why: "blocked for a switch", Known: true, Locked: true}
	})
	err := r.do(ctx, Block, n.Name, 0, func(ctx context.Context) (string, error) {
		if r.env.Hooks.Has(hooks.Fence) {
			report := r.env.Hooks.Fire(ctx, r.call(hooks.Fence, ""))
			if err := report.Err(); err != nil {
				r.warn(err.Error())
			}
			if report.Aborts {
				return "", fmt.Errorf("%w: %w", ErrHook, report.Err())
			}
		}
		v, err := n.Session.Version(ctx)
		if err != nil {
			return "", err
		}
		r.blocked = time.Now()
		if v.Flavour == mysql.MariaDB {
			if err := firmly(ctx, n.Session, r.env.Block, n.Session.LockTables); err != nil {
				return "", err
			}
		}
		if err := firmly(ctx, n.Session, r.env.Block, n.Session.SetReadOnlyFirmly); err != nil {
			return "", err
		}
		bounded, cancel := context.WithTimeout(ctx, r.env.Statement)
		defer cancel()
		flags, err := n.Session.ReadFlags(bounded)
		if err != nil {
			return "", err
		}
		if !flags.Fenced(v.Flavour) {
			return "", fmt.Errorf("it is still writable: read_only %s, super_read_only %v", flags.ReadOnly, flags.SuperReadOnly)
		}
		if position, err = final(bounded, n.Session, v.Flavour); err != nil {
			return "", err
		}
		r.blocker = n.Session.ConnectionID()
		r.update(func(s *state) {
			s.Fence.State, s.Fence.Why, s.Final = FenceProved, "read_only was read back as "+flags.ReadOnly.String(), position
		})
		return "final position " + position, nil
	})
	return position, err
}

// final is all that a blocked primary has executed.
func final(ctx context.Context, s *mysql.Session, flavour mysql.Flavour) (string, error) {
	name := "gtid_executed"
	if flavour == mysql.MariaDB {
		name = "gtid_binlog_pos"
	}
	values, err := s.Globals(ctx, name)
	return values[name], err
}

// awaitAll waits until the candidate has executed everything; else the switch is
// taken back.
func (r *run) awaitAll(ctx context.Context, n *Node, position string) error {
	return r.do(ctx, CatchUp, n.Name, 0, func(ctx context.Context) (string, error) {
		left := r.env.Block - time.Since(r.blocked)
		if left <= 0 {
			return "", fmt.Errorf("%w (%v): no time left after blocking writes", ErrTimeout, r.env.Block)
		}
		bounded, cancel := context.WithTimeout(ctx, left+r.env.Statement)
		defer cancel()
		reached, err := n.Session.WaitForGTID(bounded, position, left)
		if err != nil {
			return "", err
		}
		if !reached {
			return "", fmt.Errorf("%w (%v): it has not executed everything", ErrTimeout, r.env.Block)
		}
		return "has executed everything", nil
	})
}

// demoteOld makes the old primary a replica of the new one. On MariaDB the global
// lock is held until its clients are gone: those with READ ONLY ADMIN would
// write through read_only.
func (r *run) demoteOld(ctx context.Context, to *Node) {
	n := r.nodes[r.plan.OldPrimary]
	result := NodeResult{Node: n.Name}
	err := r.do(ctx, Demote, n.Name, 0, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, r.env.Repoint)
		defer cancel()
		second, done := n.second()
		defer done()
		if _, err := second.KillClients(ctx, n.Session.ConnectionID()); err != nil {
			r.warn(fmt.Sprintf("%s: not all sessions could be ended: %v", n.Name, err))
		}
		v, err := n.Session.Version(ctx)
		if err != nil {
			return "", err
		}
		if v.Flavour == mysql.MariaDB {
			// A session that was lost has let go of the lock by itself.
			if err := again(func() error { return n.Session.UnlockTables(ctx) }); err != nil {
				return "", err
			}
		}
		if err := firmly(ctx, n.Session, r.env.Statement, n.Session.SetReadOnlyFirmly); err != nil {
			return "", err
		}
		st, err := n.Session.Status(ctx)
		if err != nil {
			return "", err
		}
		if len(st.Channels.Or(nil)) == 0 {
			if extra, err := beyond(st, r.state.Final); err != nil || extra != "" {
				return "", errors.Join(err, fmt.Errorf("%w: it has transactions that came after writes were blocked: %s", ErrDiverged, extra))
			}
		}
		if err := r.demote(ctx, n, to, st, r.wantsSemiSync()); err != nil {
			return "", err
		}
		r.update(func(s *state) { s.Demoted = true })
		return "follows " + to.Name, nil
	})
	result.Done = err == nil
	if err != nil {
		result.Err, result.Error = err, err.Error()
	}
	r.mu.Lock()
	r.result.Demoted = &result
	r.mu.Unlock()
}

// beyond names what a server executed after its final position.
func beyond(st mysql.Status, position string) (string, error) {
	if position == "" {
		return "", nil
	}
	if st.Version.Flavour == mysql.MariaDB {
		at, err := gtid.ParsePosition(position)
		if err != nil || at.Reaches(st.BinlogPos) {
			return "", err
		}
		return st.BinlogPos.String(), nil
	}
	at, err := gtid.Parse(position)
	if err != nil {
		return "", err
	}
	return st.Executed.Subtract(at).String(), nil
}
