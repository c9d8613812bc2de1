package failover

import (
	"time"

	"failwise/rules"
)

// never is a time before every other.
const never = time.Duration(-1 << 62)

// Engine decides for one cluster. It is not safe for concurrent use. The zero
// value is of no use: take [New].
type Engine struct {
	timings rules.Timings
	// fresh is the age up to which an observation counts; stallAfter is the
	// longest time between two calls that is no pause.
	fresh, stallAfter time.Duration

	ruleset
	nodes []*node
	// primary is nil if no node is the primary. allLocal: no node is elsewhere.
	primary  *node
	allLocal bool

	// now is the time of the call in hand, called that of the last Observe or
	// Advance.
	now, called time.Duration
	// skipped is what pauses took away from the clock of alarms.
	skipped time.Duration
	// freshFrom is the end of the last pause: older observations are not acted
	// on.
	freshFrom time.Duration

	policy      policyHold
	coordinator bool
	// askCoordinator: the coordinator fact is void and has not come yet.
	askCoordinator bool

	settle    settle
	confirm   confirm
	operation operation
	elsewhere operation
	durable   bool
	undurable string
	forced    *Fact

	quotaUsed    int
	lastFailover time.Duration
	attempts     int
	retryAt      time.Duration

	// dirty: something changed that Advance has not judged. again: this instant
	// needs one more Advance. nearlyDown counts such nodes.
	dirty, again bool
	nearlyDown   int
	deadline     time.Duration

	events []Event
}

// node is one node and what is known about it.
type node struct {
	Node
	index   int
	outcome rules.Outcome
	// seenAt is when outcome was observed; inMaintenance: in a maintenance that
	// has ended since.
	seenAt        time.Duration
	inMaintenance bool
	reachedAt     time.Duration
	online        bool
	onlineRun     int
	// episode: bad since the last self-heal.
	episode bool
	stage   Stage
	shun    Shun
	// alarms are sorted by outcome.
	alarms []alarm
	// entered: it entered nearly_down at the judging in hand.
	entered   bool
	expiredAt time.Duration

	policy policyHold
	// maintained and maintainedFrom are about the maintenance that holds for the
	// node, its own or the cluster's.
	maintained     bool
	maintainedFrom time.Duration

	vote       Vote
	votedAt    time.Duration
	ineligible bool
	why        string

	held hold
}

// New returns an engine at time 0 of the caller's clock.
func New(c Config) (*Engine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	t := c.Timings
	e := &Engine{
		timings: t, fresh: t.ProbeInterval + t.ProbeBudget,
		called: never, freshFrom: never, lastFailover: never, retryAt: never,
		durable: true, coordinator: c.Coordinator, dirty: true,
	}
	e.stallAfter = max(3*t.Tick, e.fresh)
	e.policy = policyHold{policy: c.Policy, until: never}
	m := c.Rules
	if m == nil {
		m = rules.Defaults()
	}
	e.setRule(m.Rule)
	e.settle.end, e.confirm.doneAt = never, never
	e.setNodes(c.Nodes)
	e.restore(c.State)
	return e, nil
}

func newNode(n Node) *node {
	return &node{Node: n, outcome: rules.Undefined, seenAt: never, reachedAt: never, votedAt: never, maintainedFrom: never,
		policy: policyHold{policy: Automatic, until: never}}
}

// setNodes replaces the nodes and keeps what is known about those that stay.
func (e *Engine) setNodes(nodes []Node) {
	next, before := make([]*node, len(nodes)), e.primary
	e.primary, e.allLocal, e.nearlyDown = nil, true, 0
	for i, c := range nodes {
		n := e.node(c.Name)
		if n == nil {
			n = newNode(c)
		}
		n.Node, n.index = c, i
		next[i] = n
		if c.Role == Primary {
			e.primary = n
		}
		e.allLocal = e.allLocal && c.Local
		if n.stage == NearlyDown {
			e.nearlyDown++
		}
	}
	e.nodes = next
	if e.primary != before {
		e.newPrimary()
	}
	for _, n := range e.nodes {
		e.maintain(n)
	}
	e.dirty = true
}

// newPrimary forgets what was known about the failing of another one. A node that
// is nearly_down already enters anew, so that it settles.
func (e *Engine) newPrimary() {
	e.settle.running = false
	e.confirm.void()
	e.attempts, e.retryAt = 0, never
	if e.primary != nil && e.primary.stage == NearlyDown {
		e.setStage(e.primary, HalfDown)
	}
}

// node returns the node of that name, nil if there is none.
func (e *Engine) node(name string) *node {
	for _, n := range e.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// clock is the time on which alarms count.
func (e *Engine) clock() time.Duration { return e.now - e.skipped }

// enter begins a call. A time before the last call's is taken as that.
func (e *Engine) enter(now time.Duration) {
	e.events = e.events[:0]
	if now > e.now {
		e.now = now
	}
	if e.called != never && e.now-e.called > e.stallAfter {
		e.stalled(e.now - e.called)
	}
}

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

// setStage moves a node to another stage.
func (e *Engine) setStage(n *node, s Stage) {
	if n.stage == s {
		return
	}
	if n.stage == NearlyDown {
		e.nearlyDown--
		n.held.end()
	}
	if s == NearlyDown {
		e.nearlyDown++
	}
	n.stage = s
}

func (e *Engine) emit(ev Event) {
	ev.At = e.now
	e.events = append(e.events, ev)
}

// ruleset is the rules as the engine looks them up.
type ruleset struct {
	rules  [rules.NumOutcomes]rules.Rule
	online [rules.NumOutcomes]bool
	// supported has, per observed outcome, one bit per alarm that it supports.
	supported [rules.NumOutcomes]uint64
}

func (s *ruleset) setRule(rule func(rules.Outcome) rules.Rule) {
	for _, o := range rules.Outcomes() {
		s.rules[o] = rule(o)
		s.online[o] = s.rules[o].State == rules.Online
	}
	for _, o := range rules.Outcomes() {
		s.supported[o] = 0
		if s.online[o] {
			continue
		}
		for _, alarm := range rules.Outcomes() {
			serious := s.rules[o].Severity() >= s.rules[alarm].Severity()
			if alarm == rules.NotOnline || serious && (alarm.Alive() || !o.Alive()) {
				s.supported[o] |= 1 << alarm
			}
		}
	}
}

// supports reports whether an observation keeps an alarm's clock running.
func (s *ruleset) supports(o, alarm rules.Outcome) bool { return s.supported[o]>>alarm&1 == 1 }

// A bit per outcome must fit.
var _ [64 - rules.NumOutcomes]struct{} = [64 - rules.NumOutcomes]struct{}{}

// ruleTable returns the rules as data.
func ruleTable(m *rules.Map) map[rules.Outcome]rules.Rule {
	table := make(map[rules.Outcome]rules.Rule, rules.NumOutcomes)
	for _, o := range rules.Outcomes() {
		table[o] = m.Rule(o)
	}
	return table
}
