package sandbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

// promote makes a replica writable, without asking anybody.
func promote(t *testing.T, n *sandbox.Node, f sandbox.Flavour) {
	t.Helper()
	statements := []string{"STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only=OFF"}
	if f == sandbox.MariaDB {
		statements = []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only=OFF"}
	}
	for _, statement := range statements {
		if err := n.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// written waits for so many acknowledged rows on a node.
func written(t *testing.T, w *sandbox.Writer, n *sandbox.Node, rows int) {
	t.Helper()
	eventually(t, "rows are written on "+n.Name(), func() bool {
		count := 0
		for _, ack := range w.Acks() {
			if ack.Node == n {
				count++
			}
		}
		return count >= rows
	})
}

func TestWriterNamesExactlyTheLostRows(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: f, Nodes: 2})
		primary, replica := c.Node(0), c.Node(1)
		var log strings.Builder
		w := c.StartWriter(t.Context(), sandbox.WriterOptions{Log: &log})
		s := c.StartSampler(t.Context())
		written(t, w, primary, 20)

		stopped := sandbox.Break(t, "io-stopped", replica)
		before, _ := w.Count() // these may or may not have arrived
		written(t, w, primary, before+20)
		beforeKill := w.Acks()
		killed := time.Now()
		kill := sandbox.Break(t, "kill", primary)
		promote(t, replica, f)
		written(t, w, replica, 20)
		opened, ok := w.FirstAck(killed)
		if !ok || opened.Node != replica {
			t.Errorf("first row after the kill: %+v, want one on %s", opened, replica.Name())
		}

		// The old primary comes back writable: now there are two.
		if overlaps := s.Overlaps(); len(overlaps) != 0 {
			t.Errorf("two primaries were seen: %+v", overlaps)
		}
		if err := kill.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "two primaries are seen", func() bool { return len(s.Overlaps()) > 0 })
		s.Stop()
		if err := w.Stop(); err != nil {
			t.Fatal(err)
		}

		missing, err := w.Missing(t.Context(), replica)
		if err != nil {
			t.Fatal(err)
		}
		var lost []int64
		for _, ack := range beforeKill[before+1:] { // one may have been on its way
			lost = append(lost, ack.ID)
		}
		for _, id := range lost {
			if !slices.Contains(missing, id) {
				t.Errorf("row %d was acknowledged after the replica was cut off and is not missing", id)
			}
		}
		for _, ack := range w.Acks() {
			if ack.Node == replica && slices.Contains(missing, ack.ID) {
				t.Errorf("row %d was written on %s itself and is missing", ack.ID, replica.Name())
			}
		}
		onPrimary, err := w.Missing(t.Context(), primary)
		if err != nil {
			t.Fatal(err)
		}
		for _, ack := range beforeKill {
			if slices.Contains(onPrimary, ack.ID) {
				t.Errorf("row %d is missing on the old primary, which acknowledged it", ack.ID)
			}
		}
		outages := w.Outages(opened.At.Sub(killed) / 2)
		if !slices.ContainsFunc(outages, func(o sandbox.Outage) bool { return o.To.Equal(opened.At) && !o.Open }) {
			t.Errorf("outages %+v do not end with the first row on the new primary, at %s", outages, opened.At)
		}
		acked, sent := w.Count()
		if lines := strings.Count(log.String(), "\n"); lines != acked || sent < acked {
			t.Errorf("%d lines in the log, %d rows acknowledged, %d sent", lines, acked, sent)
		}
		if follows := s.Followings(replica); len(follows) < 2 || follows[0].Source != primary.Address() || follows[len(follows)-1].Source != "" {
			t.Errorf("%s was seen following %+v", replica.Name(), follows)
		}
		_ = stopped // its replica follows nobody any more
	})
}

func TestSamplerSeesNoWriterWhereNodeHangs(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{Nodes: 1})
	s := c.StartSampler(t.Context())
	eventually(t, "it is seen writable", func() bool { return len(s.Spans(c.Node(0))) == 1 })
	freeze := sandbox.Break(t, "freeze", c.Node(0))
	frozen := time.Now()
	time.Sleep(500 * time.Millisecond)
	thawed := time.Now()
	if err := freeze.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is seen again", func() bool { return len(s.Spans(c.Node(0))) > 1 })
	s.Stop()
	for _, span := range s.Spans(c.Node(0)) {
		if span.From.Before(frozen) && span.To.After(thawed) {
			t.Errorf("span %+v covers the freeze", span)
		}
	}
}

func TestWriterThatStopsLeavesNoRowUnderWay(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{Nodes: 1})
	w := c.StartWriter(t.Context(), sandbox.WriterOptions{Limit: 20 * time.Second})
	written(t, w, c.Node(0), 5)
	lock := sandbox.Break(t, "locked", c.Node(0))
	eventually(t, "a row waits for the lock", func() bool {
		acked, sent := w.Count()
		time.Sleep(20 * time.Millisecond)
		later, same := w.Count()
		return sent > acked && acked == later && sent == same
	})
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop() }()
	time.Sleep(100 * time.Millisecond)
	if err := lock.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if acked, sent := w.Count(); acked != sent {
		t.Errorf("%d rows sent and %d acknowledged: the last one may still come", sent, acked)
	}
}
