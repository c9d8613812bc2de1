package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// startDiskLimit bounds the first look at the state directory, which is worth
// waiting for: it holds the policy.
const startDiskLimit = 3 * time.Second

// start looks at disk, lock and cluster once, and makes the engine. There is none
// when ctx ended before the cluster had answered.
func (w *Watcher) start(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, startDiskLimit)
	defer cancel()
	state, version, err := w.state.Load(limit)
	if err != nil {
		return fmt.Errorf("state directory %s: %w", w.cfg.Dir, err)
	}
	w.kept.state, w.kept.version = state, version
	if len(state.Topology) > 0 {
		if err := json.Unmarshal(state.Topology, &w.memory); err != nil {
			return fmt.Errorf("state directory %s: last healthy topology: %w", w.cfg.Dir, err)
		}
	}
	first, ok := w.statemap.loadWithin(limit)
	if first.err != nil {
		return first.err
	}
	if ok {
		w.rules = first.rules
	}
	readings := w.reader.ReadDeep(ctx)
	if ctx.Err() != nil {
		return nil
	}
	w.memory.Deposed = map[string]string{}
	for name, s := range state.Shunned {
		if s.FailedOverTo != "" {
			w.memory.Deposed[name] = s.FailedOverTo
		}
	}
	w.topo = topology.Judge(readings, w.memory, time.Now())
	if m, ok := w.topo.Remember(w.memory); ok {
		w.memory = m
	}
	if err := w.makeEngine(state); err != nil {
		return err
	}
	w.greet(first)
	w.remember()
	w.takeEligible()
	w.report()
	if w.topo.Primary == "" {
		w.note(slog.LevelError, "", "%v: nothing can be promoted until there is one", ErrPrimary)
	}
	w.pollLock(ctx)
	w.keepSecond(ctx)
	return nil
}

func (w *Watcher) makeEngine(state journal.State) error {
	earlier, err := restored(state, time.Now())
	if err != nil {
		return err
	}
	for name := range earlier.Shunned {
		if w.member(name) == nil {
			delete(earlier.Shunned, name)
		}
	}
	if w.cfg.observer {
		earlier.Policy, earlier.NodePolicies = nil, nil
	}
	cfg := failover.Config{
		Nodes: w.engineNodes(w.topo.Primary), Rules: w.rules, Timings: w.cfg.Timings, Policy: w.cfg.Policy,
		Coordinator: w.cfg.DryRun, State: earlier,
	}
	w.began = time.Now()
	if w.engine, err = failover.New(cfg); err != nil {
		return err
	}
	w.known.roles, w.known.fenced = w.topo.Primary, map[string]bool{}
	w.kept.engine = w.engine.State(0)
	w.semiSyncOwed, w.kept.semiSyncOwed = state.SemiSyncOwed, state.SemiSyncOwed
	w.learnLeftover(state)
	w.recordRun(journal.Record{Time: w.began, Kind: journal.Start, Message: "failwise " + w.cfg.Version, Data: journal.Data(startRecord{
		PID: os.Getpid(), Version: w.cfg.Version, Cluster: w.cfg.Cluster, Nodes: cfg.Nodes, Profile: w.cfg.Profile, Policy: cfg.Policy,
		Tick: w.cfg.Timings.Tick.Seconds(), ProbeInterval: w.cfg.Timings.ProbeInterval.Seconds(), ProbeBudget: w.cfg.Timings.ProbeBudget.Seconds(),
		Settle: w.cfg.Timings.Settle, Quota: w.cfg.Timings.Quota, AgeLimit: w.cfg.Timings.AgeLimit.Seconds(),
	})})
	return nil
}

// recordRun writes the begin or the end of a run that watches: one that only
// looks, or serves one request, is none.
func (w *Watcher) recordRun(r journal.Record) {
	if !w.cfg.observer && !w.cfg.DryRun {
		w.journal.Append(r)
	}
}

// startRecord is what the journal says of a run.
type startRecord struct {
	PID           int             `json:"pid"`
	Version       string          `json:"version"`
	Cluster       string          `json:"cluster"`
	Nodes         []failover.Node `json:"nodes"`
	Profile       rules.Profile   `json:"profile"`
	Policy        failover.Policy `json:"policy"`
	Tick          float64         `json:"tick"`
	ProbeInterval float64         `json:"probe_interval"`
	ProbeBudget   float64         `json:"probe_budget"`
	Settle        int             `json:"settle"`
	Quota         int             `json:"quota"`
	AgeLimit      float64         `json:"age_limit"`
}

