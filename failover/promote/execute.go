package promote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
)

// Execute runs a plan to its end. The Result is complete also with an error,
// which is then a *StepError.
func Execute(ctx context.Context, env Env, plan Plan) (Result, error) {
	r := newRun(env, plan)
	if err := r.claim(ctx); err != nil {
		return r.end(ctx, err)
	}
	return r.end(ctx, r.operate(ctx))
}

func (r *run) operate(ctx context.Context) error {
	switch r.plan.Operation {
	case hooks.Failover:
		return r.failover(ctx)
	case hooks.Switch:
		return r.change(ctx)
	case hooks.Recover:
		return r.bringBack(ctx)
	default:
		return &StepError{Step: Claim, Err: fmt.Errorf("a plan for %q cannot be run", r.plan.Operation)}
	}
}

// claim checks the lock and writes the intent. Its log entry is the operation
// itself.
func (r *run) claim(ctx context.Context) error {
	r.report(Progress{Step: Claim, State: StepBegun})
	begun := time.Now()
	var token uint64
	if lease := r.env.Lease; lease != nil {
		token = uint64(lease.Token())
		if err := lease.Check(ctx); err != nil {
			err = &StepError{Step: Claim, Err: fmt.Errorf("%w: %w", ErrNotClaimed, err)}
			r.report(Progress{Step: Claim, State: StepFailed, Err: err})
			return err
		}
	}
	if r.plan.Operation == hooks.Failover {
		r.state.Starved = r.replicas()
	}
	if r.env.Begin != nil {
		data, err := r.state.encode()
		if err != nil {
			return &StepError{Step: Claim, Err: err}
		}
		log, err := r.env.Begin(context.WithoutCancel(ctx), journal.Operation{
			Kind: kindOf(r.plan.Operation), Time: r.env.Now(), Token: token, By: r.env.By,
			OldPrimary: r.plan.OldPrimary, NewPrimary: r.plan.Candidate, Reason: r.plan.Reason, Plan: data,
		})
		if err != nil {
			r.warn(fmt.Sprintf("the intent is not known to be in the promotion log: %v", err))
		}
		if log != nil {
			r.log = log
		}
	}
	took := time.Since(begun)
	r.result.Durations = append(r.result.Durations, StepDuration{Step: Claim, Took: took, Seconds: took.Seconds()})
	r.report(Progress{Step: Claim, State: StepDone, Took: took})
	return nil
}

func kindOf(op hooks.Operation) journal.OperationKind {
	switch op {
	case hooks.Failover:
		return journal.OpFailover
	case hooks.Switch:
		return journal.OpSwitch
	case hooks.Recover:
		return journal.OpRecover
	default:
		return journal.OpUnset
	}
}

// finishLimit bounds what is done after the plan's last step or failure.
const finishLimit = 30 * time.Second

// The words with which a promotion log ends.
const (
	endedDone   = "done"
	endedUndone = "undone"
	endedFailed = "failed"
)

// end takes back what must be taken back, tells the hooks, closes the log and
// completes the result.
func (r *run) end(ctx context.Context, err error) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	ended := endedDone
	if err != nil {
		ended = endedFailed
		if !r.state.Opened {
			r.undo(ctx)
			ended = endedUndone
		}
		if !errors.Is(err, ErrNotClaimed) {
			r.fire(ctx, hooks.Failed, err.Error())
		}
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	r.later.Wait()
	if logErr := r.log.Finish(ctx, r.env.Now(), ended, message); logErr != nil {
		r.warn(fmt.Sprintf("the end is not known to be in the promotion log: %v", logErr))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Plan = r.state.Plan
	r.result.Fence, r.result.FenceWhy = r.state.Fence.State, r.state.Fence.Why
	r.result.Loss = r.state.Loss
	r.result.Opened, r.result.Fallen = r.state.Opened, r.state.Fallen
	r.result.Proof = r.state.Proof
	if r.state.Opened && r.plan.Operation != hooks.Recover {
		// A successor that was chosen and given up before it was opened is none.
		r.result.NewPrimary = cmp.Or(r.state.OpenedNode, r.plan.Candidate)
		r.result.Unfinished = err != nil && !r.state.Proved && r.plan.Operation == hooks.Failover
	}
	r.result.Took = time.Since(r.started)
	return r.result, err
}

// fire runs an event's hooks and turns their failures into warnings.
func (r *run) fire(ctx context.Context, event hooks.Event, reason string) hooks.Report {
	if !r.env.Hooks.Has(event) {
		return hooks.Report{}
	}
	report := r.env.Hooks.Fire(ctx, r.call(event, reason))
	if err := report.Err(); err != nil {
		r.warn(err.Error())
	}
	return report
}

func (r *run) call(event hooks.Event, reason string) hooks.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := hooks.Call{
		Event: event, Operation: r.plan.Operation, Time: r.env.Now(), Cluster: r.env.Cluster,
		OldPrimary: r.address(r.plan.OldPrimary), NewPrimary: r.address(r.plan.Candidate),
		Reason: reason, Record: r.env.Record, MHA: r.env.HookFacts,
	}
	if event == hooks.Failed && r.state.OpenedNode != "" {
		call.NewPrimary = r.address(r.state.OpenedNode)
	}
	if reason == "" {
		call.Reason = r.plan.Reason
	}
	for _, s := range r.plan.Siblings {
		call.Replicas = append(call.Replicas, r.address(s))
	}
	return call
}

// address is a node's host:port for the hooks, or its name where it has none.
func (r *run) address(name string) string {
	n := r.nodes[name]
	if n == nil || n.Host == "" {
		return name
	}
	return hostPort(n.Host, n.Port)
}

// mayOpen asks what must still hold at the last moment before open: the lock.
func (r *run) mayOpen(ctx context.Context) error {
	if r.env.Lease == nil {
		return nil
	}
	// A lock that cannot be asked is still held: its holder is told when it is not.
	if err := r.env.Lease.Check(ctx); errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("%w: %w", ErrNotClaimed, err)
	}
	return nil
}
