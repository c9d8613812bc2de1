package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/promote"
)

// operation is what runs on the cluster: one at a time.
type operation struct {
	what string
	old  string
	// reason is the user's, of an operation that was asked for.
	reason string
	// decided: the engine decided it, so that its end is the engine's fact.
	decided   bool
	began     time.Time
	oldOnline atomic.Bool
	cancel    context.CancelFunc
	// reply and watch, if not nil, are told the end and the steps: of an operation
	// that a user asked for.
	reply func(promote.Result, error)
	watch func(promote.Progress)
	// ignore are the checks that a user's failover passes over.
	ignore []failover.Reason
	// recovers is the node that becomes a replica again.
	recovers string
	// failover is true for one that makes the old primary shunned.
	failover bool
	// opened is the node that it has made writable, empty before.
	opened string
	// steps are the lines of its progress.
	steps []promote.Progress
}

// ErrBusy says that an operation runs already.
var ErrBusy = errors.New("another operation is in progress")

// env is what a plan needs of the world at this moment.
func (w *Watcher) env() promote.Env {
	env := promote.Env{
		Cluster: w.cfg.Cluster, Choose: w.chooser(), Watcher: w.cfg.ID, By: w.cfg.Name, Lease: w.lease,
		Hooks: w.cfg.Hooks, HookFacts: hookFacts(w.cfg.Nodes), Account: w.cfg.Account, Settings: w.cfg.Promotion, Now: time.Now,
		Begin: func(ctx context.Context, op journal.Operation) (promote.Log, error) {
			log, err := journal.BeginOperation(ctx, w.dir, op)
			return log, err
		},
	}
	env.SemiSyncWanted = w.semiSyncOwed
	if w.seen.primary == w.known.roles {
		env.Seen = w.seen.Seen
	}
	for _, m := range w.members {
		a := m.Manage.Address
		env.Nodes = append(env.Nodes, promote.Node{
			Name: m.Name, Host: a.Host(), Port: int(a.Port()), Session: w.reader.Session(m.Name), Second: m.second,
			Down: !w.answers(m.Name),
		})
	}
	return env
}

// hookFacts are what MHA's scripts expect to be told: the account that manages
// the servers, and that an old primary that lives becomes a replica.
func hookFacts(nodes []Node) hooks.MHAFacts {
	if len(nodes) == 0 {
		return hooks.MHAFacts{}
	}
	account := nodes[0].Manage // one for all nodes of a cluster
	password := account.Secret.Reveal()
	return hooks.MHAFacts{
		OldUser: account.User, OldPassword: password, NewUser: account.User, NewPassword: password, OldFollows: true,
	}
}

// chooser picks candidates on final readings by the rules that everyone uses.
func (w *Watcher) chooser() promote.Chooser {
	q := w.contest()
	c := promote.Contest{Memory: w.memory, Shunned: q.Shunned, InMaintenance: q.InMaintenance, Alike: q.Alike}
	for _, n := range w.topo.Nodes {
		c.Readings = append(c.Readings, n.Reading)
	}
	return c.Choose
}

// failOver executes the engine's decision.
func (w *Watcher) failOver(ctx context.Context, ev failover.Event) {
	req := promote.FailoverRequest{OldPrimary: ev.Node, To: ev.Peer, Reason: w.sentence(ev)}
	if w.stopped {
		w.tell(failover.PromotionFailedBecause("the watcher is stopping"))
		return
	}
	if w.cfg.DryRun {
		w.showPlan(ctx, req)
		return
	}
	op := &operation{}
	if ev.Forced && w.forced != nil {
		op, w.forced = w.forced, nil
		if op.reason != "" {
			req.Reason += "; " + op.reason
		}
	}
	op.what, op.old, op.decided = "failover of "+ev.Node, ev.Node, true
	lossAllowed := slices.Contains(op.ignore, failover.Durability)
	w.operate(ctx, op, func(ctx context.Context, env promote.Env) (promote.Result, error) {
		if lossAllowed {
			env.MaxLost = nil
		}
		return promote.Failover(ctx, env, req)
	})
}

