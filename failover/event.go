package failover

import (
	"encoding/json"
	"time"

	"failwise/rules"
)

// Kind is what an event is.
type Kind uint8

// The kinds. Those from AskReplicas on are requests to the caller; see
// [Kind.Request].
const (
	KindUnset Kind = iota
	// AlarmRaised: an outcome's alarm began.
	AlarmRaised
	// Healed: online observations ended the node's episode and its unwindowed
	// alarms.
	Healed
	// Expired: an alarm reached its threshold. With action none this is all.
	Expired
	// Alerted: an expired alarm with action alert; tell people.
	Alerted
	// SettleBegan: the settle period of a nearly_down primary began or, with a
	// Count of restarts, began anew.
	SettleBegan
	// Held: an expired alarm is not acted on; Reason says why.
	Held
	// ReplicaFailed: a replica was shunned.
	ReplicaFailed
	// FailoverDecided: promote a replica now. Node is the old primary, Peer the
	// wanted new one if a user named it.
	FailoverDecided
	// Promoted: Node is the new primary, Peer the old one.
	Promoted
	// PromotionEnded: the promotion failed. Node is the old primary, Count the
	// attempts so far.
	PromotionEnded
	// Recovered: a shunned node came back.
	Recovered
	// Stalled: this process was paused.
	Stalled
	// PolicyChanged: Policy is the new one; Node is set if it is a node's own.
	PolicyChanged

	// AskReplicas asks for a round of confirmation about Node: one more probe of
	// it, and, if Contest is set, the replicas' votes and the routes; and the
	// other watchers' view. The answers are facts of round Round, ended by
	// [Answered].
	AskReplicas
	// ProbeOthers asks for a probe of every node but Node at once, so that
	// isolation can be told from a dead node.
	ProbeOthers
	// AskCoordinator asks for the coordinator fact anew; until it comes the
	// engine does not act.
	AskCoordinator
	// BackToFence: the old primary was seen online before the new one was
	// opened. Fence it again; if that fails, undo the promotion.
	BackToFence

	kindEnd
)

var kindNames = []string{"", "alarm", "heal", "expire", "alert", "settle", "hold", "fail_replica", "failover", "promoted",
	"promotion_failed", "recovered", "stalled", "policy", "confirm", "probe_others", "ask_coordinator", "back_to_fence"}

func (k Kind) String() string { return nameOf("event", kindNames, k) }

// Request reports whether the event asks the caller for something instead of
// telling what was decided.
func (k Kind) Request() bool { return k >= AskReplicas }

// ParseKind is the inverse of [Kind.String].
func ParseKind(s string) (Kind, error) { return parseName[Kind]("event", kindNames, s) }

// Kinds returns all kinds of events, requests last.
func Kinds() []Kind {
	all := make([]Kind, 0, kindEnd-1)
	for k := AlarmRaised; k < kindEnd; k++ {
		all = append(all, k)
	}
	return all
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(b []byte) (err error) { *k, err = ParseKind(string(b)); return err }

// Event is one thing that the engine decided, noticed or asks for.
type Event struct {
	// At is the time of the call that gave the event.
	At   time.Duration `json:"-"`
	Kind Kind          `json:"event"`
	// Node is the node concerned; empty for what concerns the cluster.
	Node string `json:"node,omitempty"`
	// Outcome is the alarm's for alarm, expire and alert; the node's latest
	// otherwise.
	Outcome rules.Outcome `json:"outcome,omitempty"`
	// Reason is set for a hold.
	Reason Reason `json:"reason,omitempty"`
	// Count is the alarm's count for expire and alert, the restarts for settle,
	// the attempts for promotion_failed.
	Count int `json:"count,omitempty"`
	// Peer is the other node: see the kinds. For a hold by a replica's vote it
	// is that replica.
	Peer string `json:"peer,omitempty"`
	// Policy is set for a policy event.
	Policy *Policy `json:"policy,omitempty"`
	// Round and Contest are set for a request of confirmation.
	Round   int  `json:"round,omitempty"`
	Contest bool `json:"contest,omitempty"`
	// Forced is true for a failover, or its refusal, that a user asked for.
	Forced bool `json:"forced,omitempty"`
	// Detail is more for a human, or empty.
	Detail string `json:"detail,omitempty"`
}

// MarshalJSON writes the time in seconds.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		At seconds `json:"at"`
		plain
	}{seconds(e.At), plain(e)})
}

// UnmarshalJSON is the inverse of [Event.MarshalJSON].
func (e *Event) UnmarshalJSON(b []byte) error {
	type plain Event
	var w struct {
		At seconds `json:"at"`
		plain
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*e = Event(w.plain)
	e.At = time.Duration(w.At)
	return nil
}
