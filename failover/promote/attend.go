package promote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"failwise/failover/mysql"
)

const (
	// lookEvery is how long a node is given between two looks at whether it still
	// answers anyone, and before the first.
	lookEvery = time.Second
	// lookAgain is the pause after a look that failed at once.
	lookAgain = 100 * time.Millisecond
)

// The silence after which a node is given up, counted from the begin of the first look
// without answer.
const (
	// silentLimit: as long as one look.
	silentLimit = cancelLimit
	// openSilentLimit: of a node that was opened and may serve writes.
	openSilentLimit = 2 * cancelLimit
)

// errSilent marks a node that answered nobody for as long as it was given.
var errSilent = errors.New("it gives no answer")

// attention is a watch over a node while something is done with it: a step that takes
// long is slow, a server that answers nobody is frozen, and each statement would wait
// for its whole limit while writers wait too.
type attention struct {
	// asked is the context of who asked, which the node's silence does not end.
	asked context.Context
	// silence ends when the node is silent, with the cause errSilent, or when the watch
	// is over.
	silence context.Context
	// limit is the silence that the node is given.
	limit atomic.Int64
	stop  func()
}

// attend watches a node. The context that it gives ends with ctx, and with the cause
// errSilent; stop ends the watch.
func attend(ctx context.Context, n *Node, limit time.Duration) (context.Context, *attention) {
	a := &attention{asked: ctx}
	a.limit.Store(int64(limit))
	watched, silence := context.WithCancelCause(context.WithoutCancel(ctx))
	a.silence = watched
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if a.awaitSilence(n) {
			silence(errSilent)
			cancel(errSilent)
		}
	}()
	a.stop = func() {
		silence(nil)
		cancel(nil)
		<-ended
	}
	return ctx, a
}

// awaitSilence looks until the node is silent, which is true, or the watch is over.
func (a *attention) awaitSilence(n *Node) bool {
	wait := lookEvery
	var since time.Time // the begin of the first look without answer, zero for none
	for {
		pause(a.silence, wait)
		begun := time.Now()
		switch good := answers(a.silence, n, a.left(since)); {
		case a.silence.Err() != nil:
			return false
		case good:
			since, wait = time.Time{}, lookEvery
			continue
		case since.IsZero():
			since = begun
		}
		if time.Since(since) >= time.Duration(a.limit.Load()) {
			return true
		}
		wait = lookAgain
	}
}

// left is how long the next look may take: what is left of the silence that the node is
// given, at most that of one look.
func (a *attention) left(since time.Time) time.Duration {
	if since.IsZero() {
		return cancelLimit
	}
	return min(cancelLimit, time.Duration(a.limit.Load())-time.Since(since))
}

// give gives the node at least that much silence from now on.
func (a *attention) give(limit time.Duration) {
	a.limit.Store(max(a.limit.Load(), int64(limit)))
}

// unstoppable is a context that whoever asked for the plan can no longer end. That
// the attended candidate is silent still ends it.
func (r *run) unstoppable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	a := r.attended
	if a == nil {
		return ctx, func() { cancel(nil) }
	}
	forget := a.onEnd(func() { cancel(context.Cause(a.silence)) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// onEnd calls f when the node is silent or the watch is over, unless it is told to forget
// it before.
func (a *attention) onEnd(f func()) (forget func() bool) { return context.AfterFunc(a.silence, f) }

// errPrimarySilent ends what is done for a new primary that is lost meanwhile.
var errPrimarySilent = fmt.Errorf("of the new primary: %w", errSilent)

// within is ctx as long as the new primary that is watched is there, also where ctx was
// made of one that nobody can end.
func (a *attention) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := a.onEnd(func() { cancel(errPrimarySilent) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// attendCandidate watches the node that is being promoted.
func (r *run) attendCandidate(ctx context.Context, n *Node, limit time.Duration) (attended context.Context, stop func()) {
	attended, a := attend(ctx, n, limit)
	r.attended = a
	return attended, func() {
		r.attended = nil
		a.stop()
	}
}

// isSilent tells whether the context ended because the attended node is silent.
func isSilent(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errSilent) }

// answers tells whether a new session to a node gets an answer within the limit, be it an
// error.
func answers(ctx context.Context, n *Node, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := n.Session.Sibling()
	defer func() { _ = s.Close() }() // it has done what it was for
	_, err := s.ReadFlags(ctx)
	return err == nil || mysql.Number(err) != 0
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
