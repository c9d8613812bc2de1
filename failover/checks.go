package failover

import (
	"fmt"
	"slices"
	"time"

	"failwise/rules"
)

// latest holds a node whose latest observation does not justify acting.
func (e *Engine) latest(n *node) verdict {
	v := verdict{reason: LatestNotFatal}
	switch {
	case n.online:
		v.detail = "the latest probe was " + n.outcome.String()
	case n.inMaintenance:
		v.detail = "the latest probe was made in maintenance"
	case n.seenAt < e.freshFrom:
		v.detail = "the latest probe was made before this process was paused"
	case e.now-n.seenAt > e.fresh:
		v.detail = fmt.Sprintf("the latest probe is older than %s", e.fresh)
	case !e.supportsFatal(n):
		v.detail = fmt.Sprintf("the latest probe was %s, which supports no expired alarm that is fatal", n.outcome)
	default:
		return verdict{}
	}
	return v
}

// supportsFatal reports whether n's latest observation maps to fail and supports
// an expired fatal alarm.
func (e *Engine) supportsFatal(n *node) bool {
	for i := range n.alarms {
		a := &n.alarms[i]
		if !a.expired || !e.rules[a.outcome].Fatal() {
			continue
		}
		if a.outcome == rules.NotOnline || e.rules[n.outcome].Fatal() && e.supports(n.outcome, a.outcome) {
			return true
		}
	}
	return false
}

// settled holds a primary while its settle period runs.
func (e *Engine) settled(*node) verdict {
	if !e.settle.running {
		return verdict{}
	}
	return verdict{reason: Settling, detail: fmt.Sprintf("until %s", e.settle.end)}
}

// gates hold a node while this watcher may not act.
func (e *Engine) gates(n *node) verdict {
	switch e.policyOf(n) {
	case Maintenance:
		return verdict{reason: InMaintenance}
	case Manual:
		return verdict{reason: PolicyManual}
	case Automatic:
	}
	return first(n, e.coordinates, e.idle)
}

func (e *Engine) coordinates(*node) verdict {
	if e.coordinator {
		return verdict{}
	}
	v := verdict{reason: NotCoordinator}
	if e.askCoordinator {
		v.detail = "not known since this process was paused"
	}
	return v
}

func (e *Engine) idle(*node) verdict {
	switch o := &e.operation; {
	case o.running:
		return verdict{reason: InProgress, detail: o.what, unsettled: o.began == e.now && !o.noticed}
	case e.elsewhere.running:
		return verdict{reason: InProgress, detail: e.elsewhere.what}
	}
	return verdict{}
}

// retried holds a primary after a failed promotion.
func (e *Engine) retried(*node) verdict {
	t := e.timings
	switch {
	case t.Attempts > 0 && e.attempts >= t.Attempts:
		return verdict{reason: PromotionFailed, repeat: reportExhausted,
			detail: fmt.Sprintf("all %d attempts have failed", t.Attempts)}
	case e.now < e.retryAt:
		return verdict{reason: PromotionFailed, detail: fmt.Sprintf("the next attempt comes in %s", max(time.Second, (e.retryAt-e.now).Round(time.Second)))}
	}
	return verdict{}
}

// isolated holds a node while nothing proves that this side's network works.
func (e *Engine) isolated(n *node) verdict {
	raised := never
	for i := range n.alarms {
		if a := &n.alarms[i]; e.rules[a.outcome].Fatal() && (raised == never || a.raisedAt < raised) {
			raised = a.raisedAt
		}
	}
	for _, m := range e.nodes {
		if m != n && (!m.Local || e.allLocal) && m.reachedAt != never && m.reachedAt >= raised && e.now-m.reachedAt <= e.fresh {
			return verdict{}
		}
	}
	return verdict{reason: Isolated}
}

// quotaLeft holds when the automatic failovers are used up.
func (e *Engine) quotaLeft(*node) verdict {
	if e.timings.Quota == 0 || e.quotaUsed < e.timings.Quota {
		return verdict{}
	}
	return verdict{reason: QuotaUsed, detail: fmt.Sprintf("%d of %d used", e.quotaUsed, e.timings.Quota)}
}

// ageLimit holds when the last failover is too recent.
func (e *Engine) ageLimit(*node) verdict {
	if e.lastFailover == never || e.now-e.lastFailover >= e.timings.AgeLimit {
		return verdict{}
	}
	return verdict{reason: AgeLimit, detail: fmt.Sprintf("the last one was %s before, the limit is %s", (e.now - e.lastFailover).Round(time.Second), e.timings.AgeLimit)}
}

// candidate holds when no replica may be promoted.
func (e *Engine) candidate(*node) verdict {
	if e.firstCandidate() != nil {
		return verdict{}
	}
	return verdict{reason: NoCandidate}
}

func (e *Engine) durability(*node) verdict {
	if e.durable {
		return verdict{}
	}
	return verdict{reason: Durability, detail: e.undurable}
}

// eligible reports whether n may be promoted, and if not, why.
func (e *Engine) eligible(n *node) (bool, string) {
	switch {
	case n.Role == Primary:
		return false, "it is the primary"
	case n.stage != Up:
		return false, "its stage is " + n.stage.String()
	case n.outcome != rules.OK:
		return false, "its latest probe was " + n.outcome.String()
	case n.maintained:
		return false, "it is in maintenance"
	case n.ineligible:
		return false, n.why
	}
	return true, ""
}

func (e *Engine) firstCandidate() *node {
	for _, n := range e.nodes {
		if ok, _ := e.eligible(n); ok {
			return n
		}
	}
	return nil
}

// Candidates returns the replicas that may be promoted, in the nodes' order.
func (e *Engine) Candidates() []string {
	var names []string
	for _, n := range e.nodes {
		if ok, _ := e.eligible(n); ok {
			names = append(names, n.Name)
		}
	}
	return names
}

// unless leaves a check out if the reason it could give is to be ignored.
func unless(ignore []Reason, r Reason, check func(*node) verdict) func(*node) verdict {
	if slices.Contains(ignore, r) {
		return func(*node) verdict { return verdict{} }
	}
	return check
}
