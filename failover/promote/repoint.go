package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

// settle does what follows the proving write: the promoted hook, forgetting the
// old source, repointing and verifying, side by side where they can be. For a new primary
// that is lost by then nobody waits: it is to be replaced.
func (r *run) settle(ctx context.Context, n *Node) {
	_, watch := attend(ctx, n, openSilentLimit)
	defer watch.stop()
	var wg sync.WaitGroup
	wg.Go(func() { r.announce(ctx, n, watch) })
	wg.Go(func() {
		r.repoint(ctx, n, watch)
		r.verify(ctx, watch)
		r.mendSemiSync(ctx, n, watch)
	})
	wg.Wait()
}

// announce runs the promoted hook and makes the new primary forget its source.
func (r *run) announce(ctx context.Context, n *Node, watch *attention) {
	_ = r.do(ctx, Announce, n.Name, 0, func(ctx context.Context) (string, error) {
		var wg sync.WaitGroup
		var resetErr error
		wg.Go(func() {
			ctx, end := watch.within(ctx)
			defer end()
			resetErr = firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error {
				channels, err := n.Session.Channels(ctx)
				if err != nil || len(channels) == 0 {
					return err
				}
				return n.Session.ResetReplication(ctx, channels[0].Name)
			})
		})
		report := r.fire(ctx, hooks.Promoted, "")
		wg.Wait()
		r.update(func(s *state) { s.Announced = true })
		if report.Aborts {
			r.warn("the promoted hook asks to abort; the new primary is open and stays so")
		}
		if resetErr != nil {
			r.warn(fmt.Sprintf("%s still has its old source configured: %v", n.Name, resetErr))
		}
		return "", nil
	})
}

// repoint makes the siblings follow the new primary. What cannot be repointed is
// reported; it never fails the plan. watch is the one over the new primary.
func (r *run) repoint(ctx context.Context, to *Node, watch *attention) {
	if len(r.plan.Siblings) == 0 {
		return
	}
	r.update(func(s *state) { s.Repointed = r.plan.Siblings })
	_ = r.do(ctx, Repoint, "", 0, func(ctx context.Context) (string, error) {
		if r.repoints == nil {
			r.startRepointing(ctx, to, nil)
		}
		defer watch.onEnd(r.stopRepoints)()
		r.awaitRepoints()
		done := 0
		for _, name := range r.plan.Siblings {
			if p := r.repoints[name]; p != nil && p.result.Done {
				done++
			}
		}
		r.semiSyncLater(ctx, to, done)
		return fmt.Sprintf("%d of %d follow %s", done, len(r.plan.Siblings), to.Name), nil
	})
}

// semiSyncLater switches semi-sync on after open, once enough siblings are attached.
func (r *run) semiSyncLater(ctx context.Context, to *Node, attached int) {
	r.mu.Lock()
	later := r.state.SemiSyncLater && !r.stalled
	r.mu.Unlock()
	if !later {
		return
	}
	if needed := r.neededAcks(ctx, to); attached < needed {
		r.result.SemiSyncPending = true
		r.warn(fmt.Sprintf("%s runs without semi-sync: %d of %d replicas are attached", to.Name, attached, needed))
		return
	}
	err := firmly(ctx, to.Session, r.env.Statement, func(ctx context.Context) error { return to.Session.SetSemiSyncSource(ctx, true) })
	if err != nil {
		r.warn(fmt.Sprintf("semi-sync could not be switched on: %v", err))
	}
}

// neededAcks is how many acknowledgements a commit on the new primary waits for.
func (r *run) neededAcks(ctx context.Context, to *Node) int {
	bounded, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	semi, err := to.Session.SemiSync(bounded)
	if err != nil {
		return 1
	}
	return int(max(semi.WaitCount, 1))
}

