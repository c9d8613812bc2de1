package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrHeld means that another watcher holds the lock; see [HeldError].
	ErrHeld = errors.New("another watcher holds the lock")
	// ErrLost means that the lease is gone: another watcher may act now.
	ErrLost = errors.New("the lock is lost")
	// ErrUnavailable means that the lock could not be asked for or about. It says
	// nothing about who holds it.
	ErrUnavailable = errors.New("the lock could not be asked")
)

// Token grows with every lease of one lock, so that a claim can be told from a
// later one's. The zero Token is no lease's.
type Token uint64

// Holder says who holds a lock.
type Holder struct {
	// Watcher is the name the holder gave itself, PID and Host where it runs.
	Watcher string `json:"watcher"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	// Since is when it acquired the lock.
	Since time.Time `json:"since"`
	Token Token     `json:"token"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "a watcher that has not yet said who it is"
	}
	name := "pid " + fmt.Sprint(h.PID)
	if h.Watcher != "" {
		name = fmt.Sprintf("watcher %s (pid %d)", h.Watcher, h.PID)
	}
	return fmt.Sprintf("%s on %s since %s", name, h.Host, h.Since.Format(time.RFC3339))
}

// HeldError says who holds the lock instead.
type HeldError struct {
	Holder Holder
}

func (e *HeldError) Error() string { return "held by " + e.Holder.String() }

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// UnavailableError says why the lock could not be asked.
type UnavailableError struct {
	// Lock is which lock, Err what was tried and what came of it.
	Lock string
	Err  error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("%s: %v", e.Lock, e.Err) }

// Unwrap makes the error both [ErrUnavailable] and its cause.
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// Locker is a lock that watchers compete for.
type Locker interface {
	// Acquire tries once, as long as ctx allows. Its error is a [HeldError], or is
	// [ErrUnavailable].
	Acquire(ctx context.Context) (Lease, error)
	// Holder says who holds the lock; ok is false when nobody does. Its error is
	// [ErrUnavailable].
	Holder(ctx context.Context) (h Holder, ok bool, err error)
}

// Lease is a lock that is held.
type Lease interface {
	// Token is the lease's fencing token.
	Token() Token
	// Lost is closed when the lease is gone, also by Release. It is never closed
	// because the lock could not be asked, unless the lease may have lapsed since.
	Lost() <-chan struct{}
	// Check asks now: nil while it is held, [ErrLost] when it is gone,
	// [ErrUnavailable] when that could not be found out in time.
	Check(ctx context.Context) error
	// Release gives the lock up.
	Release(ctx context.Context) error
}
