package watch

import (
	"context"
	"log/slog"
	"time"

	"failwise/failover"
	"failwise/failover/journal"
)

// readRules looks each second whether the rule file has changed, and reads it when
// asked to. A disk that hangs with the file holds up nothing else.
func (w *Watcher) readRules(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	if w.cfg.Statemap == "" {
		ticker.Stop()
	}
	for {
		var r reading
		var fresh bool
		select {
		case <-ctx.Done():
			return
		case <-w.reload:
			r, fresh = w.statemap.load()
		case <-ticker.C:
			r, fresh = w.statemap.poll()
		}
		if fresh && !w.send(func() { w.takeRules(r) }) {
			return
		}
	}
}

// Reload has the rule file read again at once.
func (w *Watcher) Reload() {
	select {
	case w.reload <- struct{}{}:
	default: // asked for already
	}
}

// takeRules puts new rules in force; a file that was rejected changes nothing.
func (w *Watcher) takeRules(r reading) {
	for _, p := range r.warnings {
		w.note(slog.LevelWarn, "", "statemap: %s", p.Error())
	}
	if r.err != nil {
		w.note(slog.LevelError, "", "statemap rejected, the rules before it stay in force: %v", r.err)
		return
	}
	w.rules = r.rules
	w.tell(failover.RulesAre(r.rules))
	text := "statemap read again: no rule has changed"
	for i, c := range r.changes {
		if i == 0 {
			text = "rules have changed:"
		}
		text += "\n  " + c.String()
	}
	w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Rules, Message: text, Data: journal.Data(r.changes)})
	w.notice(Notice{Kind: "rules", Text: text})
}