// verify waits for the proving write on each repointed sibling, as long as the new
// primary is there.
func (r *run) verify(ctx context.Context, watch *attention) {
	var names []string
	for _, name := range r.plan.Siblings {
		if p := r.repoints[name]; p != nil && p.result.Done {
			names = append(names, name)
		}
	}
	demoted := r.result.Demoted
	if demoted != nil && demoted.Done {
		names = append(names, demoted.Node)
	}
	if len(names) > 0 {
		_ = r.do(ctx, Verify, "", 0, func(ctx context.Context) (string, error) {
			ctx, done := watch.within(ctx)
			defer done()
			errs := r.each(names, func(n *Node) error { return r.verifyOne(ctx, n) })
			good := 0
			var delayed []string
			for _, name := range names {
				err := errs[name]
				switch {
				case err == nil && r.delayed(ctx, r.nodes[name]):
					delayed = append(delayed, name)
					continue
				case err == nil:
					good++
					continue
				}
				result := demoted
				if p := r.repoints[name]; p != nil {
					result = &p.result
				}
				result.Done, result.Err, result.Error = false, err, err.Error()
				r.report(Progress{Step: Verify, Target: name, State: StepFailed, Err: err})
			}
			words := fmt.Sprintf("the proving write arrived on %d of %d", good, len(names)-len(delayed))
			if len(delayed) > 0 {
				words += fmt.Sprintf(", and is not waited for on %s, which applies late on purpose", strings.Join(delayed, ", "))
			}
			return words, nil
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Siblings = nil
	for _, name := range r.plan.Siblings {
		if p := r.repoints[name]; p != nil {
			r.result.Siblings = append(r.result.Siblings, p.result)
		}
	}
}

// verifyOne: the proving write has arrived, unless the replica is to be late, and both
// threads run.
func (r *run) verifyOne(ctx context.Context, n *Node) error {
	ctx, watch := attend(ctx, n, silentLimit)
	defer watch.stop()
	err := r.arrived(ctx, n)
	if err != nil && isSilent(ctx) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

func (r *run) arrived(ctx context.Context, n *Node) error {
	deadline := time.Now().Add(r.env.Verify)
	if r.delayed(ctx, n) {
		return awaitRunning(ctx, n, r.env.Statement, deadline)
	}
	for r.state.Proof != "" {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%w (%v): the proving write %s has not arrived", ErrTimeout, r.env.Verify, r.state.Proof)
		}
		slice := min(left, waitSlice)
		bounded, cancel := context.WithTimeout(ctx, slice+r.env.Statement)
		reached, err := n.Session.WaitForGTID(bounded, r.state.Proof, slice)
		cancel()
		if err != nil {
			return err
		}
		if reached {
			break
		}
		if err := running(ctx, n.Session, r.env.Statement); err != nil && !errors.Is(err, errStarting) {
			return err
		}
	}
	return awaitRunning(ctx, n, r.env.Statement, deadline)
}

// delayed tells whether a replica applies so late on purpose that the proving write is
// not waited for.
func (r *run) delayed(ctx context.Context, n *Node) bool {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	channels, err := n.Session.Channels(ctx)
	return err == nil && len(channels) == 1 && channels[0].Delay >= r.env.Verify
}

// awaitRunning waits until both threads of a replica run.
func awaitRunning(ctx context.Context, n *Node, limit time.Duration, deadline time.Time) error {
	for {
		err := running(ctx, n.Session, limit)
		if !errors.Is(err, errStarting) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %w", ErrTimeout, err)
		}
		pause(ctx, attachPoll)
	}
}

// errStarting is a replica whose receiver is not connected yet.
var errStarting = errors.New("its receiver is connecting")

// running tells whether both threads of a replica run.
func running(ctx context.Context, s *mysql.Session, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	channels, err := s.Channels(ctx)
	if err != nil {
		return err
	}
	if len(channels) == 0 {
		return mysql.ErrNotReplica
	}
	c := channels[0]
	switch {
	case c.SQL != mysql.ThreadYes:
		return fmt.Errorf("its SQL thread is stopped with error %d: %s", c.SQLErrno, c.SQLError)
	case c.IO == mysql.ThreadYes:
		return nil
	case c.IO == mysql.ThreadNo:
		return fmt.Errorf("its receiver is stopped with error %d: %s", c.IOErrno, c.IOError)
	default:
		return errStarting
	}
}

// RepointNode makes a replica follow the primary, keeping its channel's options: for
// nodes that a plan had to leave behind. Both threads are stopped for it, so that
// what the replica received and did not apply is fetched again from the primary.
func RepointNode(ctx context.Context, env Env, node, primary string) NodeResult {
	r := newRun(env, Plan{Candidate: primary, Siblings: []string{node}})
	r.mending = true
	p := &repointing{attached: make(chan struct{}), done: make(chan struct{}), result: NodeResult{Node: node}}
	to := r.nodes[primary]
	if to == nil {
		err := fmt.Errorf("%s is not a configured node", primary)
		return NodeResult{Node: node, Err: err, Error: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, r.env.Repoint)
	defer cancel()
	r.repointOne(ctx, r.nodes[node], to, nil, p)
	if p.result.Done {
		r.wantedSemiSync(ctx, to)
	}
	return p.result
}

// ForgetSource makes a primary forget the source that it no longer follows: it
// changes nothing where one of the channel's threads runs.
func ForgetSource(ctx context.Context, env Env, node, name string) error {
	n := env.node(node)
	if n == nil {
		return fmt.Errorf("%s is not a configured node", node)
	}
	return firmly(ctx, n.Session, env.withDefaults().Statement, func(ctx context.Context) error {
		channels, err := n.Session.Channels(ctx)
		if err != nil {
			return err
		}
		for _, c := range channels {
			if c.Name == name && (c.IO != mysql.ThreadNo || c.SQL == mysql.ThreadYes) {
				return fmt.Errorf("its receiver is %s and its applier %s: they were started again", c.IO, c.SQL)
			}
		}
		return n.Session.ResetReplication(ctx, name)
	})
}

// wantedSemiSync switches the primary's source side on where it is wanted and off.
func (r *run) wantedSemiSync(ctx context.Context, to *Node) {
	if !r.env.SemiSyncWanted {
		return
	}
	semi, err := to.Session.SemiSync(ctx)
	if err == nil && semi.SourceInstalled && !semi.SourceEnabled && (semi.WaitCount <= 1 || r.acknowledgers(ctx, to) >= int(semi.WaitCount)) {
		err = firmly(ctx, to.Session, r.env.Statement, func(ctx context.Context) error { return to.Session.SetSemiSyncSource(ctx, true) })
	}
	if err != nil {
		r.warn(fmt.Sprintf("semi-sync could not be switched on: %v", err))
	}
}
