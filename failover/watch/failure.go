package watch

import (
	"errors"
	"fmt"

	"failwise/failover"
	"failwise/failover/promote"
)

// Refusal is a failover that was asked for and that the engine holds.
type Refusal struct {
	Reason failover.Reason
	Detail string
}

func (r *Refusal) Error() string {
	text := r.Reason.Means()
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return fmt.Sprintf("refused, %s: %s", r.Reason, text)
}

// Failure is an error of a watcher's as it came through its socket: the text, what
// to do about it, and, as the error it wraps, its kind: a [Refusal] or one of the
// errors that callers ask for.
type Failure struct {
	Text string
	Hint string
	Kind error
}

func (f *Failure) Error() string { return f.Text }

func (f *Failure) Unwrap() error { return f.Kind }

// failure is an error on the wire. Watchers of other versions may send no more
// than the text.
type failure struct {
	Text    string           `json:"error,omitempty"` // empty is no error
	Hint    string           `json:"hint,omitempty"`
	Kind    string           `json:"kind,omitempty"`
	Refused *failover.Reason `json:"refused,omitempty"`
	Detail  string           `json:"detail,omitempty"`
}

// kinds are the names of the errors that keep their identity on the wire.
var kinds = []struct {
	name string
	err  error
}{
	{"busy", ErrBusy}, {"stopped", ErrStopped}, {"no_primary", ErrPrimary}, {"no_candidate", promote.ErrNoCandidate},
}

// failureOf puts an error on the wire.
func failureOf(err error) (f failure) {
	if err == nil {
		return f
	}
	f.Text = err.Error()
	var step *promote.StepError
	if errors.As(err, &step) {
		f.Hint = step.Hint
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		f.Refused, f.Detail = &refusal.Reason, refusal.Detail
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kind = k.name
			break
		}
	}
	return f
}

// err is the inverse of failureOf.
func (f failure) err() error {
	if f.Text == "" {
		return nil
	}
	e := &Failure{Text: f.Text, Hint: f.Hint}
	if f.Refused != nil {
		e.Kind = &Refusal{Reason: *f.Refused, Detail: f.Detail}
	}
	for _, k := range kinds {
		if k.name == f.Kind {
			e.Kind = k.err
		}
	}
	return e
}
