package failover

import "time"

// confirm is the asking of others about a nearly_down primary.
type confirm struct {
	// round numbers the rounds of questions; pending: one runs.
	round   int
	pending bool
	// began is when the round began, and noticed that one Advance has passed
	// since.
	began   time.Duration
	noticed bool
	// doneAt is the end of the last round since the expiry, or never.
	doneAt time.Duration

	route       Route
	routeAt     time.Duration
	observers   Observers
	observersAt time.Duration
}

// void forgets all answers and the running round.
func (c *confirm) void() {
	*c = confirm{round: c.round, doneAt: never, routeAt: never, observersAt: never}
}

// takes reports whether an answer of that round counts: 0 is an answer that
// nobody asked for.
func (c *confirm) takes(round int) bool { return round == 0 || round == c.round }

// ask requests a round of questions about p.
func (e *Engine) ask(p *node) {
	c := &e.confirm
	c.round++
	c.pending, c.began, c.noticed = true, e.now, false
	e.emit(Event{Kind: AskReplicas, Node: p.Name, Outcome: p.outcome, Round: c.round, Contest: Contestable(p.outcome)})
}

// askEarly requests the first round at the expiry, so that the answers come while
// the settle runs. Who may not act asks nobody.
func (e *Engine) askEarly(p *node) {
	if c := &e.confirm; !c.pending && c.doneAt == never && e.settle.running && !first(p, e.gates, e.retried).holds() {
		e.ask(p)
	}
}

// confirmed holds a primary that somebody contradicts, or while it is being
// asked.
func (e *Engine) confirmed(p *node) verdict {
	c := &e.confirm
	if v := e.contradicted(p); v.holds() {
		if !c.pending && (c.doneAt == never || e.now-c.doneAt >= AskAgain) {
			e.ask(p)
			v.unsettled = true
		}
		return v
	}
	if !c.pending && c.doneAt == never {
		e.ask(p)
	}
	if c.pending {
		v := verdict{reason: Confirming, unsettled: c.began == e.now && !c.noticed}
		c.noticed = true
		return v
	}
	return verdict{}
}

// stillConfirmed asks again if the answers are too old to act on.
func (e *Engine) stillConfirmed(p *node) verdict {
	if e.now-e.confirm.doneAt <= AnswerFor {
		return verdict{}
	}
	e.ask(p)
	e.confirm.noticed = true
	return verdict{reason: Confirming, unsettled: true}
}

// contradicted holds a primary that somebody still sees.
func (e *Engine) contradicted(p *node) verdict {
	c := &e.confirm
	if Contestable(p.outcome) {
		for _, n := range e.nodes {
			if n != p && n.stage != Shunned && n.vote == VoteSees && n.votedAt >= p.expiredAt && e.now-n.votedAt < SeesFor {
				return verdict{reason: ReplicaSeesPrimary, peer: n.Name}
			}
		}
		if c.route == RouteSees && e.counts(p, c.routeAt) {
			return verdict{reason: RouteSeesPrimary}
		}
	}
	if c.observers == ObserversDisagree && e.counts(p, c.observersAt) {
		return verdict{reason: ObserversDisagreed}
	}
	return verdict{}
}

// counts reports whether an answer of that time is newer than the expiry and not
// too old.
func (e *Engine) counts(p *node, at time.Duration) bool {
	return at >= p.expiredAt && e.now-at <= AnswerFor
}
