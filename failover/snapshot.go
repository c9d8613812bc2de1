package failover

import (
	"encoding/json"
	"time"

	"failwise/rules"
)

// Snapshot is a copy of what the engine knows, for `status`.
type Snapshot struct {
	At          time.Duration `json:"-"`
	Policy      PolicyState   `json:"policy"`
	Coordinator bool          `json:"coordinator"`
	// Operation names what is in progress, or is empty.
	Operation string `json:"operation,omitempty"`
	// Quota is the number of automatic failovers allowed, 0 for no quota.
	Quota     int `json:"quota,omitempty"`
	QuotaUsed int `json:"quota_used,omitempty"`
	// LastFailoverAge is nil if there was none.
	LastFailoverAge *time.Duration `json:"-"`
	// Attempts counts the failed promotions of this episode.
	Attempts int `json:"attempts,omitempty"`
	// Candidates may be promoted, in the nodes' order.
	Candidates []string       `json:"candidates"`
	Nodes      []NodeSnapshot `json:"nodes"`
}

// NodeSnapshot is one node of a [Snapshot].
type NodeSnapshot struct {
	Name    string        `json:"name"`
	Role    Role          `json:"role"`
	Stage   Stage         `json:"stage"`
	State   rules.State   `json:"state"`
	Outcome rules.Outcome `json:"outcome"`
	// Age is the age of the latest observation, nil if there is none.
	Age *time.Duration `json:"-"`
	// Maintenance is true while the node or its cluster is in maintenance.
	Maintenance bool          `json:"maintenance,omitempty"`
	Alarms      []AlarmStatus `json:"alarms,omitempty"`
	Hold        *HoldStatus   `json:"hold,omitempty"`
	// Shunned is why the node is shunned, or empty.
	Shunned string `json:"shunned,omitempty"`
	// Ineligible is why the node is no candidate, or empty.
	Ineligible string `json:"ineligible,omitempty"`
}

// AlarmStatus is one alarm of a [NodeSnapshot].
type AlarmStatus struct {
	Outcome   rules.Outcome `json:"outcome"`
	Action    rules.Action  `json:"action"`
	Count     int           `json:"count"`
	Threshold int           `json:"threshold"`
	Window    int           `json:"window,omitempty"`
	Expired   bool          `json:"expired,omitempty"`
	// Running is false while the alarm's clock stands still.
	Running bool `json:"running"`
	// Age is the time counted so far.
	Age time.Duration `json:"-"`
	// Left is the time to the expiry if the clock keeps running, nil if the
	// alarm is expired, never expires or has a window.
	Left *time.Duration `json:"-"`
}

