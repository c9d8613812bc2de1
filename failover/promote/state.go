package promote

import (
	"encoding/json"
	"fmt"
	"slices"

	"failwise/failover/journal"
)

// state is what a run knows and has done. It is written with every entry of the
// promotion log; undo and Resume need nothing else. It holds no secret.
type state struct {
	// Seq grows with each write, so that the newest can be told.
	Seq  int  `json:"seq"`
	Plan Plan `json:"plan"`
	// Starved are the replicas whose receiver ran and was stopped by us.
	Starved []string `json:"starved,omitempty"`
	// Before are the replication channels as they were, by node.
	Before map[string]channel `json:"before,omitempty"`
	// Tried are candidates that failed, with the reason.
	Tried []tried `json:"tried,omitempty"`
	// GivenUp are those of them that were made ready, and stay as they are until they
	// follow the new primary or all is undone.
	GivenUp []string `json:"given_up,omitempty"`
	// Fallen are nodes that were opened and lost before the proving write: they
	// are fenced like the old primary.
	Fallen []string `json:"fallen,omitempty"`

	Fence fenceRecord `json:"fence"`
	// Prepared is the candidate whose replication was stopped.
	Prepared string `json:"prepared,omitempty"`
	// Detour is the node from which the candidate caught up instead of the old primary.
	Detour string `json:"detour,omitempty"`
	// SemiSync says that the new primary shall have its semi-sync source side on;
	// SemiSyncBefore what the candidate had.
	SemiSync       bool `json:"semi_sync,omitempty"`
	SemiSyncBefore bool `json:"semi_sync_before,omitempty"`
	// SemiSyncLater says that it is switched on after open, when a sibling is attached.
	SemiSyncLater bool `json:"semi_sync_later,omitempty"`
	// Repointed are the siblings for which repointing was begun.
	Repointed []string `json:"repointed,omitempty"`
	// Opened is true from the moment before read_only is switched off for the first
	// time; OpenedNode is the node on which that was done last.
	Opened     bool   `json:"opened,omitempty"`
	OpenedNode string `json:"opened_node,omitempty"`
	Proved     bool   `json:"proved,omitempty"`
	// Proof is the position after the proving write.
	Proof     string `json:"proof,omitempty"`
	Announced bool   `json:"announced,omitempty"`
	Demoted   bool   `json:"demoted,omitempty"`
	// Final is the old primary's position once a switch has blocked its writes.
	Final string `json:"final,omitempty"`
	Loss  Loss   `json:"loss"`
}

type tried struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// fenceRecord is what was done to the old primary and how it was before.
type fenceRecord struct {
	State FenceState `json:"state"`
	Why   string     `json:"why,omitempty"`
	// Known is true when the flags before were read.
	Known         bool `json:"known,omitempty"`
	ReadOnly      bool `json:"read_only,omitempty"`
	SuperReadOnly bool `json:"super_read_only,omitempty"`
	Offline       bool `json:"offline,omitempty"`
	SemiSync      bool `json:"semi_sync,omitempty"`
	// Locked is true when a global read lock is held for a switch; it goes with
	// the session that holds it.
	Locked bool `json:"locked,omitempty"`
}

func (s *state) tried(node string) bool {
	return slices.ContainsFunc(s.Tried, func(t tried) bool { return t.Node == node })
}

func (s *state) encode() (json.RawMessage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of the plan: %w", err)
	}
	return data, nil
}

// lastState is the newest state in a log; ok is false when it has none: then
// nothing was done.
func lastState(log journal.OperationLog) (s state, ok bool, err error) {
	for _, e := range log.Entries {
		if len(e.Data) == 0 {
			continue
		}
		var found state
		if err := json.Unmarshal(e.Data, &found); err != nil {
			return state{}, false, fmt.Errorf("promotion log %s, line %d: %w", log.Operation.ID, e.Seq, err)
		}
		if !ok || found.Seq > s.Seq {
			s, ok = found, true
		}
	}
	return s, ok, nil
}