// showPlan is what a dry run does instead.
func (w *Watcher) showPlan(ctx context.Context, req promote.FailoverRequest) {
	env := w.env()
	w.beside(func() {
		plan, err := promote.PlanFailover(ctx, env, req)
		w.send(func() {
			if err == nil {
				w.notice(Notice{Level: slog.LevelWarn, Kind: "plan", Node: req.OldPrimary, Text: planText(plan)})
				err = errors.New("dry run: nothing was done")
			}
			w.tell(failover.PromotionFailedBecause(err.Error()))
			w.finishOnce(EndedByFailover)
		})
	})
}

// operate runs a plan beside the loop. It outlives the watcher's context: what
// was begun is finished, or taken back where that is still possible when the
// operation's own context is cancelled.
func (w *Watcher) operate(ctx context.Context, op *operation, run func(context.Context, promote.Env) (promote.Result, error)) {
	op.began = time.Now()
	ctx, op.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.running = op
	env := w.env()
	env.OldOnline = op.oldOnline.Load
	env.Record = w.decided[op.old]
	env.Progress = func(p promote.Progress) {
		if w.cfg.stepping != nil {
			w.cfg.stepping(p)
		}
		w.send(func() { w.progress(op, p) })
	}
	yielded := w.callBack()
	w.beside(func() {
		yielded()
		result, err := run(ctx, env)
		w.send(func() { w.finish(op, result, err) })
	})
}

// progress shows one step, and tells the engine of the one that matters to it.
func (w *Watcher) progress(op *operation, p promote.Progress) {
	op.steps = append(op.steps, p)
	if op.watch != nil {
		op.watch(p)
	}
	w.journal.Append(journal.Record{Time: p.Time, Kind: journal.Step, Node: p.Target, Elapsed: p.Took, Message: stepText(p), Data: journal.Data(p)})
	level := slog.LevelInfo
	if p.State == promote.StepFailed || p.State == promote.StepUndone {
		level = slog.LevelError
	}
	if p.State != promote.StepBegun {
		w.notice(Notice{Time: p.Time, Level: level, Kind: "step", Node: p.Target, Text: stepText(p), Step: &p})
	}
	if p.Step == promote.Open && p.State == promote.StepDone {
		op.opened = p.Target
		if op.decided {
			w.tell(failover.Opened())
		}
	}
}

func stepText(p promote.Progress) string {
	s := p.Step.String() + " " + p.State.String()
	if p.Took > 0 {
		s += fmt.Sprintf(" in %s", p.Took.Round(100*time.Microsecond))
	}
	switch {
	case p.Err != nil:
		s += ": " + p.Err.Error()
	case p.Result != "":
		s += ": " + p.Result
	}
	return s
}

// finish takes in how an operation ended.
func (w *Watcher) finish(op *operation, result promote.Result, err error) {
	op.cancel()
	w.running, w.settledAt = nil, w.now
	w.cfg.Metrics.operation(result.Plan.Operation.String(), err != nil, time.Since(op.began), result.FirstWrite)
	for _, warning := range result.Warnings {
		w.note(slog.LevelWarn, result.NewPrimary, "%s", warning)
	}
	w.leftover = result.Leftover.With(w.leftover)
	w.takenBack, w.lateTwice = nil, false
	if result.Opened && op.recovers == "" {
		w.leftover = nil
		w.semiSyncOwed = result.SemiSyncPending
		w.left = map[string]string{}
		for _, node := range result.Fallen {
			w.fallen[node] = true
		}
		delete(w.fallen, result.NewPrimary)
		w.alike = nil
		if result.Unfinished {
			w.alike = append(slices.Clone(result.Fallen), op.old)
		}
	}
	for _, n := range result.Unpointed() {
		w.left[n.Node] = n.Error
	}
	w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Decision, Node: op.old, Message: resultText(op, result, err), Data: journal.Data(outcomeRecord(op, result, err))})
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
	}
	w.notice(Notice{Level: level, Kind: "note", Node: op.old, Text: resultText(op, result, err)})
	w.settle(op, result, err)
	if op.reply != nil {
		op.reply(result, err)
	}
	w.survey()
}

