package promote

import (
	"fmt"
	"time"
)

// Requirement says whether an old primary that cannot be reached must be proved
// to be out before another node is opened.
type Requirement uint8

// RequireNone goes on when the old primary cannot be reached; RequireProof holds
// unless the flag was read back or a fence hook ended with status 0.
const (
	RequireNone Requirement = iota
	RequireProof
)

var requirementNames = [...]string{"none", "proof"}

func (r Requirement) String() string {
	if int(r) < len(requirementNames) {
		return requirementNames[r]
	}
	return fmt.Sprintf("requirement(%d)", uint8(r))
}

// ParseRequirement is the inverse of String; the empty string is none.
func ParseRequirement(s string) (Requirement, error) {
	switch s {
	case "", "none":
		return RequireNone, nil
	case "proof":
		return RequireProof, nil
	}
	return RequireNone, fmt.Errorf("fence.require %q: not none or proof", s)
}

// OnTimeout says what happens when a candidate does not catch up in time.
type OnTimeout uint8

// NextCandidate tries the next one, AbortPlan undoes and holds, PromoteAnyway opens the
// candidate without what it has not applied and says what that is.
const (
	NextCandidate OnTimeout = iota
	AbortPlan
	PromoteAnyway
)

var onTimeoutNames = [...]string{"next", "abort", "promote"}

func (o OnTimeout) String() string {
	if int(o) < len(onTimeoutNames) {
		return onTimeoutNames[o]
	}
	return fmt.Sprintf("on_timeout(%d)", uint8(o))
}

// ParseOnTimeout is the inverse of String; the empty string is next.
func ParseOnTimeout(s string) (OnTimeout, error) {
	if s == "" {
		return NextCandidate, nil
	}
	for i, name := range onTimeoutNames {
		if s == name {
			return OnTimeout(i), nil
		}
	}
	return NextCandidate, fmt.Errorf("catch_up.on_timeout %q: not next, abort or promote", s)
}

// Settings are a cluster's choices for its plans. Zero limits take the default
// named beside them.
type Settings struct {
	Starve           time.Duration // receivers of all replicas; 5 s
	Fence            time.Duration // the old primary, in all; 3 s
	FenceRequire     Requirement
	CatchUp          time.Duration // one candidate; 60 s
	CatchUpOnTimeout OnTimeout
	Statement        time.Duration // any single statement elsewhere; 5 s
	Repoint          time.Duration // one sibling; 20 s
	Verify           time.Duration // threads run and the proving write arrives; 30 s
	Block            time.Duration // switch: writes blocked until the candidate has all; 10 s
	// MaxLost is the number of transactions known to be lost above which nothing
	// is opened; nil is no limit. It counts what the primary was seen to have
	// executed and the candidate has not received.
	MaxLost *uint64
	// MaxLag is the lag above which a switch is refused in preflight; 10 s.
	MaxLag time.Duration
	// LongTransaction is the age of a transaction on the primary above which a
	// switch is refused in preflight; 10 s.
	LongTransaction time.Duration
}

// withDefaults fills in the zero limits.
func (s Settings) withDefaults() Settings {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&s.Starve, 5*time.Second)
	set(&s.Fence, 3*time.Second)
	set(&s.CatchUp, 60*time.Second)
	set(&s.Statement, 5*time.Second)
	set(&s.Repoint, 20*time.Second)
	set(&s.Verify, 30*time.Second)
	set(&s.Block, 10*time.Second)
	set(&s.MaxLag, 10*time.Second)
	set(&s.LongTransaction, 10*time.Second)
	return s
}
