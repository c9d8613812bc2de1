package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"failwise/failover"
	"failwise/failover/replay"
	"failwise/rules"
)

// watcher is a live loop in small: it answers rounds and ends promotions later, and
// writes a journal.
type watcher struct {
	t       *rapid.T
	e       *failover.Engine
	start   time.Time
	now     time.Duration
	journal strings.Builder
	events  []string
	// due are facts that come later, in order of time.
	due []failover.Call
}

func (w *watcher) line(kind, rest string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintf(&w.journal, `{"time":%q,"kind":%q%s,"data":%s}`+"\n", w.start.Add(w.now).Format("2006-01-02T15:04:05.000Z07:00"), kind, rest, b)
}

func (w *watcher) later(after time.Duration, f failover.Fact) {
	w.due = append(w.due, failover.Call{At: w.now + after, Fact: &f})
}

func (w *watcher) take(events []failover.Event) {
	for _, ev := range append([]failover.Event(nil), events...) {
		if !ev.Kind.Request() {
			ev.Detail = ""
			w.events = append(w.events, fmt.Sprintf("%s %s", ev.At, replay.Line(ev)))
			w.line("event", "", ev)
		}
		switch ev.Kind {
		case failover.AskReplicas:
			v := rapid.SampledFrom([]failover.Vote{failover.VoteLost, failover.VoteLost, failover.VoteSees, failover.VoteUnknown}).Draw(w.t, "vote")
			w.later(101*time.Millisecond, failover.VoteIs("db2", v, ev.Round))
			w.later(307*time.Millisecond, failover.Answered(ev.Round))
		case failover.AskCoordinator:
			w.later(3*time.Millisecond, failover.CoordinatorIs(true))
		case failover.FailoverDecided:
			if rapid.Bool().Draw(w.t, "fails") {
				w.later(2017*time.Millisecond, failover.PromotionFailedBecause("drawn"))
			} else {
				w.later(3019*time.Millisecond, failover.PromotedTo("db3"))
			}
		default:
		}
	}
}

func (w *watcher) judge() {
	for range 20 {
		w.take(w.e.Advance(w.now))
		if w.e.NextDeadline() > w.now {
			return
		}
	}
}

func (w *watcher) tell(f failover.Fact) {
	w.line("fact", "", failover.Call{At: w.now, Fact: &f})
	events, err := w.e.Tell(w.now, f)
	if err != nil {
		w.t.Fatal(err)
	}
	w.take(events)
	w.judge()
}

// until lets time pass with its deadlines and facts.
func (w *watcher) until(at time.Duration) {
	for {
		next, fact := w.e.NextDeadline(), -1
		for i, c := range w.due {
			if c.At <= next {
				next, fact = c.At, i
				break
			}
		}
		if next >= at {
			break
		}
		w.now = max(w.now, next)
		if fact < 0 {
			w.judge()
			continue
		}
		f := *w.due[fact].Fact
		w.due = append(w.due[:fact], w.due[fact+1:]...)
		w.tell(f)
	}
	w.now = at
}

// A journal as a watcher writes it replays to the same events.
func TestJournalReplaysToTheSameEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []failover.Node{{Name: "db1", Role: failover.Primary}, {Name: "db2"}, {Name: "db3"}}
		timings := rules.Couchbase.Timings()
		timings.Quota = 0
		m := rules.MHA.Rules()
		e, err := failover.New(failover.Config{Nodes: nodes, Rules: m, Timings: timings, Policy: failover.Automatic, Coordinator: true})
		if err != nil {
			t.Fatal(err)
		}
		w := &watcher{t: t, e: e, start: time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC)}
		w.line("start", "", map[string]any{
			"nodes": nodes, "policy": failover.Automatic, "profile": "mha", "tick": 1, "probe_interval": 1, "probe_budget": 5,
			"settle": 2, "quota": 0, "age_limit": 0,
		})
		shows := map[string]rules.Outcome{"db1": rules.OK, "db2": rules.OK, "db3": rules.OK}
		for range rapid.IntRange(5, 80).Draw(t, "seconds") {
			for i, n := range nodes {
				w.until(w.now.Truncate(time.Second) + time.Duration(i+1)*250*time.Millisecond)
				if rapid.IntRange(0, 9).Draw(t, "changes") == 0 {
					shows[n.Name] = rapid.SampledFrom([]rules.Outcome{rules.OK, rules.OK, rules.SocketIOError, rules.SocketConnectTimeout, rules.StorageError}).Draw(t, "outcome")
				}
				w.line("probe", fmt.Sprintf(`,"node":%q,"outcome":%q`, n.Name, shows[n.Name]), nil)
				w.take(w.e.Observe(w.now, failover.Observation{Node: n.Name, Outcome: shows[n.Name]}))
				w.judge()
			}
			if rapid.IntRange(0, 19).Draw(t, "policy") == 0 {
				w.until(w.now + 11*time.Millisecond)
				w.tell(failover.PolicyIs(rapid.SampledFrom([]failover.Policy{failover.Automatic, failover.Manual, failover.Maintenance}).Draw(t, "set"), "", 0, ""))
			}
			w.until(w.now.Truncate(time.Second) + time.Second)
		}
		var got []string
		recorded := side(rules.Tungsten)
		recorded.RecordedRules, recorded.RecordedTimings = true, true
		o := replay.Options{Sides: []replay.Side{recorded}}
		o.Events = func(_ time.Duration, sides [][]failover.Event) {
			for _, ev := range sides[0] {
				ev.Detail = ""
				got = append(got, fmt.Sprintf("%s %s", ev.At, replay.Line(ev)))
			}
		}
		r, err := replay.Timeline(context.Background(), "journal", strings.NewReader(w.journal.String()), o)
		if err != nil {
			t.Fatalf("%v\n%s", err, w.journal.String())
		}
		if r.Sides[0].Name != "mha" {
			t.Fatalf("the side is called %s", r.Sides[0].Name)
		}
		// What came after the last row is not in the timeline.
		want := w.events
		for len(want) > len(got) && afterLast(want[len(want)-1], r.Last) {
			want = want[:len(want)-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the replay differs (-live +replay):\n%s\n%s", diff, w.journal.String())
		}
	})
}

func afterLast(line string, last time.Duration) bool {
	at, err := time.ParseDuration(strings.Fields(line)[0])
	return err == nil && at > last
}
