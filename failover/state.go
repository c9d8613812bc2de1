package failover

import (
	"encoding/json"
	"fmt"
	"time"
)

// State is what an engine needs to go on after a restart: store it whenever
// [Engine.State] changes, and put it into [Config.State]. Times are ages at the
// moment it was taken, since the engine knows no wall clock; a caller that stores
// it adds the time that passed before it hands it back.
type State struct {
	// Policy is the cluster's policy; nil means that none was stored.
	Policy *PolicyState `json:"policy,omitempty"`
	// NodePolicies are the policies of nodes that have one of their own.
	NodePolicies map[string]PolicyState `json:"node_policies,omitempty"`
	// Shunned are the shunned nodes.
	Shunned map[string]Shun `json:"shunned,omitempty"`
	// QuotaUsed is the number of automatic failovers since the last reset.
	QuotaUsed int `json:"quota_used,omitempty"`
	// LastFailoverAge is the age of the last finished failover, forced ones
	// included and switches not; nil means none.
	LastFailoverAge *time.Duration `json:"-"`
}

// PolicyState is a policy and when it ends.
type PolicyState struct {
	Policy Policy `json:"policy"`
	// Left is the time after which Then holds again; 0 is no limit.
	Left time.Duration `json:"-"`
	Then Policy        `json:"then,omitempty"`
	// Detail says who set it and why.
	Detail string `json:"detail,omitempty"`
}

// Shun says why a node is shunned.
type Shun struct {
	// FailedOverTo is the new primary of an old primary; empty for a failed
	// replica. Only the latter comes back by itself.
	FailedOverTo string `json:"failed_over_to,omitempty"`
}

func (s Shun) String() string {
	if s.FailedOverTo != "" {
		return "failed_over_to " + s.FailedOverTo
	}
	return "failed"
}

func (s *State) validate() error {
	if s.QuotaUsed < 0 {
		return fmt.Errorf("state: quota used is %d, it cannot be negative", s.QuotaUsed)
	}
	if s.LastFailoverAge != nil && *s.LastFailoverAge < 0 {
		return fmt.Errorf("state: the last failover is %s old, it cannot lie in the future", *s.LastFailoverAge)
	}
	return nil
}

// MarshalJSON writes times in seconds.
func (s State) MarshalJSON() ([]byte, error) {
	type plain State
	return json.Marshal(struct {
		plain
		LastFailoverAge *seconds `json:"last_failover_age,omitempty"`
	}{plain(s), (*seconds)(s.LastFailoverAge)})
}

// UnmarshalJSON is the inverse of [State.MarshalJSON].
func (s *State) UnmarshalJSON(b []byte) error {
	type plain State
	var w struct {
		plain
		LastFailoverAge *seconds `json:"last_failover_age"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = State(w.plain)
	s.LastFailoverAge = (*time.Duration)(w.LastFailoverAge)
	return nil
}

// MarshalJSON writes times in seconds.
func (p PolicyState) MarshalJSON() ([]byte, error) {
	type plain PolicyState
	return json.Marshal(struct {
		plain
		Left seconds `json:"left,omitempty"`
	}{plain(p), seconds(p.Left)})
}

// UnmarshalJSON is the inverse of [PolicyState.MarshalJSON].
func (p *PolicyState) UnmarshalJSON(b []byte) error {
	type plain PolicyState
	var w struct {
		plain
		Left seconds `json:"left"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*p = PolicyState(w.plain)
	p.Left = time.Duration(w.Left)
	return nil
}
