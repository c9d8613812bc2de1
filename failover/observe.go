package failover

import (
	"time"

	"failwise/rules"
)

// Observe takes in the result of a probe and returns what it changed about
// alarms. It decides nothing: call [Engine.Advance] when all observations and
// facts of the instant are in. The slice is valid until the next call.
func (e *Engine) Observe(now time.Duration, ob Observation) []Event {
	e.enter(now)
	e.called = e.now
	n, o := e.node(ob.Node), ob.Outcome
	if n == nil || !o.Valid() || o == rules.NotOnline {
		return e.events
	}
	if o.Reached() {
		n.reachedAt = e.now
	}
	if n.inMaintenance || n.muted {
		// What waited for a fresh observation has one.
		e.dirty = true
	}
	changed := n.outcome != o
	n.outcome, n.seenAt, n.inMaintenance = o, e.now, false
	n.online = e.online[o]
	if changed {
		e.dirty = true
		e.retime(n)
	}
	if n.online {
		e.observeOnline(n)
	} else {
		e.observeBad(n)
	}
	return e.events
}

// observeOnline heals.
func (e *Engine) observeOnline(n *node) {
	n.onlineRun++
	if len(n.alarms) == 0 && !n.episode {
		return
	}
	need, unwindowed := 1, false
	for i := range n.alarms {
		if a := &n.alarms[i]; a.window == nil {
			unwindowed = true
			need = max(need, e.rules[a.outcome].Heal)
		} else {
			a.window.observe(int64(a.ageAt(e.clock())/e.timings.Tick), false)
		}
	}
	if (n.episode || unwindowed) && n.onlineRun >= need {
		e.heal(n)
	}
}

func (e *Engine) heal(n *node) {
	kept := n.alarms[:0]
	for _, a := range n.alarms {
		if a.window != nil {
			kept = append(kept, a)
		}
	}
	clear(n.alarms[len(kept):])
	n.alarms = kept
	n.episode = false
	if n.stage == HalfDown || n.stage == NearlyDown {
		e.setStage(n, Up)
	}
	if n == e.primary {
		e.attempts = 0
		e.operation.healed = true
	}
	e.dirty = true
	e.emit(Event{Kind: Healed, Node: n.Name, Outcome: n.outcome})
}

// observeBad raises alarms.
func (e *Engine) observeBad(n *node) {
	n.onlineRun = 0
	if !n.episode {
		n.episode, e.dirty = true, true
		if n.stage == Up {
			e.setStage(n, HalfDown)
		}
	}
	if !e.rules[n.outcome].Fatal() {
		e.endInstant(n)
	}
	e.raise(n, n.outcome)
	if e.rules[rules.NotOnline].Window > 0 {
		e.raise(n, rules.NotOnline)
	}
	for i := range n.alarms {
		if a := &n.alarms[i]; a.window != nil {
			a.window.observe(int64(a.ageAt(e.clock())/e.timings.Tick), n.shows(a.outcome))
		}
	}
}

// shows reports whether the node's latest observation has the alarm's outcome.
func (n *node) shows(alarm rules.Outcome) bool {
	return alarm == n.outcome || alarm == rules.NotOnline && !n.online && n.seenAt != never
}

// endInstant ends the fatal alarms of threshold 0: they have no count to keep.
func (e *Engine) endInstant(n *node) {
	for i := 0; i < len(n.alarms); {
		if a := n.alarms[i]; a.window == nil && e.rules[a.outcome].Fatal() && e.rules[a.outcome].Threshold == 0 {
			n.alarms = append(n.alarms[:i], n.alarms[i+1:]...)
			e.dirty = true
			continue
		}
		i++
	}
}

// raise begins an alarm unless it runs already.
func (e *Engine) raise(n *node, o rules.Outcome) {
	i := 0
	for i < len(n.alarms) && n.alarms[i].outcome < o {
		i++
	}
	if i < len(n.alarms) && n.alarms[i].outcome == o {
		return
	}
	r := e.rules[o]
	a := alarm{outcome: o, raisedAt: e.now, running: e.runs(n, o, r.Window > 0)}
	a.restart(e.clock(), r.Window, true)
	n.alarms = append(n.alarms, alarm{})
	copy(n.alarms[i+1:], n.alarms[i:])
	n.alarms[i] = a
	e.dirty = true
	e.emit(Event{Kind: AlarmRaised, Node: n.Name, Outcome: o})
	if r.Fatal() {
		e.emit(Event{Kind: ProbeOthers, Node: n.Name, Outcome: n.outcome})
	}
}

// runs reports whether the clock of an alarm of n runs.
func (e *Engine) runs(n *node, alarm rules.Outcome, windowed bool) bool {
	return !n.maintained && (windowed || e.supports(n.outcome, alarm))
}

// retime starts and stops the clocks of n's alarms.
func (e *Engine) retime(n *node) {
	for i := range n.alarms {
		a := &n.alarms[i]
		if r := e.runs(n, a.outcome, a.window != nil); r != a.running {
			a.run(e.clock(), r)
		}
	}
}
