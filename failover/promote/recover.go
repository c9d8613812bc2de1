package promote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

// PlanRecover builds the plan of a recover.
func PlanRecover(ctx context.Context, env Env, req RecoverRequest) (Plan, error) {
	env.Settings = env.withDefaults()
	if err := env.validate(); err != nil {
		return Plan{}, fmt.Errorf("recover %s: %w", req.Node, err)
	}
	n, to := env.node(req.Node), env.node(req.Primary)
	switch {
	case n == nil:
		return Plan{}, fmt.Errorf("recover %s: not a configured node", req.Node)
	case to == nil:
		return Plan{}, fmt.Errorf("recover %s: the primary %q is not a configured node", req.Node, req.Primary)
	case n == to:
		return Plan{}, fmt.Errorf("recover %s: %w", req.Node, errIsPrimary)
	}
	plan := Plan{
		ID: env.newID(hooks.Recover), Operation: hooks.Recover, Cluster: env.Cluster,
		OldPrimary: req.Node, Candidate: req.Primary, Reason: req.Reason,
	}
	s := spellingOf(ctx, n, spellingOf(ctx, to, spelling{}))
	read := []Statement{{Node: n.Name, SQL: "SELECT @@global.gtid_executed"}, {Node: to.Name, SQL: "SELECT @@global.gtid_executed"}}
	attach := []string{"SET GLOBAL super_read_only=ON", s.change(to.Host, to.Port, true), "SET GLOBAL offline_mode=OFF", s.threads("START", "")}
	if s.mariaDB() {
		read = []Statement{{Node: n.Name, SQL: "SELECT @@global.gtid_binlog_state"}, {Node: to.Name, SQL: "SELECT @@global.gtid_binlog_state"}}
		attach = []string{"SET GLOBAL read_only=ON", "SET GLOBAL gtid_slave_pos='<its gtid_binlog_pos>'", s.change(to.Host, to.Port, true), s.threads("START", "")}
	}
	plan.Steps = []Step{
		{Name: Claim, Does: "write the intent with the lock's token into the promotion log", Requires: "this watcher holds the cluster's lock"},
		{Name: Compare, Targets: []string{n.Name, to.Name}, Does: "what the node executed and the primary did not",
			Statements: read, Requires: "nothing: the server itself would accept a diverged node without a word"},
		{Name: Demote, Targets: []string{n.Name}, Limit: env.Repoint, Does: "make it a read-only replica by position, with the configured replication account",
			Statements: on(n.Name, attach...)},
		{Name: Verify, Targets: []string{n.Name}, Limit: env.Verify, Does: "both threads run and a write on the primary arrives",
			Statements: append(on(to.Name, prove(env.Watcher)), on(n.Name, s.waitForGTID())...)},
		{Name: Finish, Does: "record the result; run the finished hook"},
	}
	return plan, nil
}

// DivergedError names what a node has that the primary never had.
type DivergedError struct {
	Node    string
	Primary string
	Errant  string // as the flavour writes it
	Count   uint64
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("%s has %d transactions that %s does not have: %s; look at them with `failwise recover --show-errant`, then build the node anew or bring them to the primary by hand",
		e.Node, e.Count, e.Primary, e.Errant)
}

// Is makes errors.Is(err, ErrDiverged) true.
func (e *DivergedError) Is(target error) bool { return target == ErrDiverged }

