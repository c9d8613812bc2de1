package replay

import (
	"fmt"
	"sort"
	"time"

	"failwise/failover"
	"failwise/rules"
)

const never = time.Duration(1<<63 - 1)

// eventsAround is how many events a failure shows.
const eventsAround = 10

// Result is how one test ended.
type Result struct {
	Test *Test
	// Failures are the expectations that do not hold; none means passed.
	Failures []Failure
	// Events is all that happened, requests left out.
	Events []failover.Event
}

// Passed reports whether every expectation holds.
func (r Result) Passed() bool { return len(r.Failures) == 0 }

// Failure is one expectation that does not hold.
type Failure struct {
	// Line is where it stands in the file.
	Line int
	// Expected is the expectation as it was written, Happened what is so instead.
	Expected string
	Happened string
	// Around are up to ten events, those closest to the expected moment.
	Around []failover.Event
}

// run is one run of a test in virtual time.
type run struct {
	*failover.Engine
	test *Test
	now  time.Duration
	err  error

	outcomes       map[string]rules.Outcome
	votes          map[string]failover.Vote
	route          failover.Route
	observers      failover.Observers
	coordinator    bool
	rules          *rules.Map
	promotionFails bool
	promotionTakes time.Duration

	nextStep     int
	nextProbe    time.Duration
	promotionEnd time.Duration
	// paused is the end of the pause in which this process is stopped, or never.
	paused time.Duration
	probed time.Duration

	events []failover.Event
	// checks are the expectations about moments still to come; seen has what was
	// so instead for those that are over, empty if they hold.
	checks []*expectation
	seen   map[*expectation]string
}

// Run runs the test.
func (t *Test) Run() (Result, error) {
	timings := t.setup.timings
	timings.ProbeInterval = t.probeEvery
	e, err := failover.New(failover.Config{
		Nodes: t.setup.nodes, Rules: t.setup.rules, Timings: timings,
		Policy: failover.Automatic, Coordinator: true,
	})
	if err != nil {
		return Result{}, fmt.Errorf("%s:%d: %w", t.File, t.Line, err)
	}
	r := &run{
		Engine: e, test: t, rules: t.setup.rules, coordinator: true, observers: failover.ObserversAgree,
		outcomes: map[string]rules.Outcome{}, votes: map[string]failover.Vote{},
		promotionEnd: never, paused: never, probed: -1, seen: map[*expectation]string{},
	}
	for _, n := range t.setup.nodes {
		r.outcomes[n.Name], r.votes[n.Name] = rules.OK, failover.VoteLost
	}
	for i := range t.expect {
		if x := &t.expect[i]; x.looksAtState() {
			r.checks = append(r.checks, x)
		}
	}
	for at := r.next(); at <= t.until && r.err == nil; at = r.next() {
		r.look(at)
		r.instant(at)
	}
	r.look(never)
	if r.err != nil {
		return Result{}, fmt.Errorf("%s:%d: %w", t.File, t.Line, r.err)
	}
	return Result{Test: t, Failures: r.failures(), Events: r.events}, nil
}

// next returns the next moment at which something happens.
func (r *run) next() time.Duration {
	if r.paused != never {
		return r.paused
	}
	at := min(r.nextProbe, r.promotionEnd, max(r.NextDeadline(), r.now))
	if r.nextStep < len(r.test.steps) {
		at = min(at, r.test.steps[r.nextStep].at)
	}
	return at
}

// instant does what belongs to one moment, in the order steps, end of a promotion,
// probes, ticks.
func (r *run) instant(at time.Duration) {
	r.now, r.paused = at, never
	for r.nextStep < len(r.test.steps) && r.test.steps[r.nextStep].at <= at {
		st := &r.test.steps[r.nextStep]
		r.nextStep++
		for _, c := range st.changes {
			r.check(c(r))
		}
		if st.pause > 0 {
			r.paused = at + st.pause
			return
		}
	}
	if r.promotionEnd <= at {
		r.endPromotion()
	}
	if every := r.test.probeEvery; r.nextProbe <= at {
		if at%every == 0 {
			r.probed = at
			for _, n := range r.test.setup.nodes {
				r.take(r.Observe(at, failover.Observation{Node: n.Name, Outcome: r.outcomes[n.Name]}))
			}
		}
		r.nextProbe = (at/every + 1) * every
	}
	r.judge()
}

