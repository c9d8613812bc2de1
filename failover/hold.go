package failover

import "time"

// reportExhausted is how often the hold after the last attempt is reported.
const reportExhausted = 10 * time.Minute

// hold is why a nearly_down node is not acted on.
type hold struct {
	reason Reason
	since  time.Duration
	// peer and detail are as in [Event].
	peer, detail string
	// reported is the reason last reported since the hold began.
	reported   Reason
	reportedAt time.Duration
	// ticks has, per reason, one more than the number of the tick in which it
	// was last reported.
	ticks [reasonEnd]int64
}

func (h *hold) end() { h.reason, h.reported, h.peer, h.detail = NoHold, NoHold, "", "" }

// hold keeps n from being acted on. The hold is reported when it begins and when
// its reason changes; one reason at most once per tick.
func (e *Engine) hold(n *node, v verdict) {
	h := &n.held
	if h.reason != v.reason {
		h.reason, h.since = v.reason, e.now
	}
	h.peer, h.detail = v.peer, v.detail
	if v.unsettled {
		e.again = true
		return
	}
	repeat := v.repeat > 0 && e.now-h.reportedAt >= v.repeat
	if h.reported == v.reason && !repeat {
		return
	}
	tick := int64(e.now/e.timings.Tick) + 1
	if h.ticks[v.reason] == tick {
		return
	}
	h.ticks[v.reason], h.reported, h.reportedAt = tick, v.reason, e.now
	e.emit(Event{Kind: Held, Node: n.Name, Outcome: n.outcome, Reason: v.reason, Peer: v.peer, Detail: v.detail})
}

// verdict is the answer of a check: no reason lets the node be acted on.
type verdict struct {
	reason       Reason
	peer, detail string
	// unsettled: what holds may be over within this instant, once the caller has
	// done what was just asked of it; so it is not reported yet.
	unsettled bool
	// repeat is how often the hold is reported again, 0 for never.
	repeat time.Duration
}

func (v verdict) holds() bool { return v.reason != NoHold }
