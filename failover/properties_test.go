package failover_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"failwise/failover"
	"failwise/rules"
)

// The same calls, written down as JSON and read back, give the same events byte for
// byte.
func TestReplayedJournalGivesTheSameEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		w.live(t, 150, true)
		again, err := failover.New(w.config)
		if err != nil {
			t.Fatal(err)
		}
		var events []failover.Event
		for _, c := range w.calls {
			var back failover.Call
			if err := json.Unmarshal([]byte(asJSON(t, c)), &back); err != nil {
				t.Fatal(err)
			}
			more, err := again.Make(back)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, more...)
		}
		if want, got := asJSON(t, w.events), asJSON(t, events); want != got {
			t.Fatalf("the replay differs:\n%s\n%s", want, got)
		}
		if want, got := asJSON(t, w.Snapshot(w.now)), asJSON(t, again.Snapshot(w.now)); want != got {
			t.Fatalf("the engines end differently:\n%s\n%s", want, got)
		}
	})
}

// An Advance that skips judging because nothing can have changed skips nothing.
func TestWhatIsSkippedCannotHaveChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		w.live(t, 150, true)
		again, err := failover.New(w.config)
		if err != nil {
			t.Fatal(err)
		}
		var events []failover.Event
		for _, c := range w.calls {
			again.Disturb()
			more, err := again.Make(c)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, more...)
		}
		if want, got := asJSON(t, events), asJSON(t, w.events); want != got {
			t.Fatalf("judging at every call differs:\n%s\n%s", want, got)
		}
	})
}

// Within one instant the order of observations of different nodes and of facts does
// not matter to what is decided.
func TestOrderWithinAnInstantDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		w.live(t, 80, true)
		at := w.now + time.Duration(rapid.IntRange(0, 3000).Draw(t, "later"))*time.Millisecond
		var batch []failover.Call
		for _, name := range worldNodes {
			o := rapid.SampledFrom(seenOutcomes).Draw(t, "outcome")
			batch = append(batch, failover.Call{At: at, Observation: &failover.Observation{Node: name, Outcome: o}})
		}
		policy := failover.PolicyIs(rapid.SampledFrom(upTo(failover.Maintenance)).Draw(t, "policy"), "", 0, "")
		coordinator := failover.CoordinatorIs(rapid.Bool().Draw(t, "coordinator"))
		durable := failover.DurabilityIs(rapid.Bool().Draw(t, "durable"), "")
		batch = append(batch, failover.Call{At: at, Fact: &policy}, failover.Call{At: at, Fact: &coordinator}, failover.Call{At: at, Fact: &durable})
		if vote := failover.VoteIs(worldNodes[0], failover.VoteSees, 0); w.has(vote.Node) {
			batch = append(batch, failover.Call{At: at, Fact: &vote})
		}
		want := instant(t, w, batch, at)
		got := instant(t, w, rapid.Permutation(batch).Draw(t, "order"), at)
		if want != got {
			t.Fatalf("the order matters:\n%s\n%s", want, got)
		}
	})
}

// instant repeats a world's calls on a new engine, takes in a batch at one instant,
// and returns what was decided then and how things are.
func instant(t *rapid.T, w *world, batch []failover.Call, at time.Duration) string {
	e, err := failover.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.calls {
		if _, err := e.Make(c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range batch {
		if c.Observation != nil {
			e.Observe(at, *c.Observation)
		} else if _, err := e.Tell(at, *c.Fact); err != nil {
			t.Fatal(err)
		}
	}
	return asJSON(t, e.Advance(at)) + asJSON(t, e.Snapshot(at))
}

// Whatever comes in whatever order, the stages stay consistent with what was seen.
func TestRandomInterleavingsKeepTheStageMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		inFlight := 0
		w.check = func(before failover.Snapshot, c failover.Call, events []failover.Event) {
			after := w.Snapshot(w.now)
			for _, ev := range events {
				switch ev.Kind {
				case failover.FailoverDecided:
					if inFlight++; inFlight > 1 {
						t.Fatalf("%+v: two failovers in flight", c)
					}
				case failover.Promoted, failover.PromotionEnded:
					inFlight = 0
				default:
				}
			}
			primaries, failing := 0, 0
			for _, n := range after.Nodes {
				if n.Role == failover.Primary {
					primaries++
				}
				if n.Stage == failover.InFailover {
					failing++
				}
				checkStage(t, n)
				if b := node(before, n.Name); b != nil && c.Observation != nil {
					checkMove(t, *b, n)
				}
			}
			if primaries > 1 || failing > 1 || failing > inFlight {
				t.Fatalf("%d primaries, %d nodes in failover, %d in flight", primaries, failing, inFlight)
			}
		}
		w.live(t, 200, true)
	})
}

// checkStage compares the stage of a node with its alarms.
func checkStage(t *rapid.T, n failover.NodeSnapshot) {
	expired := false
	for _, a := range n.Alarms {
		expired = expired || a.Expired && a.Action == rules.Fail && a.Threshold >= 0
	}
	switch n.Stage {
	case failover.Up:
		for _, a := range n.Alarms {
			if a.Window == 0 && n.Outcome != rules.OK {
				t.Fatalf("%s is up with an alarm %+v", n.Name, a)
			}
		}
	case failover.HalfDown:
		if expired {
			t.Fatalf("%s is half_down with an expired fatal alarm: %+v", n.Name, n.Alarms)
		}
	case failover.NearlyDown:
		if !expired {
			t.Fatalf("%s is nearly_down without an expired fatal alarm: %+v", n.Name, n.Alarms)
		}
		if n.Hold == nil {
			t.Fatalf("%s is nearly_down, not acted on, and nothing says why", n.Name)
		}
	case failover.InFailover, failover.Shunned:
	}
	if n.Hold != nil && n.Stage != failover.NearlyDown {
		t.Fatalf("%s is %s and held by %s", n.Name, n.Stage, n.Hold.Reason)
	}
}

