package promote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
)

// Resume finishes an operation whose process died. From the step open on it goes
// forward. Before that a failover puts the candidate and its siblings back and
// runs again from starve, with what the log says of the time before; a switch is
// undone, a recover begins anew. log goes on with the same promotion log, see
// journal.ResumeOperation. The hooks of steps that may have run are run again.
func Resume(ctx context.Context, env Env, found journal.OperationLog, log Log) (Result, error) {
	s, known, err := lastState(found)
	if err != nil {
		return Result{}, err
	}
	if !known {
		if len(found.Operation.Plan) == 0 {
			// Not even the intent reached the disk, and nothing is done before that.
			return Result{}, log.Finish(ctx, now(env), endedUndone, "nothing was done")
		}
		if err := json.Unmarshal(found.Operation.Plan, &s); err != nil {
			return Result{}, fmt.Errorf("promotion log %s: plan: %w", found.Operation.ID, err)
		}
	}
	r := newRun(env, s.Plan)
	before := s.Before
	r.state = s
	r.plan = &r.state.Plan
	if before == nil {
		r.state.Before = map[string]channel{}
	}
	r.log = log
	r.resumed = true
	if lease := env.Lease; lease != nil {
		if err := lease.Check(ctx); errors.Is(err, lock.ErrLost) {
			return r.end(ctx, &StepError{Step: Claim, Err: fmt.Errorf("%w: %w", ErrNotClaimed, err)})
		}
	}
	r.write(ctx, journal.StepNote, StepUnset, "", "resumed")
	r.note(Claim, "", "resumes "+found.Operation.ID)
	if r.state.Opened {
		return r.end(ctx, r.forward(ctx))
	}
	if r.plan.Operation == hooks.Recover {
		return r.end(ctx, r.bringBack(ctx))
	}
	if r.plan.Operation != hooks.Failover {
		return r.end(ctx, &StepError{Step: Claim, Err: fmt.Errorf("the %s was interrupted before %s was opened: taken back", r.plan.Operation, r.plan.Candidate)})
	}
	return r.end(ctx, r.restart(ctx))
}

// restart runs a failover again from starve, with the candidate and its siblings put
// back.
func (r *run) restart(ctx context.Context) error {
	r.update(func(s *state) { s.Repointed = r.untried(s.Repointed) })
	r.undoCandidate(ctx)
	return r.failover(ctx)
}

// forward goes on with an operation whose candidate was, or may have been, opened.
func (r *run) forward(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	n := r.nodes[r.plan.Candidate]
	if n == nil {
		return &StepError{Step: Open, Target: r.plan.Candidate, Err: errors.New("it is not a configured node any more"), Opened: true}
	}
	if r.plan.Operation == hooks.Failover {
		// Time has passed: the old primary may be back.
		r.each(append([]string{r.plan.OldPrimary}, r.state.Fallen...), func(old *Node) error {
			record := r.fenceNode(ctx, old, r.patience(old))
			r.note(Fence, old.Name, record.State.String()+": "+record.Why)
			if old.Name == r.plan.OldPrimary {
				r.update(func(s *state) { s.Fence = record.over(s.Fence) })
			}
			return nil
		})
	}
	if opened := r.state.OpenedNode; opened != "" && opened != n.Name || slices.Contains(r.state.Fallen, n.Name) {
		// The node that was opened is lost, and its successor was not opened yet.
		return r.restart(ctx)
	}
	attended, stop := r.attendCandidate(ctx, n, max(r.env.Statement, openSilentLimit))
	err := r.openAndProve(attended, n)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errFallen) && r.plan.Operation == hooks.Failover:
		if !r.giveUp(ctx, n, err) {
			return err
		}
		return r.failover(ctx)
	case errors.Is(err, errFallen):
		return err
	default:
		r.warn(err.Error())
	}
	if r.plan.Operation == hooks.Switch {
		return r.switched(ctx, n)
	}
	r.settle(ctx, n)
	return r.finish(ctx)
}
