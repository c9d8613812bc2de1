package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// finish heals everything, brings the old primary back, and checks the invariants.
func (tr *trial) finish() {
	tr.t.Helper()
	ctx := context.WithoutCancel(tr.t.Context())
	tr.healed = time.Now()
	// The old primary last: a replica that still points at it would fetch from it what
	// nobody had acknowledged.
	slices.Reverse(tr.broken) // of one node the latest first
	slices.SortStableFunc(tr.broken, func(a, b *sandbox.Active) int { return b.Node.Index() - a.Node.Index() })
	for _, active := range tr.broken {
		if tr.ruins {
			continue
		}
		// The session that holds a lock is ended by the fence of a failover.
		if err := active.Heal(ctx); err != nil && (tr.primary.Index() == 0 || !strings.HasPrefix(active.Fault.Name, "locked")) {
			tr.t.Fatal(err)
		}
	}
	for _, n := range tr.living() {
		tr.await(matrixWait, n.Name()+" online", func(Notice) bool {
			s, err := tr.watcher.Snapshot(ctx)
			if err != nil {
				return false
			}
			// On MySQL what was the primary and is fenced is in offline_mode, and says so.
			o := s.Nodes[n.Index()].Outcome
			replaced := n != tr.primary && (n.Index() == 0 || slices.Contains(tr.fell, n))
			return o == rules.OK || replaced && o.Alive()
		})
	}
	tr.refused = map[*sandbox.Node]string{}
	if tr.ruins {
		tr.refused[tr.cluster.Node(0)], tr.row.afterward = "its disk is gone", "not started again: its disk is gone"
	}
	for _, n := range append([]*sandbox.Node{tr.cluster.Node(0)}, tr.fell...) {
		if n != tr.primary && tr.refused[n] == "" {
			tr.bringBack(ctx, n)
		}
	}
	tr.awaitAck(time.Now())
	for _, n := range tr.living() {
		if n != tr.primary && tr.refused[n] == "" {
			tr.complain(matrixWait, func() string { return followsComplaint(ctx, n, tr.primary, tr.cluster.Flavour()) })
		}
	}
	tr.noWrongDecision()
	tr.counts(ctx)
	tr.ends(ctx)
	tr.why()
}

// healNamed ends the faults of a name before the others.
func (tr *trial) healNamed(name string) {
	tr.t.Helper()
	tr.broken = slices.DeleteFunc(tr.broken, func(a *sandbox.Active) bool {
		if a.Fault.Name != name {
			return false
		}
		if err := a.Heal(tr.t.Context()); err != nil {
			tr.t.Error(err)
		}
		return true
	})
}

// bringBack waits until the old primary is fenced and makes it a replica again.
func (tr *trial) bringBack(ctx context.Context, old *sandbox.Node) {
	tr.t.Helper()
	tr.complain(matrixWait, func() string {
		f, err := flagsOf(ctx, old, tr.cluster.Flavour())
		if err != nil || !f.readOnly {
			return fmt.Sprintf("the old primary is not fenced: %+v, %v", f, err)
		}
		return ""
	})
	for _, o := range tr.sampler.Overlaps() {
		if !o.To.Before(tr.healed) && o.From.After(tr.opened) || tr.want == maybeActs {
			tr.row.returned = max(tr.row.returned, o.To.Sub(later(o.From, tr.healed)))
		}
	}
	timings := tr.watcher.cfg.Timings
	limit := timings.ProbeInterval + time.Second // a probe's own time, and the fence's
	if !matrixFull() {
		limit += matrixSlack / 3
	}
	if tr.row.returned > limit {
		tr.t.Errorf("the old primary was writable for %s after its return; it must be fenced within a probe interval", tr.row.returned)
	}
	answer := tr.recoverOld(ctx, old)
	more, err := extra(ctx, old, tr.primary, tr.cluster.Flavour())
	switch {
	case err != nil:
		tr.t.Error(err)
	case answer.Err == nil:
		tr.complain(matrixWait, func() string { return followsComplaint(ctx, old, tr.primary, tr.cluster.Flavour()) })
	case errors.Is(answer.Err, promote.ErrDiverged) && more != "":
		// A commit that nobody had acknowledged: right to refuse.
		tr.refused[old], tr.row.afterward = more, "recover refused: "+more
		tr.t.Logf("recover of the old primary: %v", answer.Err)
	default:
		tr.t.Errorf("recover of the old primary, which has %q more: %v", more, answer.Err)
	}
}

