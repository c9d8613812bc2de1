package watch

import (
	"context"
	"fmt"
	"log/slog"

	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
)

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
		var logs []journal.OperationLog
		if err == nil {
			logs, err = journal.Operations(limit, w.dir)
		}
		if err != nil && lease != nil {
			// What an earlier watcher has left half-done is not known: not yet.
			err = fmt.Errorf("the promotion logs of an earlier watcher cannot be read: %w", err)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskLimit)
			_ = lease.Release(last)
			cancel()
			lease = nil
		}
		taken := w.ask(context.WithoutCancel(ctx), func() { w.takeLock(ctx, lease, err, logs) })
		if !taken && lease != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskLimit)
			defer cancel()
			_ = lease.Release(last)
		}
	})
}

// takeLock takes in the answer of the lock.
func (w *Watcher) takeLock(ctx context.Context, lease lock.Lease, err error, logs []journal.OperationLog) {
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
	w.learnReplaced(logs)
	w.resume(ctx, journal.UnfinishedOf(logs))
	w.tell(failover.CoordinatorIs(true))
}

// learnReplaced takes in which nodes the watcher that acted until now has replaced
// while this one observed: one of them that comes back is to be fenced at once. What
// happened before this one began is in the state file.
func (w *Watcher) learnReplaced(logs []journal.OperationLog) {
	for _, log := range logs {
		op := log.Operation
		if result, _ := log.Ended(); result != "done" || op.Time.Before(w.began) {
			continue
		}
		switch op.Kind {
		case journal.OpFailover:
			w.fallen[op.OldPrimary] = true
		case journal.OpRecover:
			delete(w.fallen, op.OldPrimary)
		case journal.OpSwitch, journal.OpUnset:
		}
	}
}
