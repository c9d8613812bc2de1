package watch

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/promote"
)

// mendLimit bounds one mending of one node.
const mendLimit = 30 * time.Second

// mend sets right what a survey found on nodes other than the primary: writable
// replicas, and replicas that a promotion had to leave behind. It needs a primary
// that is known for sure, and the right to act.
func (w *Watcher) mend(ctx context.Context) {
	w.forgetSource(ctx)
	if w.topo.Primary == "" || w.topo.Primary != w.known.roles || w.topo.PrimaryDead || !w.mayAct() {
		return
	}
	w.fencedLate()
	w.takeBack(ctx)
	for _, n := range w.topo.Nodes {
		if n.Name == w.topo.Primary || !n.Readable() {
			continue
		}
		switch {
		case !n.Status.Writable():
		case w.replaced(n.Name):
			w.fence(ctx, n.Name)
		case w.cfg.EnforceReadOnly:
			w.makeReadOnly(ctx, n.Name)
		}
		if _, left := w.left[n.Name]; left {
			w.repoint(ctx, n.Name)
		}
	}
}

// forgetSource makes the primary forget the one it replaced, where the promotion
// could not: as long as it is configured, the nodes seem to follow each other in a
// ring once the old one is back.
func (w *Watcher) forgetSource(ctx context.Context) {
	p, ok := w.topo.Node(w.known.roles)
	if !ok || !p.Readable() || !p.Status.Writable() || !w.mayAct() {
		return
	}
	for _, link := range p.Links {
		if link.Source == "" || w.shunnedFor(link.Source) != p.Name {
			continue
		}
		w.mendNode(ctx, p.Name, func(ctx context.Context, env promote.Env) func() {
			err := promote.ForgetSource(ctx, env, p.Name, link.Channel)
			return func() {
				if err != nil {
					w.note(slog.LevelWarn, p.Name, "still has its old source %s configured: %v", link.Source, err)
					return
				}
				w.note(slog.LevelInfo, p.Name, "has forgotten its old source %s", link.Source)
			}
		})
	}
}

// mayAct reports whether this watcher may touch a server outside of a plan. It
// guards the primary under the policy manual too: two writable nodes are nobody's
// wish. Only maintenance keeps its hands off.
func (w *Watcher) mayAct() bool { return w.running == nil && w.mayGuard() }

// mayGuard is [Watcher.mayAct] whether or not an operation runs.
func (w *Watcher) mayGuard() bool {
	s := w.engine.Snapshot(w.now)
	return s.Coordinator && s.Policy.Policy != failover.Maintenance && !w.cfg.DryRun && !w.cfg.observer
}

// shunnedFor returns why a node is shunned if it is an old primary.
func (w *Watcher) shunnedFor(node string) string {
	return w.engine.State(w.now).Shunned[node].FailedOverTo
}

// replaced tells whether a node was the primary, if only for the moment between its
// opening and its loss, and another one is now.
func (w *Watcher) replaced(node string) bool {
	return w.shunnedFor(node) != "" || w.fallen[node] && node != w.known.roles
}

// returned fences a replaced primary the moment it answers again: its clients may be
// back before anybody else.
func (w *Watcher) returned(m *member, r check.Result) {
	if !r.Outcome.Alive() || w.known.fenced[m.Name] {
		return
	}
	if op := w.running; op != nil {
		// The failover goes on with replicas, which may take half a minute, and has
		// nothing more to do with the old primary.
		if (op.decided || op.failover) && op.opened != "" && op.old == m.Name && w.mayGuard() {
			w.fenceBeside(context.Background(), m.Name, op.opened)
		}
		return
	}
	if w.known.roles != m.Name && w.known.roles != "" && w.mayAct() && w.replaced(m.Name) {
		w.fence(context.Background(), m.Name)
	}
}

// mendNode mends one node beside the loop, one mending of it at a time; what f
// returns is taken in by the loop. A mending that was begun outlives the watcher's
// context.
func (w *Watcher) mendNode(ctx context.Context, node string, f func(context.Context, promote.Env) func()) {
	if w.fencing[node] {
		return
	}
	w.fencing[node] = true
	env := w.env()
	w.errand(context.WithoutCancel(ctx), func(ctx context.Context) func() {
		bounded, cancel := context.WithTimeout(ctx, mendLimit)
		defer cancel()
		said := f(bounded, env)
		calledBack := ctx.Err() != nil
		return func() {
			delete(w.fencing, node)
			if !calledBack { // else the operation is the news
				said()
			}
		}
	})
}

// fence makes a node that is not the primary read-only and ends its clients'
// sessions.
func (w *Watcher) fence(ctx context.Context, node string) { w.fenceBeside(ctx, node, w.known.roles) }

