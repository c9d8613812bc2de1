package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"failwise/failover/hooks"
)

// PlanFailover builds the plan of a failover, for --dry-run and for Execute. It
// reads the replicas to name the candidate as things are now; where that cannot be
// told the plan shows <candidate>.
func PlanFailover(ctx context.Context, env Env, req FailoverRequest) (Plan, error) {
	plan, err := planFailover(ctx, env, req)
	if err != nil || req.To != "" {
		return plan, err
	}
	r := newRun(env, plan)
	if name, err := r.preview(ctx); err == nil {
		plan = r.env.withCandidate(ctx, plan, name)
	}
	return plan, nil
}

// planFailover reads nothing: when it counts, starve reads anyway.
func planFailover(ctx context.Context, env Env, req FailoverRequest) (Plan, error) {
	env.Settings = env.withDefaults()
	if err := env.validate(); err != nil {
		return Plan{}, fmt.Errorf("failover from %s: %w", req.OldPrimary, err)
	}
	old := env.node(req.OldPrimary)
	if old == nil {
		return Plan{}, fmt.Errorf("failover from %s: not a configured node", req.OldPrimary)
	}
	if req.To != "" && (env.node(req.To) == nil || req.To == req.OldPrimary) {
		return Plan{}, fmt.Errorf("failover to %s: not another configured node", req.To)
	}
	plan := Plan{
		ID: env.newID(hooks.Failover), Operation: hooks.Failover, Cluster: env.Cluster,
		OldPrimary: req.OldPrimary, Candidate: req.To, To: req.To, Reason: req.Reason,
	}
	for _, n := range env.Nodes {
		if n.Name != req.OldPrimary {
			plan.Siblings = append(plan.Siblings, n.Name)
		}
	}
	if len(plan.Siblings) == 0 {
		return plan, fmt.Errorf("failover from %s: %w: it is the only node", req.OldPrimary, ErrNoCandidate)
	}
	plan.Steps = env.failoverSteps(ctx, plan)
	return plan, nil
}

// preview is the candidate that would be chosen now.
func (r *run) preview(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	found := r.readAll(ctx, r.replicas())
	choice, err := r.env.Choose(Question{OldPrimary: r.plan.OldPrimary, Readings: found, Seen: r.env.Seen})
	if err != nil {
		return "", err
	}
	return r.pick(choice)
}

// validate reports what no plan can do without.
func (env Env) validate() error {
	if env.Choose == nil {
		return errors.New("nothing to choose candidates with")
	}
	for _, n := range env.Nodes {
		switch {
		case n.Session == nil:
			return fmt.Errorf("%s has no session", n.Name)
		case n.Host == "" || n.Port == 0:
			return fmt.Errorf("%s has no host and port by which the others could follow it: configure host:port instead of a socket", n.Name)
		}
	}
	return nil
}

// withCandidate is the plan with its candidate settled and its steps built anew.
func (env Env) withCandidate(ctx context.Context, plan Plan, candidate string) Plan {
	if plan.Candidate != "" && !slices.Contains(plan.Siblings, plan.Candidate) && plan.Candidate != candidate {
		plan.Siblings = append(plan.Siblings, plan.Candidate)
	}
	plan.Candidate = candidate
	plan.Siblings = slices.DeleteFunc(slices.Clone(plan.Siblings), func(n string) bool { return n == candidate })
	if plan.Operation == hooks.Failover {
		plan.Steps = env.failoverSteps(ctx, plan)
	}
	return plan
}

