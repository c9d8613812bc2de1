package watch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
)

// handle does what an event asks for, keeps it, and tells the user.
func (w *Watcher) handle(ctx context.Context, ev failover.Event) {
	w.journal.Append(journal.Record{
		Time: time.Now(), Kind: journal.Event, Node: ev.Node, Outcome: ev.Outcome, Message: w.sentence(ev), Data: journal.Data(ev),
	})
	if !ev.Kind.Request() {
		w.notice(Notice{Level: levelOfEvent(ev), Kind: ev.Kind.String(), Node: ev.Node, Outcome: ev.Outcome, Text: w.sentence(ev), Event: &ev})
	}
	switch ev.Kind {
	case failover.AlarmRaised:
		w.episodeBegan(ev.Node)
		if w.rules.Fatal(ev.Outcome) {
			w.wake(ev.Node)
		}
	case failover.Held:
		w.decide(ev)
		if ev.Forced {
			w.refused(ev)
		}
	case failover.ReplicaFailed:
		w.decide(ev)
	case failover.FailoverDecided:
		w.decide(ev)
		w.failOver(ctx, ev)
	case failover.AskReplicas:
		w.confirm(ctx, ev)
	case failover.ProbeOthers:
		for _, m := range w.members {
			if m.Name != ev.Node {
				m.probings[check.Connect].trigger()
			}
		}
	case failover.AskCoordinator:
		w.askLock(ctx)
	case failover.BackToFence:
		if w.running != nil {
			w.running.oldOnline.Store(true)
		}
	case failover.Promoted:
		w.lastOld = ev.Peer
		w.survey()
	case failover.PromotionEnded, failover.Stalled:
		w.survey()
	case failover.Healed:
		delete(w.known.episode, ev.Node)
	case failover.KindUnset, failover.Recovered, failover.Expired, failover.Alerted, failover.SettleBegan, failover.PolicyChanged:
	}
	w.fire(ctx, ev)
}

// episodeBegan notes when a node ceased to be well.
func (w *Watcher) episodeBegan(node string) {
	if w.known.episode == nil {
		w.known.episode = map[string]time.Time{}
	}
	if _, running := w.known.episode[node]; !running {
		w.known.episode[node] = time.Now()
	}
}

// wake has the survey look at the topology while the fault is young, so that a
// decision rests on fresh positions.
func (w *Watcher) wake(node string) {
	if p := w.primary(); p != nil && p.Name == node {
		w.survey()
	}
}

// hookOf maps the events that users may tie a hook to; a promotion fires its own.
var hookOf = map[failover.Kind]hooks.Event{
	failover.Alerted: hooks.Alert, failover.ReplicaFailed: hooks.ReplicaFailed, failover.Recovered: hooks.ReplicaBack,
	failover.PolicyChanged: hooks.Policy,
}

// fire runs an event's hooks beside the loop.
func (w *Watcher) fire(ctx context.Context, ev failover.Event) {
	event, ok := hookOf[ev.Kind]
	if !ok || !w.cfg.Hooks.Has(event) || w.cfg.DryRun {
		return
	}
	call := hooks.Call{Event: event, Cluster: w.cfg.Cluster, Node: ev.Node, Reason: w.sentence(ev), Record: w.decided[ev.Node], Outcome: ev.Outcome.String(), Time: time.Now()}
	w.beside(func() {
		if err := w.cfg.Hooks.Fire(context.WithoutCancel(ctx), call).Err(); err != nil {
			w.send(func() { w.note(slog.LevelWarn, ev.Node, "hook %s: %v", event, err) })
		}
	})
}

