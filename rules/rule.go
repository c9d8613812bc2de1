package rules

import (
	"errors"
	"fmt"
	"strconv"
)

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

// ParseState is the inverse of [State.String]; case and surrounding blanks do
// not matter. Its error is an [*UnknownError].
func ParseState(s string) (State, error) {
	i, err := lookUp("state", s, stateNames[:], true)
	return State(i), err
}

// States returns all states, online first.
func States() []State { return []State{Online, Stopped, Timeout, Suspect, Unknown} }

// MarshalText writes the state's name; no state is the empty text.
func (s State) MarshalText() ([]byte, error) {
	if s == StateUnset {
		return nil, nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText is [ParseState]; the empty text is no state.
func (s *State) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*s = StateUnset
		return nil
	}
	*s, err = ParseState(string(b))
	return err
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

// ParseAction is the inverse of [Action.String]; case and surrounding blanks do
// not matter, and Tungsten's "undefined" is [None]. Its error is an
// [*UnknownError].
func ParseAction(s string) (Action, error) {
	if fold(s) == "undefined" {
		return None, nil
	}
	i, err := lookUp("action", s, actionNames[:], true)
	return Action(i), err
}

// MarshalText writes the action's name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is [ParseAction].
func (a *Action) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAction(string(b))
	return err
}

// Never is the threshold of a rule whose alarms never expire.
const Never = -1

// MaxThreshold is the largest threshold, in ticks.
const MaxThreshold = 1_000_000

// MaxHeal is the largest number of online observations a rule may ask for
// before its alarm is deleted.
const MaxHeal = 1_000_000

// Rule is what one outcome means. [Rule.Validate] says which values go together.
type Rule struct {
	// State is what `check` and `status` call a node with this outcome. An
	// outcome whose state is [Online] heals alarms.
	State State `json:"state"`
	// Threshold, in ticks, is the count at which an alarm expires: [Never], 0
	// (at once) or up to [MaxThreshold].
	Threshold int `json:"threshold"`
	// Action is what an expired alarm leads to.
	Action Action `json:"action"`
	// Window, in ticks, makes the alarm expire when Threshold of the last
	// Window complete ticks had the outcome. 0 means no window; otherwise
	// Window >= Threshold >= 1.
	Window int `json:"window,omitempty"`
	// Heal is the number of online observations in a row that delete the
	// alarm. 0 means 1. It has no effect together with Window.
	Heal int `json:"heal,omitempty"`
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

// Errors of [Rule.Validate], to be matched with errors.Is.
var (
	ErrState     = errors.New("state must be online, stopped, timeout, suspect or unknown")
	ErrThreshold = errors.New("threshold must be -1 (never), 0 (at once) or up to " + strconv.Itoa(MaxThreshold) + " ticks")
	ErrAction    = errors.New("action must be none, alert or fail")
	ErrWindow    = errors.New("window needs window >= threshold >= 1")
	ErrHeal      = errors.New("heal must be 1 to " + strconv.Itoa(MaxHeal) + " online probes")
)

// Validate returns the first thing that is wrong with the rule: one of
// [ErrState], [ErrThreshold], [ErrAction], [ErrWindow] and [ErrHeal], wrapped with
// the value.
func (r Rule) Validate() error {
	switch {
	case r.State < Online || r.State > Unknown:
		return fmt.Errorf("%w, not %s", ErrState, r.State)
	case r.Threshold < Never || r.Threshold > MaxThreshold:
		return fmt.Errorf("%w, not %d", ErrThreshold, r.Threshold)
	case r.Action > Fail:
		return fmt.Errorf("%w, not %s", ErrAction, r.Action)
	case r.Window != 0 && (r.Threshold < 1 || r.Window < r.Threshold):
		return fmt.Errorf("%w, not window %d with threshold %d", ErrWindow, r.Window, r.Threshold)
	case r.Window > MaxThreshold:
		return fmt.Errorf("%w, and at most %d ticks, not %d", ErrWindow, MaxThreshold, r.Window)
	case r.Heal < 0 || r.Heal > MaxHeal:
		return fmt.Errorf("%w, not %d", ErrHeal, r.Heal)
	}
	return nil
}

// String writes the rule on one line: "timeout 8 fail", with " window 12" and
// " heal 3" where they are set.
func (r Rule) String() string {
	s := fmt.Sprintf("%s %d %s", r.State, r.Threshold, r.Action)
	if r.Window > 0 {
		s += fmt.Sprintf(" window %d", r.Window)
	}
	if r.Heal > 1 {
		s += fmt.Sprintf(" heal %d", r.Heal)
	}
	return s
}