// failoverSteps are the steps of a failover. Where the candidate is not known
// yet, its statements are shown for <candidate>.
func (env Env) failoverSteps(ctx context.Context, plan Plan) []Step {
	candidate := plan.Candidate
	replicas := slices.Clone(plan.Siblings)
	if candidate != "" && !slices.Contains(replicas, candidate) {
		replicas = append([]string{candidate}, replicas...)
	}
	siblings := slices.DeleteFunc(slices.Clone(plan.Siblings), func(n string) bool { return n == candidate })
	shown := candidate
	host, port := "<candidate>", 0
	if candidate == "" {
		shown = "<candidate>"
	} else if n := env.node(candidate); n != nil {
		host, port = n.Host, n.Port
	}
	var fallback spelling
	for _, name := range replicas {
		if s := spellingOf(ctx, env.node(name), spelling{}); s.flavour != 0 {
			fallback = s
			break
		}
	}
	of := func(node string) spelling { return spellingOf(ctx, env.node(node), fallback) }
	each := func(nodes []string, texts func(spelling) []string) []Statement {
		var list []Statement
		for _, n := range nodes {
			list = append(list, on(n, texts(of(n))...)...)
		}
		return list
	}
	cs := fallback
	if candidate != "" {
		cs = of(candidate)
	}
	old := fallback
	steps := []Step{
		{Name: Claim, Does: "write the intent with the lock's token into the promotion log", Requires: "this watcher holds the cluster's lock"},
		{Name: Starve, Targets: replicas, Limit: env.Starve,
			Does: "start a stopped SQL thread first, then stop every replica's receiver, in parallel: the old primary gets no acknowledgement any more and positions are final",
			Statements: each(replicas, func(s spelling) []string {
				return []string{s.threads("STOP", "IO_THREAD")}
			}),
			Requires: "one replica that may be promoted can be reached",
			Undo: each(replicas, func(s spelling) []string {
				return []string{s.threads("START", "IO_THREAD")}
			})},
		{Name: Choose, Targets: replicas, Does: "choose the candidate by its final position; half-received transactions do not count"},
		{Name: Fence, Targets: []string{plan.OldPrimary}, Limit: env.Fence,
			Does:       "keep the old primary from writing, from two sessions at once, read the flag back, then run the fence hook",
			Statements: on(plan.OldPrimary, old.fence()...),
			Requires:   env.fenceRequirement(),
			Undo:       on(plan.OldPrimary, old.unfence()...)},
		{Name: CatchUp, Targets: []string{shown}, Limit: env.CatchUp,
			Does:       fmt.Sprintf("the candidate applies all it has received; when it does not in time: %s", env.CatchUpOnTimeout),
			Statements: on(shown, cs.waitForGTID()), Requires: "the candidate's SQL thread runs"},
		{Name: Prepare, Targets: []string{shown},
			Does: "stop replication on the candidate; if semi-sync was on, switch its source side on and attach the siblings before it opens, or its first commit would wait",
			Statements: append(on(shown, cs.threads("STOP", ""), cs.semiSyncSource("ON")+" <if it was on>"),
				each(siblings, func(s spelling) []string {
					return []string{s.threads("STOP", "") + " <if semi-sync>", s.change(host, port, false) + " <if semi-sync>", s.threads("START", "") + " <if semi-sync>"}
				})...),
			Undo: append(on(shown, cs.semiSyncSource("OFF")+" <if it was off>", cs.threads("START", "")),
				each(siblings, func(s spelling) []string {
					n := env.node(plan.OldPrimary)
					return []string{s.threads("STOP", ""), s.change(n.Host, n.Port, false), s.threads("START", "")}
				})...),
			Requires: "the candidate has applied what it received"},
		{Name: Open, Targets: []string{shown}, Does: "make the candidate writable and read the flags back", Forward: true,
			Statements: on(shown, "SET GLOBAL read_only=OFF", cs.readBack()),
			Requires:   "the lock is still held, and the old primary has not been seen online since it was fenced"},
		{Name: Prove, Targets: []string{shown}, Does: "commit one write", Forward: true, Statements: on(shown, prove(env.Watcher))},
		{Name: Announce, Targets: []string{shown}, Does: "run the promoted hook; forget the old source", Forward: true,
			Statements: on(shown, cs.threads("RESET", "ALL"))},
		{Name: Repoint, Targets: siblings, Limit: env.Repoint,
			Does: "the other replicas follow the new primary, in parallel, each within the limit; host, port, position and heartbeat period are set, everything else stays", Forward: true,
			Statements: each(siblings, func(s spelling) []string {
				return []string{s.threads("STOP", ""), s.change(host, port, false), s.threads("START", "")}
			})},
		{Name: Verify, Targets: siblings, Limit: env.Verify, Does: "both threads run and the proving write arrives", Forward: true,
			Statements: each(siblings, func(s spelling) []string { return []string{s.waitForGTID()} })},
		{Name: Finish, Does: fmt.Sprintf("record the result; %s stays shunned until it is recovered; run the finished hook", plan.OldPrimary), Forward: true},
	}
	return steps
}

func (env Env) fenceRequirement() string {
	if env.FenceRequire == RequireProof {
		return "proof: the flag read back, or a fence hook that ends with status 0"
	}
	return "none: when the old primary cannot be reached the plan goes on and says so"
}

func (s spelling) fence() []string {
	if s.mariaDB() {
		return []string{"SET GLOBAL read_only=ON", "SHOW PROCESSLIST", "KILL CONNECTION <each client>", s.readBack()}
	}
	return []string{"SET GLOBAL super_read_only=ON", "SET GLOBAL offline_mode=ON", "SHOW PROCESSLIST", "KILL CONNECTION <each client>",
		s.semiSyncSource("OFF") + " <if the first is still blocked>", s.readBack()}
}

func (s spelling) unfence() []string {
	if s.mariaDB() {
		return []string{"SET GLOBAL read_only=OFF"}
	}
	return []string{s.semiSyncSource("ON") + " <if it was on>", "SET GLOBAL offline_mode=OFF", "SET GLOBAL read_only=OFF"}
}

func (env Env) node(name string) *Node {
	for i := range env.Nodes {
		if env.Nodes[i].Name == name {
			return &env.Nodes[i]
		}
	}
	return nil
}

func (env Env) newID(op hooks.Operation) string {
	now := time.Now()
	if env.Now != nil {
		now = env.Now()
	}
	return fmt.Sprintf("%s-%s", op, now.UTC().Format("20060102T150405.000Z"))
}