// HoldStatus is why a node is not acted on.
type HoldStatus struct {
	Reason Reason `json:"reason"`
	// Since is how long the reason has held.
	Since  time.Duration `json:"-"`
	Peer   string        `json:"peer,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Lifts  string        `json:"lifts"`
}

// Snapshot returns a copy of what the engine knows at now, which is not before
// the last call. It changes nothing.
func (e *Engine) Snapshot(now time.Duration) Snapshot {
	now = max(now, e.now)
	s := Snapshot{
		At: now, Policy: e.policy.state(now), Coordinator: e.coordinator,
		Quota: e.timings.Quota, QuotaUsed: e.quotaUsed, Attempts: e.attempts,
		LastFailoverAge: since(now, e.lastFailover), Candidates: e.Candidates(),
	}
	if e.elsewhere.running {
		s.Operation = e.elsewhere.what
	}
	if e.operation.running {
		s.Operation = e.operation.what
	}
	for _, n := range e.nodes {
		s.Nodes = append(s.Nodes, e.nodeSnapshot(n, now))
	}
	return s
}

// since returns the age of t, nil if it is [never].
func since(now, t time.Duration) *time.Duration {
	if t == never {
		return nil
	}
	d := now - t
	return &d
}

func (e *Engine) nodeSnapshot(n *node, now time.Duration) NodeSnapshot {
	s := NodeSnapshot{
		Name: n.Name, Role: n.Role, Stage: n.stage, Outcome: n.outcome, State: e.rules[n.outcome].State,
		Age: since(now, n.seenAt), Maintenance: n.maintained,
	}
	_, s.Ineligible = e.eligible(n)
	if n.stage == Shunned {
		s.Shunned = n.shun.String()
	}
	if h := n.held; h.reason != NoHold {
		s.Hold = &HoldStatus{Reason: h.reason, Since: now - h.since, Peer: h.peer, Detail: h.detail, Lifts: h.reason.Lifts()}
	}
	clock := now - e.skipped
	for i := range n.alarms {
		s.Alarms = append(s.Alarms, n.alarms[i].status(e.rules[n.alarms[i].outcome], clock, e.timings.Tick))
	}
	return s
}

func (a *alarm) status(r rules.Rule, clock, tick time.Duration) AlarmStatus {
	s := AlarmStatus{
		Outcome: a.outcome, Action: r.Action, Threshold: r.Threshold, Window: r.Window,
		Expired: a.expired, Running: a.running, Age: a.ageAt(clock),
	}
	if a.window != nil {
		w := a.window.clone()
		w.roll(int64(s.Age / tick))
		s.Count = w.bad
		return s
	}
	s.Count = int(s.Age / tick)
	if r.Threshold >= 0 && !a.expired {
		left := max(0, time.Duration(r.Threshold)*tick-s.Age)
		s.Left = &left
	}
	return s
}

// State returns what is to be stored for a restart, as of now.
func (e *Engine) State(now time.Duration) State {
	now = max(now, e.now)
	p := e.policy.state(now)
	s := State{Policy: &p, QuotaUsed: e.quotaUsed, LastFailoverAge: since(now, e.lastFailover)}
	for _, n := range e.nodes {
		if n.stage == Shunned {
			if s.Shunned == nil {
				s.Shunned = map[string]Shun{}
			}
			s.Shunned[n.Name] = n.shun
		}
		if n.policy.policy != Automatic {
			if s.NodePolicies == nil {
				s.NodePolicies = map[string]PolicyState{}
			}
			s.NodePolicies[n.Name] = n.policy.state(now)
		}
	}
	return s
}

// restore takes in what an earlier run left behind. What it says about nodes that
// are gone is dropped.
func (e *Engine) restore(s State) {
	e.quotaUsed = s.QuotaUsed
	if s.LastFailoverAge != nil {
		e.lastFailover = -*s.LastFailoverAge
	}
	if s.Policy != nil {
		e.policy = s.Policy.hold()
	}
	for _, n := range e.nodes {
		if p, ok := s.NodePolicies[n.Name]; ok {
			n.policy = p.hold()
		}
		if why, ok := s.Shunned[n.Name]; ok && n.Role != Primary {
			n.shun = why
			e.setStage(n, Shunned)
		}
		e.maintain(n)
	}
}

func (p *policyHold) state(now time.Duration) PolicyState {
	s := PolicyState{Policy: p.policy, Then: p.then, Detail: p.detail}
	if p.until != never {
		s.Left = max(p.until-now, 1)
	}
	return s
}

func (p PolicyState) hold() policyHold {
	h := policyHold{policy: p.Policy, until: never, then: p.Then, detail: p.Detail}
	if p.Left > 0 {
		h.until = p.Left
	}
	return h
}

// MarshalJSON writes times in seconds, and lists without elements as such.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	type plain Snapshot
	if s.Candidates == nil {
		s.Candidates = []string{}
	}
	if s.Nodes == nil {
		s.Nodes = []NodeSnapshot{}
	}
	return json.Marshal(struct {
		At seconds `json:"at"`
		plain
		LastFailoverAge *seconds `json:"last_failover_age,omitempty"`
	}{seconds(s.At), plain(s), (*seconds)(s.LastFailoverAge)})
}

// MarshalJSON writes times in seconds.
func (s NodeSnapshot) MarshalJSON() ([]byte, error) {
	type plain NodeSnapshot
	return json.Marshal(struct {
		plain
		Age *seconds `json:"observation_age,omitempty"`
	}{plain(s), (*seconds)(s.Age)})
}

// MarshalJSON writes times in seconds.
func (s AlarmStatus) MarshalJSON() ([]byte, error) {
	type plain AlarmStatus
	return json.Marshal(struct {
		plain
		Age  seconds  `json:"age"`
		Left *seconds `json:"expires_in,omitempty"`
	}{plain(s), seconds(s.Age), (*seconds)(s.Left)})
}

// MarshalJSON writes times in seconds.
func (s HoldStatus) MarshalJSON() ([]byte, error) {
	type plain HoldStatus
	return json.Marshal(struct {
		plain
		Since seconds `json:"since"`
	}{plain(s), seconds(s.Since)})
}