// settle tells the engine what an operation means for it.
func (w *Watcher) settle(op *operation, result promote.Result, err error) {
	switch {
	case op.recovers != "":
		w.tell(failover.OperationEnded())
		if err == nil {
			w.recovered(op.recovers)
		}
	case result.Opened && result.NewPrimary != "":
		promoted := failover.PromotedTo(result.NewPrimary)
		if result.Unfinished {
			promoted = failover.PromotedUnfinished(result.NewPrimary)
		}
		switch {
		case op.decided:
			w.tell(promoted)
		case op.failover:
			w.tell(failover.OperationEnded())
			w.tell(promoted)
		default:
			w.tell(failover.OperationEnded())
			w.tell(failover.NodesAre(w.engineNodes(result.NewPrimary)))
		}
		w.setPrimary(result.NewPrimary)
		// Its progress is read next; that semi-sync is wanted is known. One that was lost
		// before its first write had nothing but what the old one was seen to have.
		last := w.seen.Seen
		w.seen = seen{primary: result.NewPrimary, Seen: promote.Seen{SemiSyncEnabled: last.SemiSyncEnabled}}
		if result.Unfinished {
			w.seen.Seen = last
		}
		w.finishOnce(EndedByFailover)
	case op.decided:
		w.tell(failover.PromotionFailedBecause(reasonOf(err)))
		w.finishOnce(EndedByFailedPromotion)
	default:
		w.tell(failover.OperationEnded())
	}
}

func reasonOf(err error) string {
	if err == nil {
		return "the plan ended without opening a node"
	}
	return err.Error()
}

// finishOnce ends a watcher that was to run until its first failover.
func (w *Watcher) finishOnce(how Ended) {
	if w.cfg.Once {
		w.ended = how
		w.stop()
	}
}

// resultText says in one line how an operation ended.
func resultText(op *operation, r promote.Result, err error) string {
	took := time.Since(op.began).Round(time.Millisecond)
	switch {
	case err != nil && r.Opened:
		return fmt.Sprintf("%s: %s is open, but: %v", op.what, r.NewPrimary, err)
	case err != nil && len(r.UndoLeft) > 0:
		return fmt.Sprintf("%s failed after %s: %v; not taken back yet, tried again once the node answers: %v", op.what, took, err, r.UndoLeft)
	case err != nil && len(r.Undone) == 0:
		return fmt.Sprintf("%s was refused, nothing was changed: %v", op.what, err)
	case err != nil:
		return fmt.Sprintf("%s failed after %s and was taken back: %v", op.what, took, err)
	case r.Plan.Operation == hooks.Recover:
		return fmt.Sprintf("%s: it follows %s again, after %s", op.what, r.NewPrimary, took)
	case r.Plan.Operation == hooks.Switch:
		return fmt.Sprintf("%s: %s is the primary; writes were blocked for %s, all done after %s",
			op.what, r.NewPrimary, r.WritesBlocked.Round(time.Millisecond), took)
	default:
		return fmt.Sprintf("%s: %s is the primary; first write after %s, all done after %s; %s",
			op.what, r.NewPrimary, r.FirstWrite.Round(100*time.Microsecond), took, r.Loss.Why)
	}
}

// operationRecord is an operation in the journal.
type operationRecord struct {
	Time      time.Time          `json:"time"`
	Kind      string             `json:"kind"` // failover, switch or recover
	Operation string             `json:"operation"`
	Old       string             `json:"old_primary"`
	Result    promote.Result     `json:"result"`
	Error     string             `json:"error,omitempty"`
	Steps     []promote.Progress `json:"steps"`
}

func outcomeRecord(op *operation, r promote.Result, err error) operationRecord {
	rec := operationRecord{Time: time.Now(), Kind: r.Plan.Operation.String(), Operation: op.what, Old: op.old, Result: r, Steps: op.steps}
	if err != nil {
		rec.Error = err.Error()
	}
	return rec
}
