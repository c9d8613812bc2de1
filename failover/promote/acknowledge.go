package promote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

// Commits of a new primary wait for acknowledgements for the whole semi-sync timeout
// where the replica that was attached for them is lost in the middle of the promotion.
// Semi-sync is then off until one is attached again, as where none was at first. What
// becomes of commits later, in everyday life, is for the user's timeout.

// mendSemiSync makes sure, once the siblings are served, that commits are acknowledged by
// somebody or wait for nobody. A new primary that is lost meanwhile has none.
func (r *run) mendSemiSync(ctx context.Context, n *Node, watch *attention) {
	ctx, end := watch.within(context.WithoutCancel(ctx))
	defer end()
	if isSilent(ctx) {
		return
	}
	there := -1
	if r.semiSyncOn() {
		there = r.mendStalled(ctx, n)
	}
	r.mu.Lock()
	stalled := r.stalled
	r.stalled = false
	r.mu.Unlock()
	if !stalled {
		return
	}
	if there < 0 { // it was switched off before the siblings were served
		there = r.following()
	}
	r.semiSyncLater(ctx, n, there)
}

// following counts the siblings that were verified, and the old primary of a switch.
func (r *run) following() int {
	count := 0
	for _, p := range r.repoints {
		if p.result.Done {
			count++
		}
	}
	if d := r.result.Demoted; d != nil && d.Done {
		count++
	}
	return count
}

// mendStalled is unstall for clients' writes, which are tried out by one of our own. It
// gives the number of acknowledgers.
func (r *run) mendStalled(ctx context.Context, n *Node) int {
	s := n.Session.Sibling()
	defer func() { _ = s.Close() }() // what was sent is answered, or not wanted
	waits := make(chan bool, 1)
	go func() {
		bounded, cancel := context.WithTimeout(ctx, silentLimit)
		defer cancel()
		_, err := s.Prove(bounded, r.env.Watcher)
		waits <- errors.Is(err, mysql.ErrPending)
	}()
	there := r.acknowledgers(ctx, n)
	if <-waits {
		r.switchOff(ctx, n, there)
	}
	return there
}

// semiSyncOn tells whether commits on the new primary wait for acknowledgements.
func (r *run) semiSyncOn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.SemiSync && !r.state.SemiSyncLater
}

// unstallLater is unstall when a write takes longer than the silence that a replica is
// given. stop ends the wait for that.
func (r *run) unstallLater(ctx context.Context, n *Node) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if pause(ctx, silentLimit); ctx.Err() == nil {
			r.unstall(ctx, n)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// unstall switches semi-sync off while a write on the new primary waits for an
// acknowledgement and too few replicas are there to give it.
func (r *run) unstall(ctx context.Context, n *Node) {
	if r.semiSyncOn() {
		r.switchOff(ctx, n, r.acknowledgers(ctx, n))
	}
}

// switchOff switches semi-sync off if writes wait and fewer acknowledgers are there than
// they wait for.
func (r *run) switchOff(ctx context.Context, n *Node, there int) {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	s := n.Session.Sibling() // the node's own is the one that waits
	defer func() { _ = s.Close() }()
	semi, err := s.SemiSync(ctx)
	needed := int(max(semi.WaitCount, 1))
	if err != nil || !semi.SourceEnabled || semi.Waiting == 0 || there >= needed {
		return
	}
	// The write that is set free may end whoever asked for this.
	err = firmly(context.WithoutCancel(ctx), s, r.env.Statement, func(ctx context.Context) error { return s.SetSemiSyncSource(ctx, false) })
	if err != nil {
		r.warn(fmt.Sprintf("a write on %s waits for an acknowledgement, and semi-sync could not be switched off: %v", n.Name, err))
		return
	}
	r.update(func(s *state) { s.SemiSyncLater, r.stalled = true, true })
	r.warn(fmt.Sprintf("only %d of %d replicas are left to acknowledge: semi-sync is off on %s until they are attached", there, needed, n.Name))
}

// acknowledgers counts the replicas that receive from the new primary and acknowledge. One
// that refuses a session may do so, and counts.
func (r *run) acknowledgers(ctx context.Context, to *Node) int {
	var count atomic.Int64
	var names []string
	for _, n := range r.env.Nodes {
		if n.Name != to.Name && (n.Name != r.plan.OldPrimary || r.plan.Operation == hooks.Switch) {
			names = append(names, n.Name)
		}
	}
	r.each(names, func(n *Node) error {
		ctx, cancel := context.WithTimeout(ctx, cancelLimit)
		defer cancel()
		s := n.Session.Sibling()
		defer func() { _ = s.Close() }() // it has done what it was for
		channels, err := s.Channels(ctx)
		if mysql.Number(err) != 0 {
			count.Add(1)
		}
		for _, c := range channels {
			if c.SourceHost != to.Host || c.SourcePort != to.Port || c.IO != mysql.ThreadYes {
				continue
			}
			if semi, err := s.SemiSync(ctx); err == nil && semi.ReplicaEnabled && semi.ReplicaActive {
				count.Add(1)
			}
		}
		return err
	})
	return int(count.Load())
}
