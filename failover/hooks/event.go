package hooks

import "fmt"

// Event is a moment a hook can be tied to.
type Event uint8

// The events, in the order in which an incident meets them.
const (
	EventUnset    Event = iota
	Fence               // the old primary was fenced by SQL as far as it could be; make it sure
	Promoted            // the new primary is open and took a write; move addresses and traffic
	Finished            // the operation is over and succeeded
	Failed              // the operation is over and failed
	Alert               // an alarm with action alert expired
	ReplicaFailed       // a replica was shunned
	ReplicaBack         // a shunned replica came back
	Policy              // the policy mode changed
)

var eventNames = [...]string{"", "fence", "promoted", "finished", "failed", "alert", "replica_failed", "replica_back", "policy"}

func (e Event) String() string {
	if e > EventUnset && int(e) < len(eventNames) {
		return eventNames[e]
	}
	return fmt.Sprintf("event(%d)", uint8(e))
}

// ParseEvent is the inverse of String.
func ParseEvent(s string) (Event, error) {
	for i, name := range eventNames {
		if i > 0 && s == name {
			return Event(i), nil
		}
	}
	return EventUnset, fmt.Errorf("hook event %q: not one of fence, promoted, finished, failed, alert, replica_failed, replica_back, policy", s)
}

// MarshalText writes the event's name.
func (e Event) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an event's name.
func (e *Event) UnmarshalText(text []byte) error {
	parsed, err := ParseEvent(string(text))
	if err == nil {
		*e = parsed
	}
	return err
}

// Events lists all events.
func Events() []Event {
	return []Event{Fence, Promoted, Finished, Failed, Alert, ReplicaFailed, ReplicaBack, Policy}
}

// Operation is what an event is part of.
type Operation uint8

// The operations. None is an event outside of any.
const (
	None Operation = iota
	Failover
	Switch
	Recover
)

var operationNames = [...]string{"", "failover", "switch", "recover"}

func (o Operation) String() string {
	if int(o) < len(operationNames) {
		return operationNames[o]
	}
	return fmt.Sprintf("operation(%d)", uint8(o))
}

// ParseOperation is the inverse of String; the empty string is None.
func ParseOperation(s string) (Operation, error) {
	for i, name := range operationNames {
		if s == name {
			return Operation(i), nil
		}
	}
	return None, fmt.Errorf("operation %q: not one of failover, switch, recover", s)
}

// MarshalText writes the operation's name.
func (o Operation) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads an operation's name.
func (o *Operation) UnmarshalText(text []byte) error {
	parsed, err := ParseOperation(string(text))
	if err == nil {
		*o = parsed
	}
	return err
}

// OnFailure says what the failure of a hook does to the operation it is part of.
type OnFailure uint8

// Warn reports the failure and goes on; Abort stops the operation where it can
// still be undone.
const (
	Warn OnFailure = iota
	Abort
)

var onFailureNames = [...]string{"warn", "abort"}

func (f OnFailure) String() string {
	if int(f) < len(onFailureNames) {
		return onFailureNames[f]
	}
	return fmt.Sprintf("on_failure(%d)", uint8(f))
}

// ParseOnFailure is the inverse of String.
func ParseOnFailure(s string) (OnFailure, error) {
	for i, name := range onFailureNames {
		if s == name {
			return OnFailure(i), nil
		}
	}
	return Warn, fmt.Errorf("on_failure %q: not abort or warn", s)
}
