package failover

import (
	"slices"
	"time"
)

// operation is what runs on the cluster: a failover that the engine decided, or
// something elsewhere.
type operation struct {
	running bool
	what    string
	began   time.Duration
	// noticed: the Advance that began it is over.
	noticed bool
	forced  bool
	// opened: the new primary was opened. healed: the old one healed meanwhile.
	// refenced: the plan was sent back to fence for the latest return.
	opened, healed, refenced bool
}

// actPrimary fails the primary over, or holds.
func (e *Engine) actPrimary(p *node) {
	if e.forced != nil {
		e.actForced(p)
	}
	if p.stage == InFailover {
		e.watchReturn(p)
		return
	}
	if p.stage != NearlyDown {
		return
	}
	v := e.latest(p)
	if !v.holds() {
		e.askEarly(p)
		v = first(p, e.settled, e.gates, e.retried, e.confirmed,
			e.isolated, e.quotaLeft, e.ageLimit, e.candidate, e.durability, e.stillConfirmed)
	}
	if v.holds() {
		e.hold(p, v)
		return
	}
	e.failOver(p, Event{})
}

// failOver hands the decision out.
func (e *Engine) failOver(p *node, ev Event) {
	ev.Kind, ev.Node, ev.Outcome = FailoverDecided, p.Name, p.outcome
	e.setStage(p, InFailover)
	e.operation = operation{running: true, what: "failover of " + p.Name, began: e.now, forced: ev.Forced}
	e.emit(ev)
}

// watchReturn sends the plan back to fence when the old primary is seen online
// before the new one was opened.
func (e *Engine) watchReturn(p *node) {
	o := &e.operation
	back := p.online && p.seenAt > o.began
	if back && !o.opened && !o.refenced {
		e.emit(Event{Kind: BackToFence, Node: p.Name, Outcome: p.outcome})
	}
	o.refenced = back
}

// force takes in a user's request for a failover.
func (e *Engine) force(f Fact) {
	e.attempts, e.forced = 0, &f
	if p := e.primary; p.stage != NearlyDown && p.stage != InFailover {
		// Nobody has been asked about this primary yet.
		p.expiredAt = e.now
		e.confirm.void()
	}
}

// actForced answers a user's request for a failover.
func (e *Engine) actForced(p *node) {
	f := e.forced
	checks := []func(*node) verdict{
		unless(f.Ignore, LatestNotFatal, e.seenFatal),
		unless(f.Ignore, InMaintenance, e.unmaintained),
		unless(f.Ignore, NotCoordinator, e.coordinates),
		e.idle,
		unless(f.Ignore, Confirming, e.forcedConfirm),
		unless(f.Ignore, Isolated, e.isolated),
		unless(f.Ignore, AgeLimit, e.ageLimit),
		e.forcedCandidate,
		unless(f.Ignore, Durability, e.durability),
		unless(f.Ignore, Confirming, e.stillConfirmed),
	}
	v := first(p, checks...)
	if v.reason == Confirming {
		e.again = e.again || v.unsettled
		return
	}
	e.forced = nil
	if v.holds() {
		e.emit(Event{Kind: Held, Node: p.Name, Outcome: p.outcome, Reason: v.reason, Peer: v.peer, Detail: v.detail, Forced: true})
		return
	}
	e.attempts, e.retryAt = 0, never
	e.failOver(p, Event{Peer: f.Node, Forced: true})
}

// seenFatal holds a forced failover of a primary that the rules do not call dead.
func (e *Engine) seenFatal(p *node) verdict {
	if !p.online && e.rules[p.outcome].Fatal() {
		return verdict{}
	}
	return verdict{reason: LatestNotFatal, detail: "the latest probe was " + p.outcome.String()}
}

func (e *Engine) unmaintained(p *node) verdict {
	if !p.maintained {
		return verdict{}
	}
	return verdict{reason: InMaintenance}
}

// forcedConfirm asks once, from the request on.
func (e *Engine) forcedConfirm(p *node) verdict {
	v := e.confirmed(p)
	if v.reason != Confirming && slices.Contains(e.forced.Ignore, v.reason) {
		return verdict{}
	}
	return v
}

func (e *Engine) forcedCandidate(p *node) verdict {
	to := e.forced.Node
	if to == "" {
		return e.candidate(p)
	}
	n := e.node(to)
	if n == nil {
		return verdict{reason: NoCandidate, peer: to, detail: "it is no node of this cluster"}
	}
	if ok, why := e.eligible(n); !ok {
		return verdict{reason: NoCandidate, peer: to, detail: why}
	}
	return verdict{}
}

// promoted ends a promotion: next is the primary now, the old one is shunned. The
// age limit runs from a finished one.
func (e *Engine) promoted(next *node, finished bool) {
	if e.operation.running && !e.operation.forced {
		e.quotaUsed++
	}
	e.operation = operation{}
	if finished {
		e.lastFailover = e.now
	}
	ev := Event{Kind: Promoted, Node: next.Name, Outcome: next.outcome}
	for _, old := range e.nodes {
		if old == next || old != e.primary && old.stage != InFailover {
			continue
		}
		old.Role, old.shun = Replica, Shun{FailedOverTo: next.Name}
		e.setStage(old, Shunned)
		ev.Peer = old.Name
	}
	e.primary, next.Role = next, Primary
	if next.stage == Shunned || next.stage == InFailover {
		next.shun = Shun{}
		e.setStage(next, Up)
		if next.episode {
			e.setStage(next, HalfDown)
		}
	}
	e.newPrimary()
	e.emit(ev)
}

// promotionFailed ends a promotion that was undone.
func (e *Engine) promotionFailed(why string) {
	o := e.operation
	if !o.running {
		return
	}
	e.operation = operation{}
	e.attempts++
	e.retryAt = e.now + e.timings.Retry
	ev := Event{Kind: PromotionEnded, Count: e.attempts, Detail: why}
	for _, p := range e.nodes {
		if p.stage != InFailover {
			continue
		}
		ev.Node, ev.Outcome = p.Name, p.outcome
		switch {
		case !p.episode:
			e.setStage(p, Up)
		case o.healed:
			e.setStage(p, HalfDown)
		default:
			e.setStage(p, NearlyDown)
		}
	}
	e.emit(ev)
}
