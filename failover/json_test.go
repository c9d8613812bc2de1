package failover_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/failover"
	"failwise/rules"
)

// roundTrip encodes v, decodes it into a new value, and compares.
func roundTrip[T any](t *testing.T, v T) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Errorf("%s does not come back (-want +got):\n%s", b, diff)
	}
	return string(b)
}

func TestFactsSurviveJSON(t *testing.T) {
	facts := []failover.Fact{
		failover.PolicyIs(failover.Maintenance, "db2", 90*time.Minute, "kim: kernel update"),
		failover.CoordinatorIs(true), failover.CoordinatorIs(false),
		failover.OperationBegan("switch"), failover.OperationEnded(),
		failover.VoteIs("db2", failover.VoteSees, 3), failover.RouteIs(failover.RouteDead, 1),
		failover.ObserversAre(failover.ObserversAgree, 2), failover.Asking(), failover.Answered(4),
		failover.EligibleIs("db2", false, "delayed"), failover.DurabilityIs(false, "3 transactions"),
		failover.Opened(), failover.PromotedTo("db2"), failover.PromotionFailedBecause("hook"),
		failover.RecoveredNode("db1"), failover.QuotaReset(), failover.NodesAre(benchNodes),
		failover.RulesAre(rules.MHA.Rules()), failover.Force("db2", failover.Isolated, failover.Durability),
	}
	seen := map[failover.FactKind]bool{}
	for _, f := range facts {
		seen[f.Kind] = true
		call := failover.Call{At: 1234567890 * time.Nanosecond, Fact: &f}
		if text := roundTrip(t, call); !strings.HasPrefix(text, `{"at":1.23456789,`) {
			t.Errorf("times are not in seconds: %s", text)
		}
	}
	for _, k := range upTo(failover.FactForced)[1:] {
		if !seen[k] {
			t.Errorf("no fact of kind %s was tried", k)
		}
	}
}

func TestEventsSurviveJSON(t *testing.T) {
	p := failover.Maintenance
	for _, ev := range []failover.Event{
		{At: 80 * time.Second, Kind: failover.Expired, Node: "db1", Outcome: rules.SocketConnectTimeout, Count: 8},
		{At: 1, Kind: failover.Held, Node: "db1", Outcome: rules.SocketIOError, Reason: failover.ReplicaSeesPrimary, Peer: "db2"},
		{Kind: failover.PolicyChanged, Policy: &p, Detail: "x"},
		{At: time.Hour, Kind: failover.AskReplicas, Node: "db1", Round: 2, Contest: true},
		{At: time.Hour, Kind: failover.FailoverDecided, Node: "db1", Forced: true, Peer: "db3"},
	} {
		roundTrip(t, ev)
	}
}

func TestStateSurvivesJSON(t *testing.T) {
	age := 90 * time.Second
	roundTrip(t, failover.State{})
	roundTrip(t, failover.State{
		Policy:          &failover.PolicyState{Policy: failover.Maintenance, Left: time.Minute, Then: failover.Automatic, Detail: "kim"},
		NodePolicies:    map[string]failover.PolicyState{"db2": {Policy: failover.Maintenance}},
		Shunned:         map[string]failover.Shun{"db1": {FailedOverTo: "db2"}, "db3": {}},
		QuotaUsed:       1,
		LastFailoverAge: &age,
	})
}

// The keys of a snapshot are a promise; the values are what the engine knows.
func TestSnapshotAsJSON(t *testing.T) {
	e := newEngine(t, nil)
	e.Observe(0, failover.Observation{Node: "db1", Outcome: rules.SocketConnectTimeout})
	e.Advance(0)
	e.Advance(10 * time.Second)
	b, err := json.Marshal(e.Snapshot(25 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		At    float64
		Nodes []struct {
			Name, Role, Stage, State, Outcome, Ineligible string
			Observation_age                               float64
			Alarms                                        []struct {
				Outcome, Action  string
				Count, Threshold int
				Running, Expired bool
				Age, Expires_in  float64
			}
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	n := got.Nodes[0]
	a := n.Alarms[0]
	want := []any{25.0, "db1", "primary", "half_down", "timeout", "socket_connect_timeout", 25.0, "socket_connect_timeout", "fail", 2, 8, true, 25.0, 55.0}
	have := []any{got.At, n.Name, n.Role, n.Stage, n.State, n.Outcome, n.Observation_age, a.Outcome, a.Action, a.Count, a.Threshold, a.Running, a.Age, a.Expires_in}
	if !reflect.DeepEqual(want, have) {
		t.Errorf("snapshot %s\nwant %v\nhave %v", b, want, have)
	}
}

func TestBadJSONIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"at":"soon"}`, `{"at":1e3}`, `{"at":99999999999999999999}`, `{"at":1.0000000001}`, `{"at":1.-5}`,
		`{"at":1,"fact":{"fact":"gossip"}}`, `{"at":1,"observation":{"node":"db1","outcome":"dead"}}`,
		`{"at":1,"fact":{"fact":"vote","vote":"maybe"}}`,
	} {
		var c failover.Call
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is taken as %+v", text, c)
		}
	}
}

// newEngine returns an engine of three nodes under the default profile, automatic
// and coordinator, changed by change.
func newEngine(tb testing.TB, change func(*failover.Config)) *failover.Engine {
	tb.Helper()
	c := failover.Config{
		Nodes:   []failover.Node{{Name: "db1", Role: failover.Primary}, {Name: "db2"}, {Name: "db3"}},
		Timings: rules.Tungsten.Timings(), Policy: failover.Automatic, Coordinator: true,
	}
	if change != nil {
		change(&c)
	}
	e, err := failover.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}
