package promote

import (
	"context"
	"errors"
	"time"

	"failwise/failover/mysql"
)

// lookEvery is how long a node is given between two looks at whether it still answers
// anyone.
const lookEvery = time.Second

// errSilent marks a node that answered nobody: a new session to it got no answer
// within cancelLimit.
var errSilent = errors.New("it gives no answer")

// attendedKey finds the context that ends when the attended node is silent.
type attendedKey struct{}

// attend looks, while something is done with a node, whether it still answers others:
// a step that takes long is slow, a server that answers nobody is frozen, and each
// statement would wait for its whole limit while writers wait too. The first look comes
// after the time between two. The context ends with ctx, and with the cause errSilent;
// stop ends the looks.
func attend(ctx context.Context, n *Node, every time.Duration) (attended context.Context, stop func()) {
	watched, silent := context.WithCancelCause(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, attendedKey{}, watched))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(watched, every); watched.Err() == nil; pause(watched, every) {
			if !answers(watched, n) && watched.Err() == nil {
				silent(errSilent)
				cancel(errSilent)
			}
		}
	}()
	return ctx, func() {
		silent(nil)
		cancel(nil)
		<-ended
	}
}

// unstoppable is a context that whoever asked for the plan can no longer end. That
// the attended node is silent still ends it.
func unstoppable(ctx context.Context) (context.Context, context.CancelFunc) {
	watched, attended := ctx.Value(attendedKey{}).(context.Context)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if !attended {
		return ctx, func() { cancel(nil) }
	}
	forget := context.AfterFunc(watched, func() { cancel(context.Cause(watched)) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// silent tells whether the context ended because the attended node is silent.
func silent(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errSilent) }

// answers tells whether a new session to a node gets an answer, be it an error.
func answers(ctx context.Context, n *Node) bool {
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
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
