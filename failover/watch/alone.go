package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"failwise/failover"
	"failwise/failover/lock"
	"failwise/failover/promote"
)

// Operate does one operation without a running watcher: it takes the cluster's
// lock, looks at the cluster, does it, writes down what must be remembered, and
// gives the lock back. It decides nothing by itself. [lock.ErrHeld] says that
// another process holds the lock.
func Operate(ctx context.Context, cfg Config, r Request, progress func(promote.Progress)) (promote.Result, error) {
	cfg.Policy, cfg.observer = failover.Manual, true
	w, err := New(cfg)
	if err != nil {
		return promote.Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() {
		_, err := w.Run(ctx)
		ran <- err
	}()
	if err := w.ready(ctx); err != nil {
		cancel()
		if started := <-ran; started != nil {
			err = started
		}
		return promote.Result{}, err
	}
	answer := w.Request(context.WithoutCancel(ctx), r, progress)
	w.settled(ctx)
	cancel()
	if err := <-ran; err != nil {
		return answer.Result, errors.Join(answer.Err, err)
	}
	return answer.Result, answer.Err
}

// readyEvery is how often a request that waits for its watcher looks again.
const readyEvery = 10 * time.Millisecond

// pause waits, and is false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ready waits until the watcher has the lock, knows that it cannot have it, or has
// failed to start; and until every node was probed once.
func (w *Watcher) ready(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, startDiskLimit+w.cfg.Timings.ProbeBudget+surveyLimit)
	defer cancel()
	for {
		ok, note := false, ""
		if !w.ask(limit, func() { ok, note = w.lease != nil && w.probed() && w.running == nil, w.lockNote }) {
			return ErrStopped
		}
		switch {
		case note != "":
			return fmt.Errorf("%w: %s, and it does not answer here", lock.ErrHeld, note)
		case ok:
			return nil
		case !pause(limit, readyEvery):
			return errors.New("the lock or the nodes do not answer in time")
		}
	}
}

// probed reports whether every node has been probed.
func (w *Watcher) probed() bool {
	for _, m := range w.members {
		if len(m.latest) == 0 {
			return false
		}
	}
	return true
}

// settled waits until what the operation changed is written down.
func (w *Watcher) settled(ctx context.Context) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*diskLimit)
	defer cancel()
	for busy := true; busy; {
		if !w.ask(limit, func() { busy = w.kept.busy || w.kept.again }) || busy && !pause(limit, readyEvery) {
			return
		}
	}
}

// Plan is what an operation would do now, for --dry-run.
func Plan(ctx context.Context, cfg Config, r Request) (promote.Plan, error) {
	w, err := look(ctx, cfg)
	if err != nil {
		return promote.Plan{}, err
	}
	defer w.close()
	env, primary := w.env(), w.known.roles
	if primary == "" {
		return promote.Plan{}, w.noPrimary()
	}
	switch r.Operation {
	case "switch":
		return promote.PlanSwitch(ctx, env, promote.SwitchRequest{OldPrimary: primary, To: r.Node, Reason: r.Reason})
	case "recover":
		return promote.PlanRecover(ctx, env, promote.RecoverRequest{Node: r.Node, Primary: primary, Reason: r.Reason})
	}
	plan, err := promote.PlanFailover(ctx, env, promote.FailoverRequest{OldPrimary: primary, To: r.Node, Reason: r.Reason})
	if err == nil && !w.topo.PrimaryDead && !slices.Contains(r.Ignore, failover.LatestNotFatal) {
		plan.Notes = append(plan.Notes, fmt.Sprintf("%s answers: as things are, failover would be refused (%s); failwise switch changes a primary that works and loses nothing",
			primary, failover.LatestNotFatal))
	}
	return plan, err
}

// ShowErrant writes what the transactions did that a node has and the primary
// never had; it says so where there is none.
func ShowErrant(ctx context.Context, cfg Config, node string, out io.Writer) error {
	w, err := look(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.close()
	primary, ok := w.topo.Node(w.topo.Primary)
	if !ok || !primary.Readable() {
		return fmt.Errorf("%w that can be read: there is nothing to compare %s with", ErrPrimary, node)
	}
	n, ok := w.topo.Node(node)
	if !ok || !n.Readable() {
		return fmt.Errorf("%s cannot be read: %s", node, n.Error)
	}
	errant := n.Status.Progress().Errant(primary.Status.Progress(), primary.Status.ServerUUID, primary.Status.ServerID)
	if errant.IsEmpty() {
		_, err := fmt.Fprintf(out, "%s has no transaction that %s never had\n", node, primary.Name)
		return err
	}
	if _, err := fmt.Fprintf(out, "%s has transactions that %s never had: %s\n", node, primary.Name, errant); err != nil {
		return err
	}
	return promote.ShowErrant(ctx, w.env(), node, errant, out)
}

// look is a watcher that has looked at the cluster once and runs nothing.
func look(ctx context.Context, cfg Config) (*Watcher, error) {
	cfg.DryRun, cfg.looking = true, true
	w, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := w.start(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}