// checkMove checks what one observation and its judging may do to a stage.
func checkMove(t *rapid.T, before, after failover.NodeSnapshot) {
	allowed := map[failover.Stage][]failover.Stage{
		failover.Up:         {failover.Up, failover.HalfDown, failover.NearlyDown, failover.InFailover, failover.Shunned},
		failover.HalfDown:   {failover.HalfDown, failover.Up, failover.NearlyDown, failover.InFailover, failover.Shunned},
		failover.NearlyDown: {failover.NearlyDown, failover.Up, failover.HalfDown, failover.InFailover, failover.Shunned},
		failover.InFailover: {failover.InFailover},
		failover.Shunned:    {failover.Shunned, failover.Up},
	}
	for _, s := range allowed[before.Stage] {
		if s == after.Stage {
			return
		}
	}
	t.Fatalf("%s went from %s to %s by one observation", after.Name, before.Stage, after.Stage)
}

// No failover is decided without an expired fatal alarm of the primary, unless a
// user forces it, and then the primary's own observation is fatal.
func TestNoFailoverWithoutAnExpiredFatalAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		w.check = func(before failover.Snapshot, _ failover.Call, events []failover.Event) {
			for _, ev := range events {
				if ev.Kind != failover.FailoverDecided || ev.Forced {
					continue
				}
				n := node(w.Snapshot(w.now), ev.Node)
				fatal := false
				for _, a := range n.Alarms {
					fatal = fatal || a.Expired && a.Action == rules.Fail && a.Threshold >= 0
				}
				if n.Role != failover.Primary || !fatal {
					t.Fatalf("failover of %s (%s) with alarms %+v", n.Name, n.Role, n.Alarms)
				}
			}
			_ = before
		}
		w.live(t, 200, true)
	})
}

// Maintenance from t to t' gives no action in it.
func TestMaintenanceActsOnNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genConfig(t, true))
		w.live(t, 60, false)
		w.tell(t, failover.PolicyIs(failover.Maintenance, "", 0, ""))
		from := len(w.events)
		w.live(t, 60, false)
		for _, ev := range w.events[from:] {
			if acts(ev.Kind) || ev.Kind == failover.Recovered {
				t.Fatalf("%+v in maintenance", ev)
			}
		}
	})
}

// A rule with threshold -1 never acts, whatever its action.
func TestThresholdNeverNeverActs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t, true)
		set := map[rules.Outcome]rules.Rule{}
		for _, o := range rules.Outcomes() {
			if r := c.Rules.Rule(o); r.State != rules.Online {
				r.Threshold, r.Window = rules.Never, 0
				set[o] = r
			}
		}
		m, err := c.Rules.With(set, "never")
		if err != nil {
			t.Fatal(err)
		}
		c.Rules = m
		w := newWorld(t, c)
		w.live(t, 150, false)
		for _, ev := range w.events {
			if acts(ev.Kind) || ev.Kind == failover.Expired || ev.Kind == failover.Held {
				t.Fatalf("%+v although nothing can expire", ev)
			}
		}
	})
}

// An online observation of the primary more never makes its first failover earlier,
// with rules without a window.
func TestOneMoreOnlineObservationNeverHurriesAFailover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t, false)
		c.Coordinator = true
		script := make([]rules.Outcome, rapid.IntRange(10, 120).Draw(t, "seconds"))
		for i := range script {
			script[i] = rapid.SampledFrom([]rules.Outcome{
				rules.SocketConnectTimeout, rules.SocketConnectTimeout, rules.SocketConnectTimeout, rules.SocketIOError, rules.LoginResponseTimeout,
				rules.QueryResultsTimeout, rules.TooManyConnections, rules.OK,
			}).Draw(t, "outcome")
		}
		extra := rapid.IntRange(0, len(script)-1).Draw(t, "extra")
		plain, more := firstFailover(t, c, script, -1), firstFailover(t, c, script, extra)
		if more < plain {
			t.Fatalf("the first failover is at %s, but with one more ok at %ds at %s", plain, extra, more)
		}
	})
}

// firstFailover plays the primary's outcomes, one a second, with healthy replicas;
// after the one of index extra comes an ok half a second later.
func firstFailover(t *rapid.T, c failover.Config, script []rules.Outcome, extra int) time.Duration {
	e, err := failover.New(c)
	if err != nil {
		t.Fatal(err)
	}
	const never = time.Duration(1<<63 - 1)
	at := func(now time.Duration, observations ...failover.Observation) bool {
		for _, o := range observations {
			e.Observe(now, o)
		}
		for range 10 {
			for _, ev := range append([]failover.Event(nil), e.Advance(now)...) {
				switch ev.Kind {
				case failover.AskReplicas:
					if _, err := e.Tell(now, failover.Answered(ev.Round)); err != nil {
						t.Fatal(err)
					}
				case failover.FailoverDecided:
					return true
				default:
				}
			}
			if e.NextDeadline() > now {
				break
			}
		}
		return false
	}
	for i, o := range script {
		now := time.Duration(i) * time.Second
		observations := []failover.Observation{{Node: "b", Outcome: o}}
		for _, n := range []string{"a", "c", "d"} {
			observations = append(observations, failover.Observation{Node: n, Outcome: rules.OK})
		}
		if at(now, observations...) {
			return now
		}
		half := now + 500*time.Millisecond
		if i == extra && at(half, failover.Observation{Node: "b", Outcome: rules.OK}) {
			return half
		}
		for d := e.NextDeadline(); d < now+time.Second; d = e.NextDeadline() {
			if at(d) {
				return d
			}
		}
	}
	return never
}
