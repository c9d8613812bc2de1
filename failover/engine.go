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
	// muted: an alert waits for the first observation after a maintenance.
	muted     bool
	online    bool
	onlineRun int
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
