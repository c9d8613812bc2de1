package journal

import (
	"encoding/json"
	"fmt"
	"time"
)

// OperationKind is what an operation does. One is under way per cluster at a time.
type OperationKind uint8

// The kinds of operation.
const (
	OpUnset OperationKind = iota
	OpFailover
	OpSwitch
	OpRecover
	opEnd
)

var operationNames = [opEnd]string{"", "failover", "switch", "recover"}

func (k OperationKind) String() string {
	if k < opEnd {
		return operationNames[k]
	}
	return fmt.Sprintf("operation(%d)", uint8(k))
}

// ParseOperationKind is the inverse of [OperationKind.String].
func ParseOperationKind(s string) (OperationKind, error) {
	for k := OpFailover; k < opEnd; k++ {
		if operationNames[k] == s {
			return k, nil
		}
	}
	return OpUnset, fmt.Errorf("unknown kind of operation %q", s)
}

// MarshalText encodes the kind by name.
func (k OperationKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *OperationKind) UnmarshalText(b []byte) (err error) {
	*k, err = ParseOperationKind(string(b))
	return err
}

// StepMark says what an entry of a promotion log tells about its step.
type StepMark uint8

// The marks. A step whose last mark is StepBegin may or may not have happened.
const (
	MarkUnset StepMark = iota
	// StepBegin is written and synced before the step is done.
	StepBegin
	StepDone
	StepFailed
	StepUndone
	// StepNote adds something learnt during a step.
	StepNote
	// OperationBegun and OperationEnded are written by Begin and Finish.
	OperationBegun
	OperationEnded
	markEnd
)

var markNames = [markEnd]string{"", "begin", "done", "failed", "undone", "note", "operation_begun", "operation_ended"}

func (m StepMark) String() string {
	if m < markEnd {
		return markNames[m]
	}
	return fmt.Sprintf("mark(%d)", uint8(m))
}

// ParseStepMark is the inverse of [StepMark.String].
func ParseStepMark(s string) (StepMark, error) {
	for m := StepBegin; m < markEnd; m++ {
		if markNames[m] == s {
			return m, nil
		}
	}
	return MarkUnset, fmt.Errorf("unknown mark of a step %q", s)
}

// MarshalText encodes the mark by name.
func (m StepMark) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (m *StepMark) UnmarshalText(b []byte) (err error) {
	*m, err = ParseStepMark(string(b))
	return err
}

// Operation is what a promotion log is about: the intent, written before anything
// is done.
type Operation struct {
	// ID names the log's file; [BeginOperation] makes it from Time and Token.
	ID   string        `json:"id"`
	Kind OperationKind `json:"kind"`
	Time time.Time     `json:"time"`
	// Token is the lock's fencing token of the watcher that began it.
	Token uint64 `json:"token"`
	// By is that watcher.
	By         string `json:"by,omitempty"`
	OldPrimary string `json:"old_primary,omitempty"`
	NewPrimary string `json:"new_primary,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// Plan is the plan as package promote encodes it. Never a secret.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// StepEntry is one line of a promotion log.
type StepEntry struct {
	// Seq counts the log's lines from 0; the log fills it in.
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	Mark StepMark  `json:"mark"`
	// Step is the step's name in the plan, Target the node it works on.
	Step    string          `json:"step,omitempty"`
	Target  string          `json:"target,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Operation is set in the first line, Result in the last.
	Operation *Operation `json:"operation,omitempty"`
	Result    string     `json:"result,omitempty"`
}

// OperationLog is a promotion log read back.
type OperationLog struct {
	// Operation has nothing but its ID when the first line never reached the disk.
	Operation Operation
	// Entries are the lines in order, each once.
	Entries []StepEntry
	// Damaged counts lines that are no entry: cut off by a crash.
	Damaged int
}

// Ended returns the operation's result, and false while it is unfinished.
func (l OperationLog) Ended() (result string, ok bool) {
	if n := len(l.Entries); n > 0 && l.Entries[n-1].Mark == OperationEnded {
		return l.Entries[n-1].Result, true
	}
	return "", false
}

// Last returns the last mark of a step on a target, MarkUnset when it was never
// begun.
func (l OperationLog) Last(step, target string) StepMark {
	mark := MarkUnset
	for _, e := range l.Entries {
		if e.Step == step && e.Target == target && e.Mark != StepNote {
			mark = e.Mark
		}
	}
	return mark
}
