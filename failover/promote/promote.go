package promote

import "context"

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

// Failover plans and executes a failover.
func Failover(ctx context.Context, env Env, req FailoverRequest) (Result, error) {
	plan, err := planFailover(ctx, env, req)
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
