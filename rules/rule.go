package rules

import "fmt"

// State is what an outcome says about a node.
type State uint8

// The states, Tungsten's words. StateUnset is the zero value and no state.
const (
	StateUnset State = iota
	Online
	Stopped
	Timeout
	Suspect
	Unknown
)

var stateNames = [...]string{"", "online", "stopped", "timeout", "suspect", "unknown"}

func (s State) String() string {
	if s > StateUnset && int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Action is what happens when an alarm of a rule expires. Actions are ordered
// by seriousness: None < Alert < Fail.
type Action uint8

// The actions. None only logs.
const (
	None Action = iota
	Alert
	Fail
)

var actionNames = [...]string{"none", "alert", "fail"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Never is the threshold of a rule whose alarms never expire.
const Never = -1

// MaxThreshold is the largest threshold, in ticks.
const MaxThreshold = 1_000_000

// Rule is what one outcome means.
type Rule struct {
	State State
	// Threshold, in ticks, is the count at which an alarm expires: [Never], 0
	// (at once) or up to [MaxThreshold].
	Threshold int
	Action    Action
	// Window, in ticks, makes the alarm expire when Threshold of the last
	// Window complete ticks had the outcome. 0 means no window; otherwise
	// Window >= Threshold >= 1.
	Window int
	// Heal is the number of online observations in a row that delete the
	// alarm. 0 means 1. It has no effect together with Window.
	Heal int
}

// Fatal reports whether an expired alarm of the rule fails its node: its action
// is fail and it can expire.
func (r Rule) Fatal() bool { return r.Action == Fail && r.Threshold >= 0 }

// Severity is the seriousness of an observation under the rule: its action, but
// [None] where the threshold is [Never].
func (r Rule) Severity() Action {
	if r.Threshold < 0 {
		return None
	}
	return r.Action
}
