package failover_test

import (
	"encoding/json"
	"time"

	"pgregory.net/rapid"

	"failwise/failover"
	"failwise/rules"
)

// world drives an engine with random calls and keeps a record of all of them.
type world struct {
	*failover.Engine
	config failover.Config
	now    time.Duration
	calls  []failover.Call
	events []failover.Event
	// check is called after every call with how things were before.
	check func(before failover.Snapshot, c failover.Call, events []failover.Event)
	// asked are rounds that nobody has ended yet; running: a promotion runs.
	asked   []int
	running bool
	// lost: the coordinator fact is to be told anew.
	lost bool
	// shows is what each node's probes end in at present.
	shows [4]rules.Outcome
}

var worldNodes = []string{"a", "b", "c", "d"}

// seenOutcomes are those that probes of a random world end in.
var seenOutcomes = []rules.Outcome{
	rules.OK, rules.OK, rules.OK, rules.SocketIOError, rules.SocketConnectTimeout, rules.LoginResponseTimeout,
	rules.QueryResultsTimeout, rules.TooManyConnections, rules.StorageError, rules.NoRouteToHost, rules.TLSError,
}

// genRule draws a rule that is valid.
func genRule(t *rapid.T, o rules.Outcome) rules.Rule {
	r := rules.Rule{
		State:     rapid.SampledFrom([]rules.State{rules.Stopped, rules.Timeout, rules.Suspect}).Draw(t, "state"),
		Threshold: rapid.SampledFrom([]int{-1, 0, 0, 1, 2, 5}).Draw(t, "threshold"),
		Action:    rapid.SampledFrom([]rules.Action{rules.None, rules.Alert, rules.Fail, rules.Fail}).Draw(t, "action"),
		Heal:      rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "heal"),
	}
	if o == rules.NotOnline || r.Threshold > 0 && rapid.IntRange(0, 3).Draw(t, "windowed") == 0 {
		r.Threshold = max(r.Threshold, 1)
		r.Window = r.Threshold + rapid.IntRange(0, 5).Draw(t, "window")
	}
	return r
}

