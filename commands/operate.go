package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/watch"
)

func switchCommand() *command {
	return &command{
		name:    "switch",
		summary: "change the primary on purpose, without losing anything",
		about: "Checks that it would work and quickly, stops new writes, waits until the candidate has executed\n" +
			"everything, opens it and attaches all others to it, the old primary included. It is lossless, or taken\n" +
			"back. A running watcher does it, so that it holds its own fire; without one the command does it itself.",
		examples: []example{
			{"switch", "to the best candidate: see failwise candidates"},
			{"switch --to db2 --reason 'kernel update on db1'", ""},
			{"switch --to db2 --dry-run", "print the plan, change nothing"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("to", "", "make node `NAME` the primary")
			f.String("reason", "", "`TEXT` for the journal")
			f.Bool("dry-run", false, "print the plan and do nothing")
		},
		values: func(in *invocation) []string { return in.nodeNames() },
		run: func(ctx context.Context, in *invocation) error {
			return in.operate(ctx, watch.Request{Operation: "switch", Node: in.String("to"), Reason: in.String("reason")})
		},
	}
}

func failoverCommand() *command {
	return &command{
		name:    "failover",
		summary: "replace the primary now, after the same checks as an automatic failover",
		about: "For a primary that is gone while the policy is manual, or that the rules do not call dead. All checks\n" +
			"run; --ignore passes over one that you name, never silently. A primary that still works is better\n" +
			"changed with switch, which loses nothing.",
		examples: []example{
			{"failover", "to the best candidate"},
			{"failover --to db3 --ignore age_limit", "soon after another one"},
			{"failover --dry-run", "print the plan, change nothing"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("to", "", "make node `NAME` the primary")
			f.StringArray("ignore", nil, "pass over the check `NAME` (repeatable): "+strings.Join(ignorable(), ", "))
			f.String("reason", "", "`TEXT` for the journal")
			f.Bool("dry-run", false, "print the plan and do nothing")
		},
		values: func(in *invocation) []string { return in.nodeNames() },
		run: func(ctx context.Context, in *invocation) error {
			r := watch.Request{Operation: "failover", Node: in.String("to"), Reason: in.String("reason")}
			for _, name := range in.StringSlice("ignore") {
				reason, err := failover.ParseReason(name)
				if err != nil || !contains(ignorable(), name) {
					return usagef("--ignore %q is no check that can be passed over", name).hint("use %s", strings.Join(ignorable(), ", "))
				}
				r.Ignore = append(r.Ignore, reason)
			}
			return in.operate(ctx, r)
		},
	}
}

// ignorable are the checks of a forced failover that a user may pass over.
func ignorable() []string {
	var names []string
	for _, r := range []failover.Reason{
		failover.LatestNotFatal, failover.InMaintenance, failover.Confirming, failover.ReplicaSeesPrimary, failover.RouteSeesPrimary,
		failover.Isolated, failover.AgeLimit, failover.Durability,
	} {
		names = append(names, r.String())
	}
	return names
}

func recoverCommand() *command {
	return &command{
		name:     "recover",
		operands: "NODE",
		summary:  "make the old primary, or a shunned node, a replica again",
		about: "Compares the node's transactions with the primary's first: it is attached only if it has none of its own.\n" +
			"Else it is refused and the transactions are named; --show-errant shows what they did.",
		examples: []example{
			{"recover db1", ""},
			{"recover db1 --show-errant", "what it has that the primary never had"},
			{"recover db1 --dry-run", "print the plan, change nothing"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("reason", "", "`TEXT` for the journal")
			f.Bool("show-errant", false, "show what the transactions did that only the node has, and do nothing")
			f.Bool("dry-run", false, "print the plan and do nothing")
		},
		min: 1, max: 1,
		values: func(in *invocation) []string { return in.nodeNames() },
		run: func(ctx context.Context, in *invocation) error {
			r := watch.Request{Operation: "recover", Node: in.Operand(0), Reason: in.String("reason")}
			return in.operate(ctx, r)
		},
	}
}

// operate has an operation done: by the cluster's watcher on this host, or by
// this process with a watcher of its own that does nothing else.
func (in *invocation) operate(ctx context.Context, r watch.Request) error {
	c, err := in.cluster()
	if err != nil {
		return err
	}
	if r.Node != "" {
		n, ok := c.Node(r.Node)
		if !ok {
			return usagef("cluster %s has no node %s", c.Name, r.Node).hint("its nodes are %s", strings.Join(c.NodeNames(), ", "))
		}
		r.Node = n.Name
	}
	r.By = in.whoami()
	dir, err := in.clusterDir(c)
	if err != nil {
		return err
	}
	progress := in.stepPrinter()
	var result promote.Result
	switch {
	case r.Operation == "recover" && in.Bool("show-errant"):
		cfg, err := in.watchConfig(ctx, c)
		if err != nil {
			return err
		}
		if err := watch.ShowErrant(ctx, cfg, r.Node, in.Out); err != nil {
			return operationFailure(err)
		}
		return nil
	case in.Bool("dry-run"):
		return in.showPlan(ctx, c, r)
	}
	result, err = watch.Ask(ctx, dir, r, progress)
	if errors.Is(err, watch.ErrNoWatcher) {
		in.remark("no watcher runs here: doing it without one")
		result, err = in.operateAlone(ctx, c, r, progress)
	}
	return in.printOperation(r, result, err)
}

// stepPrinter prints the steps of a plan as they end, on standard error.
func (in *invocation) stepPrinter() func(promote.Progress) {
	paint := in.paint(Stderr)
	return func(p promote.Progress) {
		if in.Quiet() || p.State == promote.StepBegun {
			return
		}
		text := fmt.Sprintf("%-10s %-10s %6.1f ms  %s", p.Step, p.Target, p.Seconds*1000, p.Result)
		switch p.State {
		case promote.StepFailed, promote.StepUndone:
			text = paint.red(fmt.Sprintf("%-10s %-10s %s: %s%s", p.Step, p.Target, p.State, p.Result, p.Error))
		case promote.StepNote:
			text = paint.dim(text)
		case promote.StepBegun, promote.StepDone:
		}
		fmt.Fprintln(in.Err, strings.TrimRight(text, " "))
	}
}

// operateAlone does an operation under the cluster's lock, with a watcher that
// lives as long as the operation and decides nothing by itself.
func (in *invocation) operateAlone(ctx context.Context, c *config.Cluster, r watch.Request, progress func(promote.Progress)) (promote.Result, error) {
	cfg, err := in.watchConfig(ctx, c)
	if err != nil {
		return promote.Result{}, err
	}
	return watch.Operate(ctx, cfg, r, progress)
}

// operationReport is the JSON output of switch, failover and recover.
type operationReport struct {
	Operation     string         `json:"operation"`
	Done          bool           `json:"done"`
	Error         string         `json:"error,omitempty"`
	WritesBlocked float64        `json:"writes_blocked"`
	FirstWrite    float64        `json:"first_write"`
	Took          float64        `json:"took"`
	Result        promote.Result `json:"result"`
}

func (in *invocation) printOperation(r watch.Request, result promote.Result, err error) error {
	if in.JSON() {
		report := operationReport{
			Operation: r.Operation, Done: err == nil, WritesBlocked: result.WritesBlocked.Seconds(),
			FirstWrite: result.FirstWrite.Seconds(), Took: result.Took.Seconds(), Result: result,
		}
		if err != nil {
			report.Error = err.Error()
		}
		if err := in.printJSON(report); err != nil {
			return err
		}
		if err != nil {
			return exitWith(ExitRefused)
		}
		return nil
	}
	for _, n := range result.Unpointed() {
		fmt.Fprintf(in.Err, "%s does not follow %s: %s\nhint: a running watcher tries again; or failwise recover %s\n", n.Node, result.NewPrimary, n.Error, n.Node)
	}
	for _, left := range result.UndoLeft {
		fmt.Fprintf(in.Err, "could not be taken back: %s\n", left)
	}
	if len(result.UndoLeft) > 0 && !result.Opened {
		fmt.Fprintln(in.Err, "hint: a running watcher tries again once the node answers")
	}
	if err != nil {
		return operationFailure(err)
	}
	took := result.Took.Round(time.Millisecond)
	switch r.Operation {
	case "switch":
		fmt.Fprintf(in.Out, "%s is the primary; writes were blocked for %d ms, all done after %s\n", result.NewPrimary, result.WritesBlocked.Milliseconds(), took)
	case "failover":
		fmt.Fprintf(in.Out, "%s is the primary; first write after %d ms, all done after %s; %s\n", result.NewPrimary, result.FirstWrite.Milliseconds(), took, result.Loss.Why)
	case "recover":
		fmt.Fprintf(in.Out, "%s follows %s again, read-only, after %s\n", r.Node, result.NewPrimary, took)
	}
	return nil
}

// operationFailure says what to do about an operation that failed.
func operationFailure(err error) error {
	f := refused(err)
	var (
		step    *promote.StepError
		failure *watch.Failure
		refusal *watch.Refusal
	)
	switch {
	case errors.As(err, &step) && step.Hint != "":
		f = f.hint("%s", step.Hint)
	case errors.As(err, &failure) && failure.Hint != "":
		f = f.hint("%s", failure.Hint)
	case errors.Is(err, promote.ErrNoCandidate):
		f = f.hint("failwise candidates says why each replica is not eligible")
	case errors.Is(err, watch.ErrPrimary):
		f = f.hint("failwise topology shows every node")
	case errors.As(err, &refusal) && contains(ignorable(), refusal.Reason.String()):
		f = f.hint("--ignore %s passes over this check; a primary that still works is changed with failwise switch", refusal.Reason)
	case errors.As(err, &refusal):
		f = f.hint("lifted by %s", refusal.Reason.Lifts())
	}
	return f
}

// showPlan prints what an operation would do.
func (in *invocation) showPlan(ctx context.Context, c *config.Cluster, r watch.Request) error {
	cfg, err := in.watchConfig(ctx, c)
	if err != nil {
		return err
	}
	plan, err := watch.Plan(ctx, cfg, r)
	if err != nil {
		return operationFailure(err)
	}
	if in.JSON() {
		return in.printJSON(plan)
	}
	return plan.WriteText(in.Out)
}
