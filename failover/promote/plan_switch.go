package promote

import (
	"context"
	"fmt"
	"slices"

	"failwise/failover/hooks"
)

// PlanSwitch builds the plan of a switch. It reads the cluster to settle the
// candidate.
func PlanSwitch(ctx context.Context, env Env, req SwitchRequest) (Plan, error) {
	env.Settings = env.withDefaults()
	if err := env.validate(); err != nil {
		return Plan{}, fmt.Errorf("switch from %s: %w", req.OldPrimary, err)
	}
	old := env.node(req.OldPrimary)
	if old == nil {
		return Plan{}, fmt.Errorf("switch from %s: not a configured node", req.OldPrimary)
	}
	if req.To != "" && (env.node(req.To) == nil || req.To == req.OldPrimary) {
		return Plan{}, fmt.Errorf("switch to %s: not another configured node", req.To)
	}
	plan := Plan{
		ID: env.newID(hooks.Switch), Operation: hooks.Switch, Cluster: env.Cluster,
		OldPrimary: req.OldPrimary, Candidate: req.To, To: req.To, Reason: req.Reason,
	}
	r := newRun(env, plan)
	_, _, name, err := r.survey(ctx)
	if err != nil {
		return plan, fmt.Errorf("switch from %s: %w", req.OldPrimary, err)
	}
	plan.Candidate = name
	for _, n := range env.Nodes {
		if n.Name != req.OldPrimary && n.Name != name {
			plan.Siblings = append(plan.Siblings, n.Name)
		}
	}
	plan.Steps = env.switchSteps(ctx, plan)
	return plan, nil
}

func (env Env) switchSteps(ctx context.Context, plan Plan) []Step {
	to := env.node(plan.Candidate)
	of := func(node string) spelling { return spellingOf(ctx, env.node(node), spelling{}) }
	cs, old := of(plan.Candidate), of(plan.OldPrimary)
	repoint := func(nodes []string) []Statement {
		var list []Statement
		for _, n := range nodes {
			s := of(n)
			list = append(list, on(n, s.threads("STOP", ""), s.change(to.Host, to.Port, false), s.threads("START", ""))...)
		}
		return list
	}
	block := []string{"SET GLOBAL super_read_only=ON", "SELECT @@global.gtid_executed"}
	unblock := []string{"SET GLOBAL read_only=OFF"}
	demote := []string{"SHOW PROCESSLIST", "KILL CONNECTION <each client>", old.change(to.Host, to.Port, true), old.threads("START", "")}
	if old.mariaDB() {
		block = []string{"FLUSH TABLES WITH READ LOCK", "SET GLOBAL read_only=ON", "SELECT @@global.gtid_binlog_pos"}
		unblock = []string{"SET GLOBAL read_only=OFF", "UNLOCK TABLES"}
		demote = []string{"SHOW PROCESSLIST", "KILL CONNECTION <each client>", "UNLOCK TABLES", "SET GLOBAL gtid_slave_pos='<its gtid_binlog_pos>'",
			old.change(to.Host, to.Port, true), old.threads("START", "")}
	}
	everyone := append(slices.Clone(plan.Siblings), plan.OldPrimary)
	return []Step{
		{Name: Claim, Does: "write the intent with the lock's token into the promotion log", Requires: "this watcher holds the cluster's lock"},
		{Name: Preflight, Targets: []string{plan.OldPrimary, plan.Candidate},
			Does: "read everything once more and refuse what would not work or not be quick",
			Requires: fmt.Sprintf("the candidate's threads run and its lag is at most %v; no transaction on the primary is older than %v; the replication account is configured",
				env.MaxLag, env.LongTransaction)},
		{Name: Block, Targets: []string{plan.OldPrimary}, Limit: env.Block, Does: "run the fence hook, then stop new writes and read the final position",
			Statements: on(plan.OldPrimary, block...), Undo: on(plan.OldPrimary, unblock...)},
		{Name: CatchUp, Targets: []string{plan.Candidate}, Limit: env.Block, Does: "wait until the candidate has executed everything",
			Statements: on(plan.Candidate, cs.waitForGTID())},
		{Name: Prepare, Targets: []string{plan.Candidate}, Does: "stop replication on the candidate; with semi-sync, switch its source side on and attach the siblings",
			Statements: on(plan.Candidate, cs.threads("STOP", ""), cs.semiSyncSource("ON")+" <if it was on>"),
			Undo:       on(plan.Candidate, cs.threads("START", ""))},
		{Name: Open, Targets: []string{plan.Candidate}, Forward: true, Does: "make the candidate writable and read the flags back",
			Statements: on(plan.Candidate, "SET GLOBAL read_only=OFF", cs.readBack())},
		{Name: Prove, Targets: []string{plan.Candidate}, Forward: true, Does: "commit one write", Statements: on(plan.Candidate, prove(env.Watcher))},
		{Name: Announce, Targets: []string{plan.Candidate}, Forward: true, Does: "run the promoted hook; forget the old source",
			Statements: on(plan.Candidate, cs.threads("RESET", "ALL"))},
		{Name: Demote, Targets: []string{plan.OldPrimary}, Limit: env.Repoint, Forward: true,
			Does: "end the old primary's client sessions and make it a replica of the new one", Statements: on(plan.OldPrimary, demote...)},
		{Name: Repoint, Targets: plan.Siblings, Limit: env.Repoint, Forward: true, Does: "the other replicas follow the new primary", Statements: repoint(plan.Siblings)},
		{Name: Verify, Targets: everyone, Limit: env.Verify, Forward: true, Does: "both threads run and the proving write arrives"},
		{Name: Finish, Forward: true, Does: "record the result; run the finished hook"},
	}
}
