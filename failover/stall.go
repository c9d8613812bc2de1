package failover

import (
	"fmt"
	"time"
)

// stalled takes in that this process was paused: for gap no call came.
func (e *Engine) stalled(gap time.Duration) {
	e.skipped += gap - e.timings.Tick
	e.freshFrom = e.now
	e.called = e.now
	if e.settle.running {
		e.settle.end = e.now + e.timings.Ticks(e.timings.Settle)
	}
	for _, n := range e.nodes {
		n.vote, n.votedAt = VoteUnknown, never
	}
	e.confirm.void()
	e.coordinator, e.askCoordinator = false, true
	e.dirty = true
	e.emit(Event{Kind: Stalled, Detail: fmt.Sprintf("no call for %s: this process was paused", gap)})
	e.emit(Event{Kind: AskCoordinator})
}
