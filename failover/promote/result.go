package promote

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"failwise/failover"
)

// Progress is one line of a running plan, for a display and the journal.
type Progress struct {
	Plan    string        `json:"plan"`
	Step    StepName      `json:"step"`
	Target  string        `json:"target,omitempty"`
	Time    time.Time     `json:"time"`
	State   StepState     `json:"state"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"duration,omitempty"`
	// Result says what came of it, in words.
	Result string `json:"result,omitempty"`
	Err    error  `json:"-"`
	Error  string `json:"error,omitempty"`
}

// MarshalJSON writes the time with milliseconds.
func (p Progress) MarshalJSON() ([]byte, error) {
	type plain Progress
	return json.Marshal(struct {
		Time string `json:"time"`
		plain
	}{failover.Stamp(p.Time), plain(p)})
}

// StepState is where a step stands.
type StepState uint8

// The states of a step.
const (
	StepBegun StepState = iota + 1
	StepDone
	StepFailed
	StepUndone
	StepNote // something worth a line within a step
)

var stepStateNames = [...]string{"", "begun", "done", "failed", "undone", "note"}

func (s StepState) String() string {
	if s > 0 && int(s) < len(stepStateNames) {
		return stepStateNames[s]
	}
	return fmt.Sprintf("step_state(%d)", uint8(s))
}

// MarshalText writes the state's name.
func (s StepState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *StepState) UnmarshalText(text []byte) error {
	for i, name := range stepStateNames {
		if i > 0 && name == string(text) {
			*s = StepState(i)
			return nil
		}
	}
	return fmt.Errorf("step state %q: not begun, done, failed, undone or note", text)
}

// Loss is what is known about transactions that do not survive, before acting.
type Loss struct {
	// Known are the transactions the old primary was seen to have executed and the
	// new one has not received, as text; empty is none known.
	Known string `json:"known,omitempty"`
	Count uint64 `json:"count"`
	// Unapplied are transactions received and given up by on_timeout promote.
	Unapplied string `json:"unapplied,omitempty"`
	// SemiSync says whether semi-sync was on and in sync at the last good look.
	SemiSync bool `json:"semi_sync"`
	// NoLoss is true when no acknowledged transaction can be missing: semi-sync was
	// in sync, and at least semi-sync replicas − wait count + 1 were reachable.
	NoLoss bool `json:"no_loss"`
	// Why says in words what NoLoss rests on, or what it lacks.
	Why string `json:"why"`
}

// NodeResult is what came of a node that had to be repointed or demoted.
type NodeResult struct {
	Node  string `json:"node"`
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
	// Changed names channel options that differ from before; always empty unless
	// the server surprised us.
	Changed []string `json:"changed,omitempty"`
	Err     error    `json:"-"`
}

// FenceState is what is known about the old primary.
type FenceState uint8

// The fence states. Only FenceProved is proof.
const (
	FenceUntried FenceState = iota
	// FenceProved: the flag was read back, or a fence hook answered for it.
	FenceProved
	// FencePending: a statement was sent and had no answer; it may still take effect.
	FencePending
	// FenceUnreachable: no session to the old primary could be had.
	FenceUnreachable
	// FenceFailed: the server answered and refused.
	FenceFailed
)

var fenceStateNames = [...]string{"untried", "proved", "pending", "unreachable", "failed"}

func (f FenceState) String() string {
	if int(f) < len(fenceStateNames) {
		return fenceStateNames[f]
	}
	return fmt.Sprintf("fence(%d)", uint8(f))
}

// MarshalText writes the state's name.
func (f FenceState) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a state's name.
func (f *FenceState) UnmarshalText(text []byte) error {
	for i, name := range fenceStateNames {
		if name == string(text) {
			*f = FenceState(i)
			return nil
		}
	}
	return fmt.Errorf("fence state %q: not one of untried, proved, pending, unreachable, failed", text)
}

