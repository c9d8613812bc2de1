package journal

import (
	"encoding/json"
	"time"
)

// State is what survives a restart. A watcher holds its own copy; the file is
// changed by [StateFile.Update] only, by a watcher or by a command.
type State struct {
	// Policy is the cluster's policy; zero means that none was ever set.
	Policy PolicyState `json:"policy,omitzero"`
	// NodePolicy holds nodes with a policy of their own, by name.
	NodePolicy map[string]PolicyState `json:"node_policy,omitempty"`
	// QuotaUsed is the number of automatic failovers since the last refill, which
	// was at QuotaRefilled.
	QuotaUsed     int       `json:"quota_used"`
	QuotaRefilled time.Time `json:"quota_refilled,omitzero"`
	// LastFailover is the last finished failover, forced ones included, switches
	// not; zero means none.
	LastFailover FailoverState `json:"last_failover,omitzero"`
	// Shunned holds the nodes that are never acted on until recovered, by name.
	Shunned map[string]ShunState `json:"shunned,omitempty"`
	// SemiSyncOwed tells that a promotion had to leave semi-sync off which was on
	// before: it is switched on when enough replicas are attached.
	SemiSyncOwed bool `json:"semi_sync_owed,omitempty"`
	// Topology is the last healthy topology as package topology encodes it, seen
	// at TopologySeen.
	Topology     json.RawMessage `json:"topology,omitempty"`
	TopologySeen time.Time       `json:"topology_seen,omitzero"`
	// Extra holds what other packages keep, opaque, by key.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// PolicyState is a policy with who set it, when, why and until when.
type PolicyState struct {
	// Mode is automatic, manual or maintenance, as the engine spells it.
	Mode   string    `json:"mode"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Until is when it ends by itself, zero for never; Then is the mode that
	// follows.
	Until time.Time `json:"until,omitzero"`
	Then  string    `json:"then,omitempty"`
}

// Ended reports whether the policy has a limit and now is not before it.
func (p PolicyState) Ended(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// FailoverState is one finished failover.
type FailoverState struct {
	Time       time.Time `json:"time"`
	OldPrimary string    `json:"old_primary"`
	NewPrimary string    `json:"new_primary"`
	// Forced is true for one that a user asked for.
	Forced bool `json:"forced,omitempty"`
}

// ShunState says why and since when a node is shunned.
type ShunState struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	// FailedOverTo is the new primary where the node is an old one; empty for a
	// replica that has failed.
	FailedOverTo string `json:"failed_over_to,omitempty"`
}
