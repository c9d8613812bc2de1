package watch

import (
	"testing"
	"time"

	"failwise/failover/journal"
	"failwise/failover/topology"
)

func TestAReadingFromBeforeAnOperationEndedIsNotTaken(t *testing.T) {
	w := idle(t)
	if err := w.makeEngine(journal.State{}); err != nil {
		t.Fatal(err)
	}
	readings := []topology.Reading{{Name: "db1", Error: "no answer"}}
	w.settledAt = time.Second
	w.take(t.Context(), time.Second-1, readings)
	if len(w.topo.Nodes) != 0 {
		t.Error("roles were taken from a time when they were in flux")
	}
	select {
	case <-w.surveyed:
	default:
		t.Error("no new reading was asked for")
	}
	w.take(t.Context(), time.Second, readings)
	if len(w.topo.Nodes) != 1 {
		t.Error("the reading after it was not taken")
	}
}