// bringBack runs the steps of a recover. There is no undo: what it changes on
// the node is what the node needs anyway, and nothing else is touched.
func (r *run) bringBack(ctx context.Context) error {
	n, to := r.nodes[r.plan.OldPrimary], r.nodes[r.plan.Candidate]
	var mine, its mysql.Status
	err := r.do(ctx, Compare, n.Name, 0, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
		defer cancel()
		both := r.readAll(ctx, []string{n.Name, to.Name})
		mine, its = both[0].Status, both[1].Status
		if err := cmp.Or(both[0].Err, both[1].Err); err != nil {
			return "", err
		}
		if !its.Writable() {
			return "", fmt.Errorf("%s is not writable, so it is not the primary", to.Name)
		}
		if mine.Identity() == its.Identity() {
			return "", fmt.Errorf("%s and %s are the same server (%s)", n.Name, to.Name, mine.Identity())
		}
		// A node that can still be written to would outrun the comparison.
		if err := r.closeForGood(ctx, n, mine.Writable()); err != nil {
			return "", err
		}
		// A commit that still waits for an acknowledgement would be counted too late.
		if err := sourceOff(ctx, n, r.env.Statement); err != nil {
			return "", err
		}
		r.awaitQuiet(ctx, n)
		// The node first: what it gets from the primary in between is no difference.
		node := r.readAll(ctx, []string{n.Name})[0]
		primary := r.readAll(ctx, []string{to.Name})[0]
		mine, its = node.Status, primary.Status
		if err := cmp.Or(node.Err, primary.Err); err != nil {
			return "", err
		}
		if errant := errantOf(mine, its, r.env.Seen.Progress); !errant.IsEmpty() {
			return "", &DivergedError{Node: n.Name, Primary: to.Name, Errant: errant.String(), Count: errant.Count()}
		}
		return "all that it executed is part of the primary's history", nil
	})
	if err != nil {
		return err
	}
	r.learnHeartbeat(ctx)
	semi := its.SemiSync.Or(mysql.SemiSync{})
	err = r.do(ctx, Demote, n.Name, 0, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, r.env.Repoint)
		defer cancel()
		// A replica that works keeps its channel as it is: options, filters, account.
		if r.alreadyFollows(ctx, n, to) {
			return "follows " + to.Name + " already", errors.Join(sourceOff(ctx, n, r.env.Statement), readmit(ctx, n, r.env.Statement))
		}
		if err := r.demote(ctx, n, to, mine, semi.SourceEnabled || r.env.SemiSyncWanted); err != nil {
			return "", err
		}
		return "follows " + to.Name, nil
	})
	if err != nil {
		return err
	}
	result := NodeResult{Node: n.Name}
	err = r.do(ctx, Verify, n.Name, 0, func(ctx context.Context) (string, error) {
		bounded, cancel := context.WithTimeout(ctx, proveLimit)
		defer cancel()
		position, err := to.Session.Prove(bounded, r.env.Watcher)
		if err != nil {
			return "", fmt.Errorf("write on %s: %w", to.Name, err)
		}
		r.update(func(s *state) { s.Proof = position })
		if err := r.verifyOne(ctx, n); err != nil {
			return "", err
		}
		if err := r.stillAlike(ctx, n, to); err != nil {
			return "", err
		}
		flags, err := n.Session.ReadFlags(bounded)
		if err == nil && flags.ReadOnly.Writable() {
			err = errors.New("it is writable")
		}
		return "a write on " + to.Name + " arrived", err
	})
	result.Done = err == nil
	if err != nil {
		result.Err, result.Error = err, err.Error()
	}
	r.result.Demoted = &result
	if err != nil {
		return err
	}
	r.result.NewPrimary = to.Name
	r.wantedSemiSync(ctx, to)
	return r.do(ctx, Finish, "", 0, func(ctx context.Context) (string, error) {
		r.fire(ctx, hooks.Finished, "")
		return n.Name + " follows " + to.Name, nil
	})
}

// learnHeartbeat reads what heartbeat period the other replicas have.
func (r *run) learnHeartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	for _, node := range r.env.Nodes {
		if node.Name == r.plan.OldPrimary || node.Name == r.plan.Candidate {
			continue
		}
		st, err := node.Session.Status(ctx)
		if err != nil {
			continue
		}
		if c, err := soleChannel(st); err == nil {
			r.update(func(s *state) { s.Before[node.Name] = channelOf(c) })
			return
		}
	}
}

// awaitQuiet waits a moment until no client's session is in the middle of a statement:
// one that was ended may still be finishing its commit.
func (r *run) awaitQuiet(ctx context.Context, n *Node) {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, attachPoll) {
		list, err := n.Session.Processes(ctx)
		if err != nil {
			return
		}
		busy := slices.ContainsFunc(list, func(p mysql.Process) bool {
			return p.Client() && p.Command != "Sleep" && p.ID != n.Session.ConnectionID()
		})
		if !busy {
			return
		}
	}
}

// stillAlike makes sure that the node has not come out with a transaction of its own
// since it was compared; it stops replicating if it has.
func (r *run) stillAlike(ctx context.Context, n, to *Node) error {
	node := r.readAll(ctx, []string{n.Name})[0]
	primary := r.readAll(ctx, []string{to.Name})[0]
	if err := cmp.Or(node.Err, primary.Err); err != nil {
		return err
	}
	errant := errantOf(node.Status, primary.Status, r.env.Seen.Progress)
	if errant.IsEmpty() {
		return nil
	}
	if c, err := soleChannel(node.Status); err == nil {
		if err := stopReplication(ctx, n.Session, c.Name, r.env.Statement); err != nil {
			r.warn(fmt.Sprintf("%s: its replication could not be stopped: %v", n.Name, err))
		}
	}
	return &DivergedError{Node: n.Name, Primary: to.Name, Errant: errant.String(), Count: errant.Count()}
}

// closeLimit is how long read_only may take on a node that is closed already.
const closeLimit = time.Second

// closeForGood makes a node read-only. Where a commit waits for an acknowledgement
// that holds read_only up, on MySQL even while read_only shows as ON and
// super_read_only does not; only a fence ends such a wait.
func (r *run) closeForGood(ctx context.Context, n *Node, writable bool) error {
	if !writable {
		err := firmly(ctx, n.Session, min(closeLimit, r.env.Statement), n.Session.SetReadOnlyFirmly)
		if !errors.Is(err, ErrTimeout) {
			return err
		}
	}
	if record := r.fenceNode(ctx, n, r.env.Fence); record.State != FenceProved {
		return fmt.Errorf("%w: %s: %s", ErrNotFenced, record.State, record.Why)
	}
	return nil
}
