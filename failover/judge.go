package failover

import (
	"time"

	"failwise/rules"
)

// settle is the settle period of a nearly_down primary.
type settle struct {
	running  bool
	end      time.Duration
	restarts int
}

// Advance judges: expiries of all nodes in their order, then settles, then
// actions. Call it when all observations and facts of an instant are in and at
// [Engine.NextDeadline]. The slice is valid until the next call.
func (e *Engine) Advance(now time.Duration) []Event {
	e.enter(now)
	e.called = e.now
	if e.quiet() {
		return e.events
	}
	e.dirty, e.again = false, false
	e.endPolicies()
	for _, n := range e.nodes {
		e.expire(n)
	}
	e.settlePrimary()
	for _, n := range e.nodes {
		e.act(n)
	}
	for _, n := range e.nodes {
		n.entered = false
	}
	e.dirty, e.operation.noticed = false, true
	e.deadline = e.nextDeadline()
	return e.events
}

// quiet reports whether nothing can have changed since the last judging.
func (e *Engine) quiet() bool {
	return !e.dirty && !e.again && e.nearlyDown == 0 && e.now < e.deadline && !e.operation.running && e.forced == nil
}

// NextDeadline returns the time at which [Engine.Advance] is to be called next
// unless an observation or a fact comes before; that of the last call if it is
// owed at once.
func (e *Engine) NextDeadline() time.Duration {
	if e.dirty || e.again {
		return e.now
	}
	return e.deadline
}

// expire evaluates the alarms of n and its stage.
func (e *Engine) expire(n *node) {
	clock, fatal := e.clock(), false
	n.muted = false
	for i := 0; i < len(n.alarms); {
		a := &n.alarms[i]
		r := e.rules[a.outcome]
		count := a.count(clock, e.timings.Tick)
		if a.window != nil && a.window.empty() {
			n.alarms = append(n.alarms[:i], n.alarms[i+1:]...)
			continue
		}
		was := a.expired
		a.expired = reached(r, count)
		if a.expired && !was {
			e.emit(Event{Kind: Expired, Node: n.Name, Outcome: a.outcome, Count: count})
		}
		if a.expired && r.Action == rules.Alert {
			e.alert(n, a, count)
		}
		fatal = fatal || a.expired && r.Fatal()
		i++
	}
	switch {
	case n.stage == HalfDown && fatal:
		e.setStage(n, NearlyDown)
		n.entered, n.expiredAt = true, e.now
	case n.stage == NearlyDown && !fatal:
		e.setStage(n, HalfDown)
	}
}

// alert tells people once about an expired alarm.
func (e *Engine) alert(n *node, a *alarm, count int) {
	switch {
	case a.alerted:
		return
	case n.maintained:
		a.muted, n.muted = true, true
		return
	case a.muted && (n.inMaintenance || n.seenAt < n.maintainedFrom || !e.supports(n.outcome, a.outcome)):
		n.muted = true
		return
	}
	a.alerted = true
	e.emit(Event{Kind: Alerted, Node: n.Name, Outcome: a.outcome, Count: count})
}

// settlePrimary begins, restarts and ends the settle period.
func (e *Engine) settlePrimary() {
	p := e.primary
	if p == nil || p.stage != NearlyDown {
		e.settle.running = false
		return
	}
	end := e.now + e.timings.Ticks(e.timings.Settle)
	if p.entered {
		e.confirm.void()
		e.settle = settle{running: e.timings.Settle > 0, end: end}
		if e.settle.running {
			e.emit(Event{Kind: SettleBegan, Node: p.Name, Outcome: p.outcome})
		}
		return
	}
	if !e.settle.running {
		return
	}
	for _, n := range e.nodes {
		if n != p && n.entered && e.settle.end != end && e.settle.restarts < e.timings.SettleRestarts {
			e.settle.end = end
			e.settle.restarts++
			e.emit(Event{Kind: SettleBegan, Node: p.Name, Outcome: p.outcome, Count: e.settle.restarts, Peer: n.Name})
		}
	}
	e.settle.running = e.now < e.settle.end
}

// act does what the stage of n asks for, or holds.
func (e *Engine) act(n *node) {
	if n == e.primary {
		e.actPrimary(n)
		return
	}
	switch n.stage {
	case NearlyDown:
		v := first(n, e.latest, e.gates, e.isolated)
		if v.holds() {
			e.hold(n, v)
			return
		}
		e.setStage(n, Shunned)
		n.shun = Shun{}
		e.again = e.again || n.vote == VoteSees // which no longer holds anybody
		e.emit(Event{Kind: ReplicaFailed, Node: n.Name, Outcome: n.outcome})
	case Shunned:
		if n.shun.FailedOverTo == "" && !n.episode && !n.inMaintenance && !n.anyExpired() && !e.gates(n).holds() {
			e.comeBack(n)
		}
	case Up, HalfDown, InFailover:
	}
}

// comeBack ends the shunning of a node.
func (e *Engine) comeBack(n *node) {
	n.shun = Shun{}
	e.setStage(n, Up)
	if n.episode {
		e.setStage(n, HalfDown)
	}
	e.again = true
	e.emit(Event{Kind: Recovered, Node: n.Name, Outcome: n.outcome})
}

func (n *node) anyExpired() bool {
	for i := range n.alarms {
		if n.alarms[i].expired {
			return true
		}
	}
	return false
}

// first returns the first verdict that holds.
func first(n *node, checks ...func(*node) verdict) verdict {
	for _, check := range checks {
		if v := check(n); v.holds() {
			return v
		}
	}
	return verdict{}
}

// nextDeadline looks for the earliest time at which something can change by
// itself.
func (e *Engine) nextDeadline() time.Duration {
	tick := e.timings.Tick
	d := (e.now/tick + 1) * tick
	earlier := func(t time.Duration) {
		if t > e.now && t < d {
			d = t
		}
	}
	earlier(e.policy.until)
	for _, n := range e.nodes {
		earlier(n.policy.until)
		for i := range n.alarms {
			a := &n.alarms[i]
			if age, ok := a.due(e.rules[a.outcome], e.clock(), tick); ok {
				earlier(a.since + age - a.age + e.skipped)
			}
		}
	}
	if p := e.primary; p != nil && p.stage == NearlyDown {
		if e.settle.running {
			earlier(e.settle.end)
		}
		earlier(e.retryAt)
		if e.lastFailover != never {
			earlier(e.lastFailover + e.timings.AgeLimit)
		}
		if e.confirm.doneAt != never {
			earlier(e.confirm.doneAt + AskAgain)
		}
		for _, n := range e.nodes {
			if n.votedAt != never {
				earlier(n.votedAt + SeesFor)
			}
		}
		if p.held.reported == PromotionFailed {
			earlier(p.held.reportedAt + reportExhausted)
		}
	}
	return d
}