// Result is how an operation ended. It is complete also when there is an error.
type Result struct {
	Plan Plan `json:"plan"`
	// NewPrimary is the node that was opened; empty when none was. For a recover
	// it is the primary the node now follows.
	NewPrimary string     `json:"new_primary,omitempty"`
	Opened     bool       `json:"opened"`
	Fence      FenceState `json:"fence"`
	FenceWhy   string     `json:"fence_why,omitempty"`
	Loss       Loss       `json:"loss"`
	// Durations are those of the steps that ran, in their order.
	Durations []StepDuration `json:"durations"`
	// WritesBlocked is how long a switch kept clients from writing.
	WritesBlocked   time.Duration `json:"-"`
	WritesBlockedMS float64       `json:"writes_blocked_ms,omitempty"`
	// Siblings are the results of repointing, in the plan's order; Demoted that of
	// the old primary (switch) or the recovered node.
	Siblings []NodeResult `json:"siblings,omitempty"`
	Demoted  *NodeResult  `json:"demoted,omitempty"`
	// SemiSyncPending is true when semi-sync should be on and is not, since no
	// replica is attached yet.
	SemiSyncPending bool `json:"semi_sync_pending,omitempty"`
	// Proof is the GTID of the proving write.
	Proof string `json:"proof,omitempty"`
	// Fallen are nodes that were opened and lost before their first write was proved.
	// One that is back is to be fenced like the old primary.
	Fallen []string `json:"fallen,omitempty"`
	// Unfinished is true of a failover whose new primary was lost, or could not be opened,
	// before its first write, with no other to take its place.
	Unfinished bool `json:"unfinished,omitempty"`
	// Undone are what was taken back; UndoLeft what could not be.
	Undone   []string `json:"undone,omitempty"`
	UndoLeft []string `json:"undo_left,omitempty"`
	// Leftover is the latter, for TakeBack; nil when nothing is left.
	Leftover *Leftover `json:"-"`
	// Warnings are failures that did not stop the plan.
	Warnings []string `json:"warnings,omitempty"`
	// FirstWrite is the time from the start to the first committed write.
	FirstWrite time.Duration `json:"-"`
	Took       time.Duration `json:"-"`
}

// MarshalJSON writes a list without elements as such.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if r.Durations == nil {
		r.Durations = []StepDuration{}
	}
	return json.Marshal(plain(r))
}

// StepDuration is how long one step took.
type StepDuration struct {
	Step    StepName      `json:"step"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"duration"`
}

// Unpointed are the nodes that do not follow the new primary and should be tried
// again.
func (r Result) Unpointed() []NodeResult {
	var left []NodeResult
	for _, s := range r.Siblings {
		if !s.Done {
			left = append(left, s)
		}
	}
	if r.Demoted != nil && !r.Demoted.Done {
		left = append(left, *r.Demoted)
	}
	return left
}

// Sentinels for errors.Is. A StepError wraps one of them where it applies.
var (
	// ErrNoCandidate: no replica may be promoted.
	ErrNoCandidate = errors.New("no candidate")
	// ErrNotFenced: proof was required and there is none.
	ErrNotFenced = errors.New("the old primary is not proved to be fenced")
	// ErrTooMuchLoss: more known lost transactions than max_lost_transactions.
	ErrTooMuchLoss = errors.New("known loss above the limit")
	// ErrDiverged: the node has transactions the primary never had.
	ErrDiverged = errors.New("diverged")
	// ErrTimeout: a step's limit was reached.
	ErrTimeout = errors.New("time limit reached")
	// ErrHook: a hook whose failure aborts failed.
	ErrHook = errors.New("hook failed")
	// ErrPreflight: a switch would not work now.
	ErrPreflight = errors.New("preflight")
	// ErrNotClaimed: the lock was refused: another watcher acts.
	ErrNotClaimed = errors.New("not claimed")
)

// StepError is the step that stopped a plan.
type StepError struct {
	Step   StepName
	Target string // a node, or empty
	Err    error
	// Opened is true when the new primary is open and the way was forward.
	Opened bool
	Hint   string
}

func (e *StepError) Error() string {
	where := e.Step.String()
	if e.Target != "" {
		where += " on " + e.Target
	}
	return where + ": " + e.Err.Error()
}

func (e *StepError) Unwrap() error { return e.Err }
