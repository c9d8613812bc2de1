package watch

import (
	"testing"
	"time"

	"failwise/failover/mysql"
	"failwise/failover/topology"
)

func TestSilenceOfAChannelCountsFromTheFirstReadingWithoutNews(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	heard := func(beats uint64, pos uint64, io mysql.ThreadState) mysql.Channel {
		return mysql.Channel{IO: io, Heartbeats: mysql.Known(beats), Read: mysql.ReadCoordinate{File: "b.1", Pos: pos}}
	}
	var k known
	steps := []struct {
		c    mysql.Channel
		want time.Duration
	}{
		{heard(3, 100, mysql.ThreadYes), 0},
		{heard(3, 100, mysql.ThreadYes), 0},
		{heard(4, 100, mysql.ThreadYes), 10 * time.Second}, // a heartbeat came
		{heard(4, 100, mysql.ThreadYes), 10 * time.Second},
		{heard(4, 200, mysql.ThreadYes), 20 * time.Second},        // an event came
		{heard(4, 200, mysql.ThreadConnecting), 25 * time.Second}, // no silence but a lost connection
		{heard(4, 200, mysql.ThreadYes), 30 * time.Second},        // connected anew
		{heard(4, 200, mysql.ThreadYes), 30 * time.Second},
	}
	for i, s := range steps {
		k.listen("db2", s.c, begin.Add(time.Duration(i)*5*time.Second))
		if got := k.quiet["db2"].since.Sub(begin); got != s.want {
			t.Errorf("reading %d: silent since %s, want %s", i, got, s.want)
		}
	}
}

func TestAReplicaIsHeardBeforeTheSurveyEnds(t *testing.T) {
	w := idle(t)
	channel := mysql.Channel{Name: "c", IO: mysql.ThreadYes, Heartbeats: mysql.Known(uint64(3))}
	reading := func(at time.Time) topology.Reading {
		return topology.Reading{Name: "db2", Status: mysql.Status{ReadAt: at, Channels: mysql.Known([]mysql.Channel{{Name: "other"}, channel})}}
	}
	begin := time.Unix(1_000_000, 0)
	w.hear(reading(begin))
	if len(w.known.quiet) > 0 {
		t.Errorf("a node that is not known was heard: %+v", w.known.quiet)
	}
	w.topo = topology.Topology{Primary: "db1", Nodes: []topology.Node{
		{Reading: reading(begin), Links: []topology.Link{{Source: "db9"}, {Source: "db1"}}},
	}}
	for i := range 3 {
		w.hear(reading(begin.Add(time.Duration(i) * time.Second)))
	}
	if q := w.known.quiet["db2"]; q.channel.Name != "c" || !q.since.Equal(begin) {
		t.Errorf("heard %+v", q)
	}
}
