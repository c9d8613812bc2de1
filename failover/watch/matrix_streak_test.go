package watch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/sandbox"
)

// streak is how often one cluster loses its primary.
const streak = 20

// failoversInARow checks the invariants after each failover and recovery.
func failoversInARow(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "kill", outcomes: refused}, row,
		func(cfg *Config, _ *sandbox.Cluster) { cfg.Timings.AgeLimit = 0 })
	ctx := t.Context()
	writers := []*sandbox.Writer{tr.writer}
	var writes []time.Duration
	for i := range streak {
		// No write is under way at the kill: else it may be on the dead node alone,
		// which then must not come back.
		writer := writers[len(writers)-1]
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := tr.cluster.AwaitSync(ctx, tr.primary); err != nil {
			t.Fatal(err)
		}
		old, mark := tr.primary, time.Now()
		if err := old.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		writer = tr.cluster.StartWriter(ctx, sandbox.WriterOptions{Pause: matrixPause})
		writers = append(writers, writer)
		promoted := tr.await(2*matrixWait, fmt.Sprintf("promotion %d", i+1), func(n Notice) bool {
			return n.Time.After(mark) && event(failover.Promoted)(n)
		})
		tr.primary, tr.writer = tr.byName(promoted.Node), writer
		writes = append(writes, tr.awaitAck(promoted.Time).At.Sub(mark))
		t.Logf("failover %d: %s to %s, first write %s after the kill", i+1, old.Name(), promoted.Node, writes[i])
		back := time.Now()
		if err := old.Start(ctx); err != nil {
			t.Fatal(err)
		}
		tr.complain(matrixWait, func() string {
			a := tr.watcher.Request(ctx, Request{Operation: "recover", Node: old.Name(), By: "test"}, nil)
			if a.Err != nil {
				return a.Err.Error()
			}
			return ""
		})
		for _, n := range tr.cluster.Nodes() {
			if n != tr.primary {
				tr.complain(matrixWait, func() string { return followsComplaint(ctx, n, tr.primary, flavour) })
			}
		}
		tr.complain(matrixWait, func() string { return primaryComplaint(ctx, tr.primary, flavour, true) })
		// All there are belong to a dead node that came back.
		for _, o := range tr.sampler.Overlaps() {
			if o.From.After(mark) && o.From.Before(back) {
				t.Errorf("failover %d: %s and %s were writable at once", i+1, o.Nodes[0].Name(), o.Nodes[1].Name())
			}
			row.returned = max(row.returned, o.To.Sub(o.From))
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if err := tr.writer.Stop(); err != nil {
		t.Fatal(err)
	}
	for i, w := range writers {
		missing, err := w.Missing(ctx, tr.primary)
		if err != nil || len(missing) > 0 {
			t.Errorf("%d acknowledged rows of round %d are missing (%v)", len(missing), i, err)
		}
		acked, _ := w.Count()
		row.acked, row.lost = row.acked+acked, row.lost+len(missing)
	}
	for _, n := range tr.cluster.Nodes() {
		if n != tr.primary {
			tr.complain(matrixWait, func() string { return alike(ctx, n, tr.primary) })
		}
	}
	tr.ends(ctx)
	slices.Sort(writes)
	row.write = writes[len(writes)/2]
	row.decision = fmt.Sprintf("%d failovers; first write after %s to %s s", streak, seconds(writes[0]), seconds(writes[len(writes)-1]))
}
