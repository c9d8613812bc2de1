package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
)

// Request is an operation that a user asks for.
type Request struct {
	// Operation is "switch", "failover" or "recover".
	Operation string `json:"operation"`
	// Node is the wanted new primary, or the node to recover; empty lets the rules
	// choose.
	Node string `json:"node,omitempty"`
	// Ignore names the checks that a failover passes over.
	Ignore []failover.Reason `json:"ignore,omitempty"`
	Reason string            `json:"reason,omitempty"`
	By     string            `json:"by,omitempty"`
}

// Answer is how a request ended.
type Answer struct {
	Result promote.Result
	Err    error
}

// Request starts an operation and returns when it has ended. Steps are reported
// to progress, which must not block.
func (w *Watcher) Request(ctx context.Context, r Request, progress func(promote.Progress)) Answer {
	done := make(chan Answer, 1)
	reply := func(res promote.Result, err error) { done <- Answer{res, err} }
	if !w.send(func() { w.begin(ctx, r, progress, reply) }) {
		return Answer{Err: ErrStopped}
	}
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return Answer{Err: ctx.Err()}
	case <-w.done:
	}
	select {
	case a := <-done: // the operation was the last thing the loop did
		return a
	default:
		return Answer{Err: ErrStopped}
	}
}

// begin refuses a request or starts it.
func (w *Watcher) begin(ctx context.Context, r Request, progress func(promote.Progress), reply func(promote.Result, error)) {
	refuse := func(err error) { reply(promote.Result{}, err) }
	switch {
	case w.running != nil:
		refuse(fmt.Errorf("%w: %s", ErrBusy, w.running.what))
		return
	case w.forced != nil:
		refuse(fmt.Errorf("%w: a failover that was asked for is being decided", ErrBusy))
		return
	case w.stopped:
		refuse(ErrStopped)
		return
	case w.cfg.DryRun:
		refuse(errors.New("the watcher is a dry run: it promotes nothing"))
		return
	case w.lease == nil:
		refuse(fmt.Errorf("the watcher only observes: %s", w.lockNote))
		return
	case w.known.roles == "":
		refuse(w.noPrimary())
		return
	case r.Node != "" && w.member(r.Node) == nil:
		refuse(fmt.Errorf("%s is no node of cluster %s", r.Node, w.cfg.Cluster))
		return
	}
	reason := r.Reason
	if r.By != "" {
		reason = fmt.Sprintf("asked for by %s: %s", r.By, reason)
	}
	op := &operation{old: w.known.roles, reason: reason, ignore: r.Ignore, reply: reply, watch: progress}
	switch r.Operation {
	case "failover":
		w.forced = op
		w.tell(failover.Force(r.Node, r.Ignore...))
	case "switch":
		op.what = "switch of " + op.old
		w.tell(failover.OperationBegan(op.what))
		w.operate(ctx, op, func(ctx context.Context, env promote.Env) (promote.Result, error) {
			return promote.Switch(ctx, env, promote.SwitchRequest{OldPrimary: op.old, To: r.Node, Reason: reason})
		})
	case "recover":
		op.what, op.recovers = "recover of "+r.Node, r.Node
		w.tell(failover.OperationBegan(op.what))
		w.operate(ctx, op, func(ctx context.Context, env promote.Env) (promote.Result, error) {
			return promote.Recover(ctx, env, promote.RecoverRequest{Node: r.Node, Primary: op.old, Reason: reason})
		})
	default:
		refuse(fmt.Errorf("unknown operation %q: use switch, failover or recover", r.Operation))
	}
}

// refused answers a forced failover that the engine holds.
func (w *Watcher) refused(ev failover.Event) {
	if op := w.forced; op != nil {
		w.forced = nil
		op.reply(promote.Result{}, &Refusal{Reason: ev.Reason, Detail: ev.Detail})
	}
}

// recovered ends the shunning of a node that follows the primary again.
func (w *Watcher) recovered(node string) {
	w.tell(failover.RecoveredNode(node))
	delete(w.left, node)
	if w.cfg.RefillRecovered {
		w.refill("its old primary was recovered")
	}
}

// refill resets the quota by itself.
func (w *Watcher) refill(why string) {
	s := w.engine.Snapshot(w.now)
	if s.Quota == 0 || s.QuotaUsed == 0 {
		return
	}
	w.tell(failover.QuotaReset())
	w.note(0, "", "the quota of automatic failovers is full again: %s", why)
}

// refillLate refills the quota some time after the last failover.
func (w *Watcher) refillLate() {
	age := w.engine.State(w.now).LastFailoverAge
	if w.cfg.RefillAfter > 0 && age != nil && *age >= w.cfg.RefillAfter {
		w.refill(fmt.Sprintf("the last failover is %s old", age.Round(time.Second)))
	}
}

// Abort takes a running operation back where that is still possible: before the
// new primary was opened. From there on it is finished in any case.
func (w *Watcher) Abort() {
	w.send(func() {
		if w.running != nil {
			w.note(slog.LevelWarn, w.running.old, "%s is to be taken back, if it is not past the point of no return", w.running.what)
			w.running.cancel()
		}
	})
}
