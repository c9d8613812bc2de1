package failover

import (
	"fmt"
	"time"

	"failwise/rules"
)

// Tell takes in a fact and returns what it changed. Like [Engine.Observe] it
// decides nothing: call [Engine.Advance] next. An error means that the fact was
// not taken in: [ErrUnknownNode], [ErrNodes], [ErrFact] or a rule's own. The slice
// is valid until the next call.
func (e *Engine) Tell(now time.Duration, f Fact) ([]Event, error) {
	e.enter(now)
	var n *node
	if f.Node != "" && f.Kind != FactForced {
		if n = e.node(f.Node); n == nil {
			return e.events, fmt.Errorf("fact %s: %w: %s", f.Kind, ErrUnknownNode, f.Node)
		}
	}
	if n == nil && needsNode(f.Kind) {
		return e.events, fmt.Errorf("fact %s names no node: %w", f.Kind, ErrFact)
	}
	err := e.take(n, f)
	e.dirty = e.dirty || err == nil
	return e.events, err
}

func needsNode(k FactKind) bool {
	switch k {
	case FactVote, FactEligible, FactPromoted, FactRecovered:
		return true
	case FactUnset, FactPolicy, FactCoordinator, FactOperation, FactRoute, FactObservers, FactAsking, FactAnswered, FactDurability,
		FactOpened, FactPromotionFailed, FactQuotaReset, FactNodes, FactRules, FactForced, factEnd:
	}
	return false
}

func (e *Engine) take(n *node, f Fact) error {
	c := &e.confirm
	switch f.Kind {
	case FactPolicy:
		e.setPolicy(n, f)
	case FactCoordinator:
		e.coordinator, e.askCoordinator = f.Yes, false
	case FactOperation:
		e.elsewhere = operation{running: f.Yes, what: f.Detail, began: e.now}
	case FactVote:
		if c.takes(f.Round) {
			n.vote, n.votedAt = f.Vote, e.now
		}
	case FactRoute:
		if c.takes(f.Round) {
			c.route, c.routeAt = f.Route, e.now
		}
	case FactObservers:
		if c.takes(f.Round) {
			c.observers, c.observersAt = f.Observers, e.now
		}
	case FactAsking:
		c.round++
		c.pending, c.began, c.noticed = true, e.now, true
	case FactAnswered:
		if c.pending && c.takes(f.Round) {
			c.pending, c.doneAt = false, e.now
		}
	case FactEligible:
		n.ineligible, n.why = !f.Yes, f.Detail
	case FactDurability:
		e.durable, e.undurable = f.Yes, f.Detail
	case FactOpened:
		e.operation.opened = true
	case FactPromoted:
		e.promoted(n, !f.Unfinished)
	case FactPromotionFailed:
		e.promotionFailed(f.Detail)
	case FactRecovered:
		if n.stage == Shunned {
			e.comeBack(n)
		}
	case FactQuotaReset:
		e.quotaUsed = 0
	case FactNodes:
		if err := checkNodes(f.Nodes); err != nil {
			return fmt.Errorf("fact %s: %w", f.Kind, err)
		}
		e.setNodes(f.Nodes)
	case FactRules:
		return e.setRules(f.Rules)
	case FactForced:
		if e.primary == nil {
			return fmt.Errorf("fact %s: %w: there is no primary", f.Kind, ErrFact)
		}
		e.force(f)
	case FactUnset, factEnd:
		return fmt.Errorf("%w: %s", ErrFact, f.Kind)
	default:
		return fmt.Errorf("%w: %s", ErrFact, f.Kind)
	}
	return nil
}

// setRules replaces the rules. An outcome that the table lacks is unknown and
// never acts. A running alarm takes its new rule at the next evaluation; one whose
// window changes starts at 0.
func (e *Engine) setRules(table map[rules.Outcome]rules.Rule) error {
	for _, o := range rules.Outcomes() {
		if r, ok := table[o]; ok {
			if err := r.Validate(); err != nil {
				return fmt.Errorf("fact rules: %s: %w", o, err)
			}
		}
	}
	e.setRule(func(o rules.Outcome) rules.Rule {
		if r, ok := table[o]; ok {
			return r
		}
		return rules.Rule{State: rules.Unknown, Threshold: rules.Never}
	})
	for _, n := range e.nodes {
		n.online = n.seenAt != never && e.online[n.outcome]
		e.rewindow(n)
		e.retime(n)
	}
	return nil
}

// rewindow fits the alarms of n to changed windows.
func (e *Engine) rewindow(n *node) {
	kept := n.alarms[:0]
	for _, a := range n.alarms {
		size, had := e.rules[a.outcome].Window, 0
		if a.window != nil {
			had = a.window.size
		}
		if a.outcome == rules.NotOnline && size == 0 {
			continue
		}
		if size != had {
			a.restart(e.clock(), size, n.shows(a.outcome))
		}
		kept = append(kept, a)
	}
	clear(n.alarms[len(kept):])
	n.alarms = kept
}