// genRules draws a statemap: the shipped one with some rules changed.
func genRules(t *rapid.T, windows bool) *rules.Map {
	set := map[rules.Outcome]rules.Rule{}
	for _, o := range seenOutcomes[3:] {
		if rapid.Bool().Draw(t, "changed") {
			r := genRule(t, o)
			if !windows {
				r.Window = 0
			}
			set[o] = r
		}
	}
	if windows && rapid.IntRange(0, 3).Draw(t, "not_online") == 0 {
		set[rules.NotOnline] = genRule(t, rules.NotOnline)
	}
	m, err := rules.Defaults().With(set, "drawn")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func genConfig(t *rapid.T, windows bool) failover.Config {
	timings := rules.Timings{
		Tick: rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 10 * time.Second}).Draw(t, "tick"), ProbeInterval: time.Second, ProbeBudget: 5 * time.Second,
		Settle: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "settle"), SettleRestarts: 2,
		Quota:    rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "quota"),
		AgeLimit: rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "age_limit"),
		Retry:    20 * time.Second, Attempts: 2,
	}
	c := failover.Config{
		Rules: genRules(t, windows), Timings: timings, Policy: failover.Automatic,
		Coordinator: rapid.IntRange(0, 4).Draw(t, "coordinator") > 0,
	}
	for i, name := range worldNodes {
		n := failover.Node{Name: name}
		if i == 1 {
			n.Role = failover.Primary
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func newWorld(t *rapid.T, c failover.Config) *world {
	e, err := failover.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Engine: e, config: c}
}

// do makes one call and what belongs to it.
func (w *world) do(t *rapid.T, c failover.Call) []failover.Event {
	var before failover.Snapshot
	if w.check != nil {
		before = w.Snapshot(w.now)
	}
	w.now = c.At
	w.calls = append(w.calls, c)
	events, err := w.Make(c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	w.events = append(w.events, events...)
	for _, ev := range events {
		switch ev.Kind {
		case failover.AskReplicas:
			w.asked = append(w.asked, ev.Round)
		case failover.AskCoordinator:
			w.lost = true
		case failover.FailoverDecided:
			w.running = true
		case failover.Promoted, failover.PromotionEnded:
			w.running = false
		default:
		}
	}
	if w.check != nil {
		w.check(before, c, events)
	}
	return events
}

func (w *world) tell(t *rapid.T, f failover.Fact) { w.do(t, failover.Call{At: w.now, Fact: &f}) }

// step lets time pass up to the next probes, judging at each deadline, or pauses.
func (w *world) step(t *rapid.T) {
	if rapid.IntRange(0, 120).Draw(t, "pause") == 0 {
		w.now += time.Duration(rapid.IntRange(5, 60).Draw(t, "paused")) * time.Second
		return
	}
	next := w.now + time.Duration(rapid.SampledFrom([]int{0, 300, 1000, 1000, 2500}).Draw(t, "later"))*time.Millisecond
	for range 1000 {
		at := max(w.NextDeadline(), w.now)
		if at >= next {
			break
		}
		w.do(t, failover.Call{At: at})
	}
	w.now = next
}

// fact draws a fact.
func (w *world) fact(t *rapid.T) failover.Fact {
	node := rapid.SampledFrom(worldNodes).Draw(t, "node")
	policy := func() failover.Policy {
		return rapid.SampledFrom([]failover.Policy{failover.Automatic, failover.Automatic, failover.Manual, failover.Maintenance}).Draw(t, "policy")
	}
	switch rapid.IntRange(0, 16).Draw(t, "fact") {
	case 0, 1:
		limit := time.Duration(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "limit")) * time.Second
		return failover.PolicyIs(policy(), "", limit, "")
	case 2:
		return failover.PolicyIs(policy(), node, 0, "")
	case 3:
		return failover.CoordinatorIs(rapid.IntRange(0, 3).Draw(t, "is") > 0)
	case 4, 5:
		return failover.VoteIs(node, rapid.SampledFrom(upTo(failover.VoteLost)).Draw(t, "vote"), 0)
	case 6:
		return failover.RouteIs(rapid.SampledFrom(upTo(failover.RouteDead)).Draw(t, "route"), 0)
	case 7:
		return failover.ObserversAre(rapid.SampledFrom(upTo(failover.ObserversDisagree)).Draw(t, "observers"), 0)
	case 8:
		return failover.EligibleIs(node, rapid.Bool().Draw(t, "eligible"), "drawn")
	case 9:
		return failover.DurabilityIs(rapid.IntRange(0, 3).Draw(t, "durable") > 0, "")
	case 10:
		return failover.RecoveredNode(node)
	case 11:
		return failover.QuotaReset()
	case 12:
		if rapid.Bool().Draw(t, "ended") {
			return failover.OperationEnded()
		}
		return failover.OperationBegan("switch")
	case 13:
		return failover.RulesAre(genRules(t, true))
	case 14:
		return failover.NodesAre(w.roles(t))
	case 15:
		return failover.Force("", rapid.SampledFrom(failover.Reasons()).Draw(t, "ignored"))
	default:
		return failover.Opened()
	}
}

// roles draws nodes in some order with at most one primary.
func (w *world) roles(t *rapid.T) []failover.Node {
	var nodes []failover.Node
	primary := rapid.SampledFrom(append([]string{""}, worldNodes...)).Draw(t, "primary")
	for _, name := range rapid.Permutation(worldNodes).Draw(t, "order") {
		if name != primary && rapid.IntRange(0, 9).Draw(t, "gone") == 0 {
			continue
		}
		n := failover.Node{Name: name, Local: rapid.IntRange(0, 9).Draw(t, "local") == 0}
		if name == primary {
			n.Role = failover.Primary
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		nodes = []failover.Node{{Name: worldNodes[0]}}
	}
	return nodes
}

func (w *world) has(name string) bool {
	for _, n := range w.Snapshot(w.now).Nodes {
		if n.Name == name {
			return true
		}
	}
	return false
}

// live runs the world for a number of random actions. facts says whether facts
// other than answers and ends of promotions come.
func (w *world) live(t *rapid.T, actions int, facts bool) {
	for range rapid.IntRange(1, actions).Draw(t, "actions") {
		w.step(t)
		w.serve(t)
		switch {
		case facts && rapid.IntRange(0, 11).Draw(t, "do") == 0:
			f := w.fact(t)
			if f.Node != "" && !w.has(f.Node) || f.Kind == failover.FactForced && w.primary() == "" {
				continue
			}
			w.tell(t, f)
		default:
			w.probe(t)
		}
	}
}

// probe probes some nodes. What a node shows lasts for a while.
func (w *world) probe(t *rapid.T) {
	for i, name := range worldNodes {
		if w.shows[i] == 0 || rapid.IntRange(0, 11).Draw(t, "changes") == 0 {
			w.shows[i] = rapid.SampledFrom(seenOutcomes).Draw(t, "outcome")
		}
		if rapid.IntRange(0, 5).Draw(t, "probed") > 0 {
			w.do(t, failover.Call{At: w.now, Observation: &failover.Observation{Node: name, Outcome: w.shows[i]}})
		}
	}
}

// serve answers rounds and ends promotions, most of the time.
func (w *world) serve(t *rapid.T) {
	if w.lost && rapid.IntRange(0, 3).Draw(t, "told") > 0 {
		w.lost = false
		w.tell(t, failover.CoordinatorIs(true))
	}
	if len(w.asked) > 0 && rapid.IntRange(0, 3).Draw(t, "answered") > 0 {
		round := w.asked[len(w.asked)-1]
		w.asked = nil
		w.tell(t, failover.Answered(round))
	}
	if w.running && rapid.IntRange(0, 2).Draw(t, "ended") == 0 {
		candidates := w.Candidates()
		if len(candidates) > 0 && rapid.Bool().Draw(t, "succeeded") {
			w.tell(t, failover.PromotedTo(candidates[0]))
		} else {
			w.tell(t, failover.PromotionFailedBecause("drawn"))
		}
	}
}

func (w *world) primary() string {
	for _, n := range w.Snapshot(w.now).Nodes {
		if n.Role == failover.Primary {
			return n.Name
		}
	}
	return ""
}

func node(s failover.Snapshot, name string) *failover.NodeSnapshot {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}

func asJSON(tb interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// acts reports whether an event changes something in the cluster or tells people.
func acts(k failover.Kind) bool {
	switch k {
	case failover.FailoverDecided, failover.ReplicaFailed, failover.Alerted:
		return true
	default:
		return false
	}
}