// fenceBeside does it with another primary than the one that is known.
func (w *Watcher) fenceBeside(ctx context.Context, node, next string) {
	primary := w.identity(next)
	w.mendNode(ctx, node, func(ctx context.Context, env promote.Env) func() {
		state, words, err := promote.FenceReturned(ctx, env, node, primary)
		return func() {
			w.known.fenced[node] = state == promote.FenceProved
			if state == promote.FenceProved {
				delete(w.fallen, node)
			}
			switch {
			case err != nil:
				w.note(slog.LevelError, node, "it is not the primary and could not be set read-only: %v", err)
			case state == promote.FenceProved:
				w.note(slog.LevelWarn, node, "it is not the primary: set read-only (%s)", words)
			default:
				w.note(slog.LevelError, node, "it is not the primary and is not proved read-only: %s", words)
			}
		}
	})
}

// takeBack takes back what an operation could not, on the nodes that answer now: a frozen
// primary that was to be fenced is fenced when it thaws, long after the failover was given
// up, and is still the primary.
func (w *Watcher) takeBack(ctx context.Context) {
	left := w.leftover
	if left == nil {
		return
	}
	known := func(name string) bool { return w.member(name) != nil }
	if w.known.roles != left.Primary() || !slices.ContainsFunc(left.Nodes(), known) {
		w.leftover = nil // somebody has changed the cluster since
		return
	}
	if !slices.ContainsFunc(left.Nodes(), w.answers) {
		return
	}
	w.mendNode(ctx, left.Primary(), func(ctx context.Context, env promote.Env) func() {
		rest, done, undone := promote.TakeBack(ctx, env, left)
		return func() {
			if w.leftover != left { // an operation was there first
				return
			}
			if rest == nil || len(done) > 0 {
				w.leftover = rest
			}
			if left.Fenced() && (rest == nil || !rest.Fenced()) && !w.lateTwice {
				w.takenBack, w.takenBackAt = left.FenceAlone(), time.Now()
			}
			for _, words := range done {
				w.note(slog.LevelWarn, left.Primary(), "taken back late, after an operation that was given up: %s", words)
			}
			if text := strings.Join(undone, "; "); text != "" && text != w.leftoverNote {
				w.leftoverNote = text
				w.note(slog.LevelWarn, left.Primary(), "not taken back yet: %s", text)
			}
			if len(done) > 0 {
				w.survey()
			}
		}
	})
}

// lateFence is how long a fence that was taken back may still take effect: a statement
// of a connection that was given up.
const lateFence = 15 * time.Second

// fencedLate notices that a fence took effect after it was taken back, and has it taken
// back once more. The second time it is somebody's wish.
func (w *Watcher) fencedLate() {
	again := w.takenBack
	if again == nil || w.leftover != nil {
		return
	}
	n, ok := w.topo.Node(again.Primary())
	switch {
	case time.Since(w.takenBackAt) > lateFence:
		w.takenBack = nil
	case ok && n.Readable() && n.Status.ReadAt.After(w.takenBackAt) && (!n.Status.Writable() || n.Status.OfflineMode):
		w.leftover, w.takenBack = again, nil
		w.lateTwice = true
	}
}

// makeReadOnly sets a writable replica read-only and leaves its sessions alone.
func (w *Watcher) makeReadOnly(ctx context.Context, node string) {
	primary := w.identity(w.known.roles)
	w.mendNode(ctx, node, func(ctx context.Context, env promote.Env) func() {
		err := promote.EnforceReadOnly(ctx, env, node, primary)
		return func() {
			if err != nil {
				w.note(slog.LevelError, node, "%v", err)
				return
			}
			w.note(slog.LevelWarn, node, "it was writable although it is no primary: set read-only")
		}
	})
}

// identity is who a node is, as it said itself when it was last read; empty if it
// never was. A primary that hangs is still known, so that the one before it, should
// it be back, is kept from writing.
func (w *Watcher) identity(node string) string { return w.known.identity[node] }

// repoint tries again to attach a replica that a promotion left behind.
func (w *Watcher) repoint(ctx context.Context, node string) {
	primary, fenced := w.known.roles, w.known.fenced[node]
	w.mendNode(ctx, node, func(ctx context.Context, env promote.Env) func() {
		result := promote.RepointNode(ctx, env, node, primary)
		if result.Done && fenced {
			if err := promote.Readmit(ctx, env, node); err != nil {
				result.Done, result.Error = false, err.Error()
			}
		}
		return func() {
			if result.Done {
				delete(w.left, node)
				w.note(slog.LevelInfo, node, "follows %s now", primary)
			} else if w.left[node] != result.Error {
				w.left[node] = result.Error
				w.note(slog.LevelWarn, node, "does not follow %s yet: %s", primary, result.Error)
			}
		}
	})
}
