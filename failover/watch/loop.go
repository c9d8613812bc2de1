package watch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/rules"
)

// Run watches until ctx ends. A running promotion is finished, or undone, first.
func (w *Watcher) Run(ctx context.Context) (Ended, error) {
	ctx, w.stop = context.WithCancel(ctx)
	defer w.stop()
	var group sync.WaitGroup
	defer w.close()
	defer group.Wait()
	defer w.stop()

	if err := w.start(ctx); err != nil || w.engine == nil {
		close(w.done)
		if ctx.Err() != nil {
			err = nil // what was not found out in time is no news to who stops it
		}
		return EndedBySignal, err
	}
	work := []func(context.Context){w.surveys, w.polls, w.serve, w.shift}
	for _, m := range w.members {
		for _, p := range m.probings {
			work = append(work, p.run)
		}
	}
	for _, run := range work {
		group.Go(func() { run(ctx) })
	}
	w.watchPrimary(ctx)
	w.loop(ctx)
	return w.ended, nil
}

// loop owns the engine. It ends when ctx has ended and no operation runs.
func (w *Watcher) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer close(w.done)
	done := ctx.Done()
	for done != nil || w.running != nil || w.kept.busy {
		select {
		case <-done:
			done = nil
			w.stopped = true
			w.stopping()
			continue
		case in := <-w.inbox:
			w.tick()
			in()
			w.drain()
		case <-timer.C:
			w.tick()
		}
		w.judge(ctx)
		timer.Reset(max(0, w.engine.NextDeadline()-w.since()))
	}
}

// drain takes in everything else that belongs to this instant.
func (w *Watcher) drain() {
	for range inboxSize {
		select {
		case in := <-w.inbox:
			in()
		default:
			return
		}
	}
}

// since is the engine's time.
func (w *Watcher) since() time.Duration { return time.Since(w.began) }

func (w *Watcher) tick() { w.now = w.since() }

// judge lets the engine decide and does what it says, until it wants nothing
// more at this instant.
func (w *Watcher) judge(ctx context.Context) {
	for range 4 {
		w.events = append(w.events, w.engine.Advance(w.now)...)
		events := w.events
		w.events = nil
		for _, ev := range events {
			w.handle(ctx, ev)
		}
		if w.engine.NextDeadline() > w.now {
			break
		}
	}
	w.judgedAt = w.now
	w.waiting()
	w.persist(ctx)
}

// deliver takes a probe's result to the loop; it is called by probers.
func (w *Watcher) deliver(m *member, r check.Result) {
	w.send(func() { w.observe(m, r) })
}

// observe tells the engine the worst of what the node's probe types say.
func (w *Watcher) observe(m *member, r check.Result) {
	before := m.outcome
	m.latest[r.Type] = r
	w.cfg.Metrics.probe(m.Name, r)
	if !r.Outcome.Alive() {
		delete(w.known.fenced, m.Name)
	}
	m.outcome = w.worst(m, r)
	if m.outcome.Alive() && !before.Alive() {
		w.reader.Session(m.Name).Renew()
		m.second.Renew()
		if w.leftover != nil && slices.Contains(w.leftover.Nodes(), m.Name) {
			w.survey() // what is left there is taken back once it is certain who is the primary
		}
	}
	m.history.add(time.Now(), w.rules.Rule(m.outcome).State)
	record := journal.Record{Time: time.Now(), Kind: journal.Probe, Node: m.Name, Outcome: m.outcome, Elapsed: r.Elapsed}
	if m.outcome != before || m.outcome != rules.OK {
		record.Message, record.Data = r.Message, journal.Data(r)
	}
	w.journal.Append(record)
	if m.outcome != before {
		w.notice(Notice{Kind: "probe", Node: m.Name, Outcome: m.outcome, Level: levelOf(w.rules, m.outcome), Text: r.Message})
	}
	w.events = append(w.events, w.engine.Observe(w.now, failover.Observation{Node: m.Name, Outcome: m.outcome, Elapsed: r.Elapsed})...)
	w.returned(m, r)
}

// worst is the worst outcome of the node's types, the one just seen first among
// equals. What a type said too long ago counts no more.
func (w *Watcher) worst(m *member, r check.Result) rules.Outcome {
	worst := r.Outcome
	for t, other := range m.latest {
		p := m.probings[t]
		if t == r.Type || p == nil || !p.scheduled || time.Since(other.Start) > w.cfg.Timings.ProbeInterval+w.cfg.Timings.ProbeBudget {
			continue
		}
		worst = w.rules.Worst(worst, other.Outcome)
	}
	return worst
}

// tell gives the engine a fact and journals it.
func (w *Watcher) tell(f failover.Fact) {
	events, err := w.engine.Tell(w.now, f)
	w.events = append(w.events, events...)
	if err != nil {
		w.note(slog.LevelError, f.Node, "the engine refused a fact: %v", err)
		return
	}
	w.journal.Append(journal.Record{
		Time: time.Now(), Kind: journal.Fact, Node: f.Node, Message: f.Kind.String(), Data: journal.Data(failover.Call{At: w.now, Fact: &f}),
	})
}

// stopping says what the loop still waits for.
func (w *Watcher) stopping() {
	if w.running != nil {
		w.note(slog.LevelWarn, w.running.old, "stopping: %s is finished first; a second signal ends it where it can still be undone", w.running.what)
	}
}

// besideLimit bounds the wait for what still runs beside the loop when it ends:
// hooks, mendings, questions.
const besideLimit = 3 * time.Second

// beside runs f beside the loop.
func (w *Watcher) beside(f func()) { w.besides.Go(f) }

// close ends sessions and journal.
func (w *Watcher) close() {
	ended := make(chan struct{})
	go func() {
		w.besides.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(besideLimit):
	}
	for _, m := range w.members {
		_ = m.second.Close()
	}
	_ = w.reader.Close()
	w.recordRun(journal.Record{Time: time.Now(), Kind: journal.Stop, Message: "the watcher stops", Data: journal.Data(stopRecord{os.Getpid()})})
	ctx, cancel := context.WithTimeout(context.Background(), 2*diskLimit)
	defer cancel()
	if w.lease != nil {
		_ = w.lease.Release(ctx)
	}
	if err := w.journal.Close(ctx); err != nil {
		w.notice(Notice{Level: slog.LevelWarn, Kind: "note", Text: fmt.Sprintf("journal: %v", err)})
	}
	if w.notices != nil {
		w.notices.close(besideLimit)
	}
}

func levelOf(m *rules.Map, o rules.Outcome) slog.Level {
	if m.Online(o) {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// stopRecord is what the journal says of a run's end.
type stopRecord struct {
	PID int `json:"pid"`
}