// greet says what will be done with which rules.
func (w *Watcher) greet(r reading) {
	for _, p := range r.warnings {
		w.note(slog.LevelWarn, "", "statemap: %s", p.Error())
	}
	s := w.engine.Snapshot(0)
	w.notice(Notice{Kind: "start", Node: w.known.roles, Text: fmt.Sprintf("watching %s: primary %s, policy %s, profile %s, a tick is %s, a probe every %s",
		w.cfg.Cluster, orNone(w.known.roles), s.Policy.Policy, w.cfg.Profile, w.cfg.Timings.Tick, w.cfg.Timings.ProbeInterval)})
	for _, line := range w.intentions() {
		w.notice(Notice{Kind: "start", Text: line})
	}
	if s.Policy.Policy != failover.Automatic {
		level := slog.LevelWarn
		w.notice(Notice{Level: level, Kind: "start", Text: fmt.Sprintf("policy is %s: nothing is failed over until `failwise policy automatic`", s.Policy.Policy)})
	}
}

// intentions groups the outcomes by what will be done about them.
func (w *Watcher) intentions() []string {
	var lines []string
	index := map[string]int{}
	var never []string
	for _, o := range rules.Outcomes() {
		r := w.rules.Rule(o)
		if r.State == rules.Online || o == rules.Undefined || o == rules.UntrappedCondition {
			continue
		}
		if r.Threshold < 0 || r.Action == rules.None {
			never = append(never, o.String())
			continue
		}
		text := fmt.Sprintf("%s at once", r.Action)
		switch {
		case r.Window > 0:
			text = fmt.Sprintf("%s after %d of %d ticks", r.Action, r.Threshold, r.Window)
		case r.Threshold > 0:
			text = fmt.Sprintf("%s after %s", r.Action, w.cfg.Timings.Ticks(r.Threshold))
		}
		if i, ok := index[text]; ok {
			lines[i] += ", " + o.String()
			continue
		}
		index[text] = len(lines)
		lines = append(lines, text+": "+o.String())
	}
	if len(never) > 0 {
		lines = append(lines, fmt.Sprintf("logged only, never acted on: the other %d, such as %s", len(never), example(never)))
	}
	return lines
}

// example names one outcome that people often expect to be fatal.
func example(never []string) string {
	for _, o := range never {
		if o == rules.QueryExecTimeout.String() {
			return o
		}
	}
	return never[0]
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// watchPrimary keeps the tripwire on the primary.
func (w *Watcher) watchPrimary(ctx context.Context) {
	for _, m := range w.members {
		switch {
		case m.Name == w.known.roles && m.wire == nil:
			wireCtx, cut := context.WithCancel(ctx)
			m.wire = cut
			t := tripwire{server: m.Monitor, retry: w.cfg.Timings.ProbeInterval, tripped: func() {
				for _, p := range m.probings {
					if p.scheduled || p.prober.Type() == check.Connect {
						p.trigger()
					}
				}
			}}
			go t.run(wireCtx)
		case m.Name != w.known.roles && m.wire != nil:
			m.wire()
			m.wire = nil
		}
	}
}

// resume finishes what a watcher that died has left unfinished.
func (w *Watcher) resume(ctx context.Context, found []journal.OperationLog) {
	if len(found) == 0 || w.running != nil || w.stopped {
		return
	}
	last := found[len(found)-1]
	for _, older := range found[:len(found)-1] {
		w.note(slog.LevelWarn, older.Operation.OldPrimary, "an older %s of %s was never finished either and is left alone: log %s", older.Operation.Kind, orNone(older.Operation.OldPrimary), older.Operation.ID)
	}
	what := fmt.Sprintf("unfinished %s of %s begun %s", last.Operation.Kind, orNone(last.Operation.OldPrimary), last.Operation.Time.Format(time.RFC3339))
	w.note(slog.LevelWarn, last.Operation.OldPrimary, "resuming the %s", what)
	w.tell(failover.OperationBegan(what))
	op := &operation{what: what, old: last.Operation.OldPrimary, failover: last.Operation.Kind == journal.OpFailover}
	if last.Operation.Kind == journal.OpRecover {
		op.recovers = last.Operation.OldPrimary
	}
	log := journal.ResumeOperation(w.dir, last)
	w.operate(ctx, op, func(ctx context.Context, env promote.Env) (promote.Result, error) {
		return promote.Resume(ctx, env, last, log)
	})
}
