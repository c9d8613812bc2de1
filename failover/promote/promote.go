package promote

import (
	"context"
	"errors"

	"failwise/failover/journal"
)

// FailoverRequest asks for a promotion after the old primary's death.
type FailoverRequest struct {
	OldPrimary string
	// To forces the candidate; empty lets the Chooser decide.
	To     string
	Reason string
}

// SwitchRequest asks for a planned change of primary.
type SwitchRequest struct {
	OldPrimary string
	To         string // empty lets the Chooser decide
	Reason     string
}

// RecoverRequest asks that a node becomes a replica of the primary again.
type RecoverRequest struct {
	Node    string
	Primary string
	Reason  string
}

var errUnbuilt = errors.New("not built yet")

// PlanSwitch builds the plan of a switch.
func PlanSwitch(ctx context.Context, env Env, req SwitchRequest) (Plan, error) {
	return Plan{}, errUnbuilt
}

// PlanRecover builds the plan of a recover.
func PlanRecover(ctx context.Context, env Env, req RecoverRequest) (Plan, error) {
	return Plan{}, errUnbuilt
}

// Failover plans and executes a failover.
func Failover(ctx context.Context, env Env, req FailoverRequest) (Result, error) {
	plan, err := PlanFailover(ctx, env, req)
	if err != nil {
		return Result{Plan: plan}, err
	}
	return Execute(ctx, env, plan)
}

// Switch plans and executes a switch.
func Switch(ctx context.Context, env Env, req SwitchRequest) (Result, error) {
	plan, err := PlanSwitch(ctx, env, req)
	if err != nil {
		return Result{Plan: plan}, err
	}
	return Execute(ctx, env, plan)
}

// Recover plans and executes a recover.
func Recover(ctx context.Context, env Env, req RecoverRequest) (Result, error) {
	plan, err := PlanRecover(ctx, env, req)
	if err != nil {
		return Result{Plan: plan}, err
	}
	return Execute(ctx, env, plan)
}

// Resume finishes an operation that its process did not: from the step open on
// it goes forward; before that it starts again from the claim, with what the log
// says was done. log goes on with the same promotion log.
func Resume(ctx context.Context, env Env, found journal.OperationLog, log Log) (Result, error) {
	return Result{}, errUnbuilt
}

// FenceReturned makes a node that is not the primary read-only and ends its
// clients' sessions: a shunned old primary that came back, or a writable replica
// (enforce_read_only). The caller must know for sure who the primary is.
func FenceReturned(ctx context.Context, env Env, node string) (FenceState, string, error) {
	return FenceUntried, "", errUnbuilt
}
