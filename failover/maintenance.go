package failover

import "time"

// policyHold is a policy and when it ends.
type policyHold struct {
	policy Policy
	// until is [never] for no limit; then is what holds again afterwards.
	until  time.Duration
	then   Policy
	detail string
}

func (p *policyHold) set(now time.Duration, f Fact) {
	then := p.policy
	if p.until != never {
		then = p.then
	}
	*p = policyHold{policy: f.Policy, until: never, then: f.Policy, detail: f.Detail}
	if f.For > 0 {
		p.until, p.then = now+f.For, then
	}
}

// policyOf returns the stricter of the cluster's policy and the node's own.
func (e *Engine) policyOf(n *node) Policy {
	switch {
	case e.policy.policy == Maintenance || n.policy.policy == Maintenance:
		return Maintenance
	case e.policy.policy == Manual || n.policy.policy == Manual:
		return Manual
	}
	return Automatic
}

// maintain lets a change of policy take effect on a node.
func (e *Engine) maintain(n *node) {
	m := e.policyOf(n) == Maintenance
	if m == n.maintained {
		return
	}
	if m {
		n.maintainedFrom = e.now
	} else if n.seenAt >= n.maintainedFrom && n.seenAt < e.now {
		n.inMaintenance = true
	}
	n.maintained = m
	e.retime(n)
}

// setPolicy takes in a policy fact; n is nil for the cluster's.
func (e *Engine) setPolicy(n *node, f Fact) {
	p, name := &e.policy, ""
	if n != nil {
		p, name = &n.policy, n.Name
	}
	p.set(e.now, f)
	if n == nil && f.Policy == Automatic {
		e.attempts = 0
	}
	e.policyEvent(p, name)
}

func (e *Engine) policyEvent(p *policyHold, name string) {
	for _, m := range e.nodes {
		e.maintain(m)
	}
	e.dirty = true
	policy := p.policy
	e.emit(Event{Kind: PolicyChanged, Node: name, Policy: &policy, Detail: p.detail})
}

// endPolicies ends the policies whose time is over.
func (e *Engine) endPolicies() {
	e.endPolicy(&e.policy, "")
	for _, n := range e.nodes {
		e.endPolicy(&n.policy, n.Name)
	}
}

func (e *Engine) endPolicy(p *policyHold, name string) {
	if p.until == never || e.now < p.until {
		return
	}
	was := p.policy
	*p = policyHold{policy: p.then, until: never, then: p.then, detail: "the time of policy " + was.String() + " is over"}
	e.policyEvent(p, name)
}