func levelOfEvent(ev failover.Event) slog.Level {
	switch ev.Kind {
	case failover.Healed, failover.Promoted, failover.Recovered, failover.PolicyChanged, failover.SettleBegan:
		return slog.LevelInfo
	case failover.FailoverDecided, failover.PromotionEnded, failover.ReplicaFailed, failover.Alerted:
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// sentence says an event in one line.
func (w *Watcher) sentence(ev failover.Event) string {
	rule := w.rules.Rule(ev.Outcome)
	switch ev.Kind {
	case failover.AlarmRaised:
		return fmt.Sprintf("%s: %s", ev.Outcome, w.fuse(ev))
	case failover.Healed:
		return "online again: its alarms are deleted"
	case failover.Expired:
		return fmt.Sprintf("%s has reached its threshold of %s: %s", ev.Outcome, ticks(rule.Threshold), rule.Action)
	case failover.Alerted:
		return fmt.Sprintf("alert: %s for %s", ev.Outcome, w.cfg.Timings.Ticks(ev.Count))
	case failover.SettleBegan:
		return fmt.Sprintf("settling: for %s no other node may go nearly_down (restart %d)", w.cfg.Timings.Ticks(w.cfg.Timings.Settle), ev.Count)
	case failover.Held:
		return w.holdSentence(ev)
	case failover.ReplicaFailed:
		return "failed: it is shunned and no candidate until it is well again"
	case failover.FailoverDecided:
		if ev.Forced {
			return w.forcedSentence()
		}
		return fmt.Sprintf("failover: %s has expired and everything allows it (%s)", ev.Outcome, w.rules.Origin(ev.Outcome))
	case failover.Promoted:
		return fmt.Sprintf("is the primary now, in place of %s", ev.Peer)
	case failover.PromotionEnded:
		return fmt.Sprintf("promotion failed (attempt %d): %s", ev.Count, ev.Detail)
	case failover.Recovered:
		return "is back: no longer shunned"
	case failover.Stalled:
		return "this process was paused: " + ev.Detail
	case failover.PolicyChanged:
		return w.policySentence(ev)
	case failover.KindUnset, failover.AskReplicas, failover.ProbeOthers, failover.AskCoordinator, failover.BackToFence:
	}
	return ev.Kind.String()
}

// forcedSentence says who ordered a failover and what he passed over.
func (w *Watcher) forcedSentence() string {
	op := w.forced
	if op == nil {
		return "failover: ordered by hand, and every check allows it"
	}
	s := "failover: " + op.reason
	if len(op.ignore) > 0 {
		s += fmt.Sprintf(", passing over %v", op.ignore)
	}
	return s + "; every other check allows it"
}

// fuse says what a new alarm will lead to, and when.
func (w *Watcher) fuse(ev failover.Event) string {
	r := w.rules.Rule(ev.Outcome)
	if policy := w.policyOf(ev.Node); r.Fatal() && policy != failover.Automatic {
		return fmt.Sprintf("the rules say %s after %s, but the policy is %s: nothing is failed over", r.Action, ticks(r.Threshold), policy)
	}
	switch {
	case r.Threshold < 0:
		return "logged only, never acted on"
	case r.Window > 0:
		return fmt.Sprintf("%s when %d of the last %d ticks had it", r.Action, r.Threshold, r.Window)
	case r.Threshold == 0:
		return fmt.Sprintf("%s at once", r.Action)
	default:
		return fmt.Sprintf("%s after %s (%s)", r.Action, ticks(r.Threshold), w.cfg.Timings.Ticks(r.Threshold))
	}
}

// policyOf is the policy that holds for a node.
func (w *Watcher) policyOf(node string) failover.Policy {
	s := w.engine.Snapshot(w.now)
	for _, n := range s.Nodes {
		if n.Name == node && n.Maintenance {
			return failover.Maintenance
		}
	}
	return s.Policy.Policy
}

func ticks(n int) string {
	if n == 1 {
		return "1 tick"
	}
	return fmt.Sprintf("%d ticks", n)
}

func (w *Watcher) holdSentence(ev failover.Event) string {
	s := "holding: " + ev.Reason.Means()
	if ev.Peer != "" {
		s += " (" + ev.Peer + ")"
	}
	if ev.Detail != "" {
		s += ": " + ev.Detail
	}
	return s + "; lifted by " + ev.Reason.Lifts()
}

func (w *Watcher) policySentence(ev failover.Event) string {
	s := "policy is " + ev.Policy.String()
	if ev.Detail != "" {
		s += " (" + ev.Detail + ")"
	}
	return s
}
