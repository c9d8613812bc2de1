package replay

import (
	"time"

	"failwise/failover"
	"failwise/rules"
)

// How long a replay waits for the recorded end of what its engine began. Under
// rules other than the recorded ones none may come.
const (
	roundLimit     = 10 * time.Second
	promotionLimit = time.Minute
)

// driver drives one engine through a timeline.
type driver struct {
	*failover.Engine
	side       Side
	nodes      []failover.Node
	stallAfter time.Duration
	// every is how often the rows say that a node was probed.
	every time.Duration
	// recorded: answers and ends of promotions come from a journal's facts;
	// otherwise all is answered at once and promotions take no time.
	recorded bool
	now      time.Duration
	// offset is the timeline's time at which the engine was made: the start of a
	// watcher's run.
	offset time.Duration
	// round and promotion are when a pending one is given up, or never.
	round, promotion time.Duration
	pending          int

	events []failover.Event
	tally  tally
}

func newDriver(side Side, nodes []failover.Node, every time.Duration, recorded bool) (*driver, error) {
	d := &driver{side: side, every: every, recorded: recorded, tally: newTally()}
	return d, d.make(nodes, failover.Automatic)
}

func (d *driver) make(nodes []failover.Node, policy failover.Policy) error {
	t := &d.side.Timings
	t.ProbeInterval = max(t.ProbeInterval, d.every)
	d.stallAfter = max(3*t.Tick, t.ProbeInterval+t.ProbeBudget)
	e, err := failover.New(failover.Config{
		Nodes: nodes, Rules: d.side.Rules, Timings: d.side.Timings, Policy: policy, Coordinator: true,
	})
	if err != nil {
		return err
	}
	d.Engine, d.nodes = e, append([]failover.Node(nil), nodes...)
	d.round, d.promotion = never, never
	d.tally.begin(d.side, nodes)
	return nil
}

// restart begins anew where the journal says that a watcher's run began.
func (d *driver) restart(at time.Duration, b *begin) {
	nodes, policy := b.Nodes, failover.Automatic
	if len(nodes) == 0 {
		nodes = d.nodes
	}
	if b.Policy != nil {
		policy = *b.Policy
	}
	if d.side.RecordedTimings {
		d.side.Timings = b.timings(d.side.Timings)
	}
	if d.side.RecordedRules && b.Profile != nil {
		d.side.Name, d.side.Rules = b.Profile.String(), b.Profile.Rules()
	}
	// Nodes that make no cluster leave the engine as it is.
	if err := d.make(nodes, policy); err == nil {
		d.offset = at
	}
}

// advanceTo judges at every deadline before at. A time without rows in which a
// watcher would call itself paused has no ticks: nobody was there.
func (d *driver) advanceTo(at time.Duration) {
	if at-d.now <= d.stallAfter {
		for {
			next := min(max(d.NextDeadline()+d.offset, d.now), d.round, d.promotion)
			if next >= at {
				break
			}
			d.judge(next)
		}
	}
	d.now = at
}

func (d *driver) observe(at time.Duration, node string, o rules.Outcome) {
	d.now = at
	if events := d.Observe(at-d.offset, failover.Observation{Node: node, Outcome: o}); len(events) > 0 {
		d.take(events)
	}
}

// judge lets the engine judge until nothing is left for this moment.
func (d *driver) judge(at time.Duration) {
	d.now = at
	if d.round <= at {
		d.round = never
		d.tell(failover.Answered(d.pending))
	}
	if d.promotion <= at {
		d.endPromotion()
	}
	for range 100 {
		if events := d.Advance(at - d.offset); len(events) > 0 {
			d.take(events)
		}
		if d.NextDeadline()+d.offset > at {
			return
		}
	}
}

// tell gives the engine a fact of this moment. One that it refuses says nothing
// about this cluster.
func (d *driver) tell(f failover.Fact) {
	events, _ := d.Tell(d.now-d.offset, f)
	d.take(events)
}

// fact takes in a fact of a journal. Rounds are counted anew, since under other
// rules they begin at other times.
func (d *driver) fact(at time.Duration, f failover.Fact) {
	d.now = at
	f.Round = 0
	switch f.Kind {
	case failover.FactRules:
		m, err := rules.Defaults().With(f.Rules, "journal")
		if !d.side.RecordedRules || err != nil {
			return
		}
		d.tally.rules = m
	case failover.FactNodes:
		d.nodes = append([]failover.Node(nil), f.Nodes...)
		d.tally.roles(f.Nodes)
	case failover.FactAnswered:
		d.round = never
	case failover.FactPromoted:
		if d.promotion == never && d.tally.primary == f.Node {
			return
		}
		d.promotion = never
	case failover.FactPromotionFailed:
		d.promotion = never
	default:
	}
	d.tell(f)
}

// addNode adds a replica that the timeline brings along.
func (d *driver) addNode(at time.Duration, name string) {
	d.now = at
	nodes := make([]failover.Node, 0, len(d.nodes)+1)
	for _, n := range d.Snapshot(at - d.offset).Nodes {
		nodes = append(nodes, failover.Node{Name: n.Name, Role: n.Role})
	}
	d.nodes = append(nodes, failover.Node{Name: name})
	d.tell(failover.NodesAre(d.nodes))
}

// take keeps the events of one call and does what they ask for.
func (d *driver) take(events []failover.Event) {
	from := len(d.events)
	var ask *failover.Event
	decided, coordinate := false, false
	for _, ev := range events {
		switch ev.Kind {
		case failover.AskReplicas:
			asked := ev
			ask = &asked
		case failover.AskCoordinator:
			coordinate = true
		case failover.FailoverDecided:
			decided = true
		default:
		}
		if !ev.Kind.Request() {
			ev.At += d.offset
			d.events = append(d.events, ev)
		}
	}
	d.tally.take(d.events[from:])
	if coordinate {
		d.tell(failover.CoordinatorIs(true))
	}
	if ask != nil {
		d.answer(*ask)
	}
	if decided {
		d.promotion = d.now
		if d.recorded {
			d.promotion += promotionLimit
		} else {
			d.endPromotion()
		}
	}
}

// answer answers a round of confirmation: at once where nothing was recorded, else
// by the facts that follow.
func (d *driver) answer(ask failover.Event) {
	if d.recorded {
		d.pending, d.round = ask.Round, d.now+roundLimit
		return
	}
	d.tell(failover.Answered(ask.Round))
}

// endPromotion lets a promotion succeed.
func (d *driver) endPromotion() {
	d.promotion = never
	if candidates := d.Candidates(); len(candidates) > 0 {
		d.tell(failover.PromotedTo(candidates[0]))
		return
	}
	d.tell(failover.PromotionFailedBecause("no replica is eligible any more"))
}

func (d *driver) finish(last time.Duration) *SideReport {
	return d.tally.finish(last, d.Snapshot(last-d.offset))
}