// recoverOld asks for the old primary's recovery as a user does: again while the
// node that has just come back still waits for commits of its own.
func (tr *trial) recoverOld(ctx context.Context, old *sandbox.Node) Answer {
	deadline := time.Now().Add(matrixWait)
	for {
		answer := tr.watcher.Request(ctx, Request{Operation: "recover", Node: old.Name(), By: "test"}, nil)
		if answer.Err == nil || errors.Is(answer.Err, promote.ErrDiverged) || time.Now().After(deadline) {
			return answer
		}
		tr.t.Logf("recover of the old primary, to be asked again: %v", answer.Err)
		time.Sleep(2 * time.Second)
	}
}

// noWrongDecision checks that nothing was decided that was not wanted.
func (tr *trial) noWrongDecision() {
	tr.t.Helper()
	var failovers, failed int
	for _, n := range tr.heard() {
		switch {
		case event(failover.FailoverDecided)(n):
			failovers++
		case event(failover.ReplicaFailed)(n):
			failed++
		}
	}
	atMost := 0
	if tr.want == actsOn || tr.want == maybeActs {
		atMost = 1
	}
	if failovers > atMost && !tr.retried {
		tr.t.Errorf("%d failovers", failovers)
	}
	// Nodes that come back one after the other may fail those that are not yet.
	if failed > 0 && len(tr.broken) < 2 && tr.want != failsReplica && tr.fault != "kill" && tr.fault != "freeze" {
		tr.t.Errorf("%d replicas were failed", failed)
	}
}

// counts checks that no acknowledged row is missing and that all nodes are alike.
func (tr *trial) counts(ctx context.Context) {
	tr.t.Helper()
	if err := tr.writer.Stop(); err != nil {
		tr.t.Error(err)
	}
	missing, err := tr.writer.Missing(ctx, tr.primary)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.row.acked, _ = tr.writer.Count()
	if tr.row.lost = len(missing); tr.row.lost > 0 {
		tr.t.Errorf("%d of %d acknowledged rows are missing on %s", tr.row.lost, tr.row.acked, tr.primary.Name())
	}
	if tr.primary != tr.cluster.Node(0) {
		late := slices.DeleteFunc(tr.writer.Acks(), func(a sandbox.Ack) bool { return a.Node != tr.cluster.Node(0) || !a.At.After(tr.opened) })
		if len(late) > 0 {
			tr.t.Errorf("the old primary acknowledged %d rows after the new one was opened, the first %s after it", len(late), late[0].At.Sub(tr.opened))
		}
	}
	for _, n := range tr.cluster.Nodes() {
		if n != tr.primary && tr.refused[n] == "" {
			tr.complain(matrixWait, func() string { return alike(ctx, n, tr.primary) })
		}
	}
	// Where no replica could be kept nobody can acknowledge.
	followed := len(tr.refused) < len(tr.cluster.Nodes())-1
	tr.complain(matrixWait, func() string { return primaryComplaint(ctx, tr.primary, tr.cluster.Flavour(), followed) })
}

// ends stops the watcher and checks that nothing is left of it.
func (tr *trial) ends(ctx context.Context) {
	tr.t.Helper()
	tr.sampler.Stop()
	for _, o := range tr.sampler.Overlaps() {
		if o.From.Before(tr.healed) {
			tr.row.overlap = max(tr.row.overlap, earlier(o.To, tr.healed).Sub(o.From))
		}
	}
	// A primary that comes back in the middle of its replacement is fenced like one that
	// comes back afterwards; else nobody but the primary is writable, unless it lives
	// where nobody can reach it.
	limit := time.Duration(0)
	if tr.want == maybeActs {
		limit = tr.watcher.cfg.Timings.ProbeInterval + time.Second
	}
	if tr.row.overlap > limit && !tr.cutOff {
		tr.t.Errorf("two nodes were writable at once for %s", tr.row.overlap)
	}
	tr.cancel()
	select {
	case ended := <-tr.ended:
		tr.ended <- ended
	case <-time.After(matrixWait):
		tr.t.Fatal("the watcher does not end")
	}
	for _, n := range tr.living() {
		var cutOff time.Time
		if slices.ContainsFunc(tr.broken, func(a *sandbox.Active) bool { return a.Node == n && a.Fault.Needs&sandbox.NeedFirewall != 0 }) {
			cutOff = tr.healed
		}
		tr.complain(20*time.Second, func() string { return sessionsLeft(ctx, n, tr.cluster, cutOff) })
	}
	nothingLeft(tr.t, tr.dir)
}
