package failover

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/rules"
)

func TestSnapshotSurvivesJSON(t *testing.T) {
	timings := rules.Tungsten.Timings()
	e, err := New(Config{
		Nodes: []Node{{Name: "db1", Role: Primary}, {Name: "db2"}, {Name: "db3"}}, Timings: timings, Policy: Manual, Coordinator: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	second := time.Second
	for at := time.Duration(0); at < 100*second; at += second {
		e.Observe(at, Observation{Node: "db1", Outcome: rules.SocketConnectTimeout})
		e.Observe(at, Observation{Node: "db2", Outcome: rules.OK})
		e.Advance(at)
	}
	want := e.Snapshot(100 * second)
	if want.Nodes[0].Hold == nil || len(want.Nodes[0].Alarms) == 0 {
		t.Fatal("the snapshot has neither hold nor alarm: the test proves nothing")
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Snapshot
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot changed on its way (-want +got):\n%s", diff)
	}
}
