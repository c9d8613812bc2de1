package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/mysql"
)

// cancelLimit bounds the ending of a statement of our own.
const cancelLimit = 2 * time.Second

// firmly runs a statement, one that may be run twice, within its limit. One that is not
// answered in time is ended from a second session; when it turns out to have finished,
// that is its result. The error is ErrTimeout when it was ended or cannot be. A server
// that is silent is not asked to end anything.
func firmly(ctx context.Context, s *mysql.Session, limit time.Duration, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	err := again(func() error { return f(bounded) })
	cancel()
	if !errors.Is(err, mysql.ErrPending) || isSilent(ctx) {
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer cancel()
	const interrupted = 1317
	switch end := s.Cancel(ending); {
	case end == nil:
		return nil
	case mysql.Number(end) == interrupted:
		return fmt.Errorf("%w (%v): %w", ErrTimeout, limit, end)
	case errors.Is(end, mysql.ErrPending):
		return fmt.Errorf("%w (%v), and the server does not let go of the statement: %w", ErrTimeout, limit, end)
	default:
		return end
	}
}

// stopReplication stops both threads. MySQL waits 60 s for the rest of a
// half-received transaction unless its applier threads are killed, which needs
// SYSTEM_USER.
func stopReplication(ctx context.Context, s *mysql.Session, channel string, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	v, err := s.Version(bounded)
	cancel()
	if err != nil {
		return err
	}
	if v.Flavour != mysql.MySQL {
		return firmly(ctx, s, limit, func(ctx context.Context) error { return s.StopReplication(ctx, channel) })
	}
	const patience = time.Second
	bounded, cancel = context.WithTimeout(ctx, min(patience, limit))
	err = again(func() error { return s.StopReplication(bounded, channel) })
	cancel()
	if !errors.Is(err, mysql.ErrPending) || ctx.Err() != nil {
		return err
	}
	bounded, cancel = context.WithTimeout(ctx, max(limit-patience, patience))
	defer cancel()
	// A server that is frozen answers this as little as it did the statement.
	killing, stop := context.WithTimeout(bounded, cancelLimit)
	killErr := killAppliers(killing, s)
	stop()
	if err := s.Settle(bounded); err != nil {
		return errors.Join(err, killErr)
	}
	return nil
}

// killAppliers ends the applier's threads from a second session. The receiver
// is one of the server's own sessions too; it is about to be stopped anyway.
func killAppliers(ctx context.Context, s *mysql.Session) (err error) {
	killer := s.Sibling()
	defer func() { err = errors.Join(err, killer.Close()) }()
	list, err := killer.Processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.User == "system user" {
			err = errors.Join(err, killer.Kill(ctx, p.ID))
		}
	}
	return err
}

// unreachable tells whether the error means that the server cannot be talked to
// at all, as opposed to one that answered or still owes an answer.
func unreachable(err error) bool {
	return err != nil && mysql.Number(err) == 0 && !errors.Is(err, mysql.ErrPending) && !errors.Is(err, mysql.ErrBusy)
}

// anew runs f again, a few times, while its session is found broken: the server may have
// been started anew since, and whoever ends its clients' sessions may hit the new one
// before it is known as ours.
func anew(ctx context.Context, f func() error) error {
	const tries, between = 5, 20 * time.Millisecond
	err := f()
	for n := 1; n < tries && unreachable(err) && ctx.Err() == nil; n++ {
		pause(ctx, between)
		err = f()
	}
	return err
}

// again runs f a second time when a session was found broken: the connection may
// have been ended for its own reasons, and a new one tells whether the server is there.
func again(f func() error) error {
	err := f()
	if unreachable(err) {
		err = f()
	}
	return err
}
