package watch

import (
	"testing"
	"time"

	"failwise/rules"
)

func TestHistoryKeepsTheWorstOfEachSecond(t *testing.T) {
	var h history
	now := time.Unix(1_000_000, 0)
	h.add(now, rules.Online)
	h.add(now.Add(300*time.Millisecond), rules.Stopped)
	h.add(now.Add(600*time.Millisecond), rules.Online)
	h.add(now.Add(2*time.Second), rules.Timeout)
	got := h.last(now.Add(2 * time.Second))
	if len(got) != historySeconds {
		t.Fatalf("%d seconds, want %d", len(got), historySeconds)
	}
	tail := got[historySeconds-3:]
	if tail[0] != rules.Stopped || tail[1] != rules.StateUnset || tail[2] != rules.Timeout {
		t.Errorf("the last three seconds are %v", tail)
	}
	if old := h.last(now.Add(2 * time.Minute)); old[0] != rules.StateUnset || old[historySeconds-1] != rules.StateUnset {
		t.Error("what is older than a minute is still shown")
	}
}