// judge lets the engine judge until nothing is left for this moment.
func (r *run) judge() {
	for range 100 {
		r.take(r.Advance(r.now))
		if r.NextDeadline() > r.now {
			return
		}
	}
	r.check(fmt.Errorf("the engine does not come to rest at %s", r.now))
}

func (r *run) tell(f failover.Fact) error {
	events, err := r.Tell(r.now, f)
	r.take(events)
	return err
}

func (r *run) check(err error) {
	if r.err == nil {
		r.err = err
	}
}

// take keeps the events of one call and does what they ask for.
func (r *run) take(events []failover.Event) {
	if len(events) == 0 {
		return
	}
	for _, ev := range append([]failover.Event(nil), events...) {
		if !ev.Kind.Request() {
			r.events = append(r.events, ev)
		}
		switch ev.Kind {
		case failover.AskReplicas:
			r.answer(ev)
		case failover.AskCoordinator:
			r.check(r.tell(failover.CoordinatorIs(r.coordinator)))
		case failover.FailoverDecided:
			if r.promotionEnd = r.now + r.promotionTakes; r.promotionTakes == 0 {
				r.endPromotion()
			}
		default:
		}
	}
}

// answer answers a round of confirmation at once. The recheck is a probe like any
// other.
func (r *run) answer(ev failover.Event) {
	if r.probed != r.now {
		r.take(r.Observe(r.now, failover.Observation{Node: ev.Node, Outcome: r.outcomes[ev.Node]}))
	}
	if ev.Contest {
		for _, n := range r.test.setup.nodes {
			if n.Name != ev.Node {
				r.check(r.tell(failover.VoteIs(n.Name, r.votes[n.Name], ev.Round)))
			}
		}
		r.check(r.tell(failover.RouteIs(r.route, ev.Round)))
	}
	r.check(r.tell(failover.ObserversAre(r.observers, ev.Round)))
	r.check(r.tell(failover.Answered(ev.Round)))
}

// endPromotion ends the promotion in flight: the first eligible replica is the new
// primary.
func (r *run) endPromotion() {
	r.promotionEnd = never
	fact := failover.PromotionFailedBecause("the scenario lets it fail")
	if !r.promotionFails {
		if candidates := r.Candidates(); len(candidates) > 0 {
			fact = failover.PromotedTo(candidates[0])
		} else {
			fact = failover.PromotionFailedBecause("no replica is eligible any more")
		}
	}
	r.check(r.tell(fact))
}

// look checks the expectations about moments before at.
func (r *run) look(at time.Duration) {
	left := r.checks[:0]
	for _, x := range r.checks {
		switch {
		case *x.at >= at:
			left = append(left, x)
		case *x.at > r.test.until:
			r.seen[x] = fmt.Sprintf("the test ends at %s", r.test.until)
		default:
			r.seen[x] = x.checkState(r.Snapshot(*x.at))
		}
	}
	r.checks = left
}

// failures are the expectations that do not hold, in the order of the file.
func (r *run) failures() []Failure {
	var all []Failure
	for i := range r.test.expect {
		x := &r.test.expect[i]
		happened, around := r.seen[x], x.from
		if !x.looksAtState() {
			happened, around = x.checkEvents(r.events)
		}
		if happened != "" {
			all = append(all, Failure{Line: x.line, Expected: x.text, Happened: happened, Around: closest(r.events, around)})
		}
	}
	return all
}

// closest returns the events around a moment, half of them before it where there
// are enough.
func closest(events []failover.Event, at time.Duration) []failover.Event {
	i := sort.Search(len(events), func(i int) bool { return events[i].At >= at })
	low := max(0, min(i-eventsAround/2, len(events)-eventsAround))
	return events[low:min(len(events), low+eventsAround)]
}
