package promote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"failwise/failover/journal"
)

// run is one execution of a plan.
type run struct {
	env     Env
	plan    *Plan
	log     Log
	started time.Time
	nodes   map[string]*Node

	mu     sync.Mutex // guards state and result while targets are served in parallel
	state  state
	result Result

	// repoints are the siblings' repoints once begun; stopRepoints gives them up.
	repoints     map[string]*repointing
	stopRepoints context.CancelFunc

	attended *attention      // the watch over the candidate, nil while there is none
	gone     map[string]bool // candidates that were silent or lost
	resumed  bool            // an earlier process may have done part of it
	mending  bool            // of a node that a promotion left behind
	stalled  bool            // semi-sync was switched off since nobody acknowledged
	picked   chosen
	readings map[string]Reading // the last good reading of each replica

	blocked time.Time // when a switch began to keep clients from writing
	blocker uint64    // the server's id of the session that does

	tell  sync.Mutex // one Progress call at a time
	later sync.WaitGroup
}

func newRun(env Env, plan Plan) *run {
	env.Settings = env.withDefaults()
	if env.Now == nil {
		env.Now = time.Now
	}
	r := &run{env: env, started: time.Now(), nodes: map[string]*Node{}, readings: map[string]Reading{}, gone: map[string]bool{}, log: noLog{}}
	for i := range env.Nodes {
		r.nodes[env.Nodes[i].Name] = &env.Nodes[i]
	}
	r.state.Plan = plan
	r.state.Before = map[string]channel{}
	r.plan = &r.state.Plan
	return r
}

// noLog stands in where no log is kept.
type noLog struct{}

func (noLog) Step(context.Context, journal.StepEntry) error           { return nil }
func (noLog) Finish(context.Context, time.Time, string, string) error { return nil }

// do runs one step: it writes the intent, tells the display, bounds the time and
// notes how it ended. f returns what came of it in words.
func (r *run) do(ctx context.Context, name StepName, target string, limit time.Duration, f func(context.Context) (string, error)) error {
	if r.state.Opened {
		forward, cancel := r.unstoppable(ctx)
		defer cancel()
		ctx = forward
	} else if ctx.Err() != nil {
		return &StepError{Step: name, Target: target, Err: fmt.Errorf("stopped: %w", context.Cause(ctx))}
	}
	if saidBefore(name) {
		r.writeLater(journal.StepBegin, name, target, "")
	} else {
		r.write(ctx, journal.StepBegin, name, target, "")
	}
	r.report(Progress{Step: name, Target: target, State: StepBegun})
	stepCtx, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		stepCtx, cancel = context.WithTimeout(ctx, limit)
	}
	begun := time.Now()
	words, err := f(stepCtx)
	cancel()
	took := time.Since(begun)
	r.mu.Lock()
	r.result.Durations = append(r.result.Durations, StepDuration{Step: name, Took: took, Seconds: took.Seconds()})
	r.mu.Unlock()
	p := Progress{Step: name, Target: target, State: StepDone, Took: took, Result: words}
	mark := journal.StepDone
	if err != nil {
		if isSilent(ctx) && !errors.Is(err, errSilent) {
			err = fmt.Errorf("%w: %w", errSilent, err)
		}
		var step *StepError
		if !errors.As(err, &step) {
			err = &StepError{Step: name, Target: target, Err: err, Opened: r.state.Opened}
		}
		p.State, p.Err, mark, words = StepFailed, err, journal.StepFailed, err.Error()
	}
	r.writeLater(mark, name, target, words)
	r.report(p)
	return err
}

// saidBefore tells whether the step's intent is part of what the step before it
// has written and synced: the claim names whom starve stops, and open says that
// the way is forward. Waiting for the disk once more would tell nothing new.
func saidBefore(name StepName) bool { return name == Starve || name == Prove }

// write puts an entry with the whole state into the log and waits for the disk,
// within the log's own bound.
func (r *run) write(ctx context.Context, mark journal.StepMark, name StepName, target, message string) {
	entry := r.entry(mark, name, target, message)
	if err := r.log.Step(context.WithoutCancel(ctx), entry); err != nil {
		r.warn(fmt.Sprintf("step %s is not known to be in the promotion log: %v", name, err))
	}
}

// writeLater does not wait: the entry only repeats what the next one says too.
func (r *run) writeLater(mark journal.StepMark, name StepName, target, message string) {
	entry := r.entry(mark, name, target, message)
	r.later.Go(func() { _ = r.log.Step(context.Background(), entry) })
}

func (r *run) entry(mark journal.StepMark, name StepName, target, message string) journal.StepEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Seq++
	data, err := r.state.encode()
	if err != nil {
		r.result.Warnings = append(r.result.Warnings, err.Error())
	}
	return journal.StepEntry{Time: r.env.Now(), Mark: mark, Step: name.String(), Target: target, Message: message, Data: data}
}

func (r *run) report(p Progress) {
	if r.env.Progress == nil {
		return
	}
	p.Plan = r.plan.ID
	p.Time = r.env.Now()
	p.Seconds = p.Took.Seconds()
	if p.Err != nil {
		p.Error = p.Err.Error()
	}
	r.tell.Lock()
	defer r.tell.Unlock()
	r.env.Progress(p)
}

// note is a line within a step.
func (r *run) note(name StepName, target, words string) {
	r.report(Progress{Step: name, Target: target, State: StepNote, Result: words})
}

func (r *run) warn(words string) {
	r.mu.Lock()
	r.result.Warnings = append(r.result.Warnings, words)
	r.mu.Unlock()
	r.report(Progress{State: StepNote, Result: words})
}

// update changes the state under its lock.
func (r *run) update(f func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.state)
}

// each serves the nodes in parallel and returns their errors by name. A node
// without entry is not configured and gets an error.
func (r *run) each(names []string, f func(*Node) error) map[string]error {
	errs := make(map[string]error, len(names))
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for _, name := range names {
		node := r.nodes[name]
		if node == nil {
			mu.Lock()
			errs[name] = fmt.Errorf("%s is not a configured node", name)
			mu.Unlock()
			continue
		}
		wg.Go(func() {
			err := f(node)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	wg.Wait()
	return errs
}
