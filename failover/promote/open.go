package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/mysql"
)

const (
	// openTries is how often opening is tried while the candidate can be reached.
	openTries = 3
	openPause = 200 * time.Millisecond
	// proveLimit is the time the proving write may take: with semi-sync and nobody
	// to acknowledge it waits the semi-sync timeout, 10 s unless set otherwise.
	proveLimit = 30 * time.Second
)

// errFallen marks the loss of a node after it was, or may have been, opened.
var errFallen = errors.New("the new primary was lost")

// open makes the candidate writable. From here on nothing is undone.
func (r *run) open(ctx context.Context, n *Node) error {
	if err := r.refence(ctx); err != nil {
		return err
	}
	if err := r.mayOpen(ctx); err != nil {
		return &StepError{Step: Open, Target: n.Name, Err: err}
	}
	if err := ctx.Err(); err != nil && !r.state.Opened {
		return &StepError{Step: Open, Target: n.Name, Err: fmt.Errorf("stopped: %w", err)}
	}
	r.update(func(s *state) { s.Opened = true })
	return r.do(ctx, Open, n.Name, 0, func(ctx context.Context) (string, error) {
		var err error
		for range openTries {
			if err = r.openOnce(ctx, n.Session); err == nil {
				return "read_only was read back as OFF", nil
			}
			r.note(Open, n.Name, err.Error())
			if !answers(ctx, n) {
				return "", fmt.Errorf("%w: it gives no answer: %w", errFallen, err)
			}
			pause(ctx, openPause)
		}
		if unreachable(err) {
			err = fmt.Errorf("%w: %w", errFallen, err)
		}
		return "", err
	})
}

func (r *run) openOnce(ctx context.Context, s *mysql.Session) error {
	if err := firmly(ctx, s, r.env.Statement, func(ctx context.Context) error { return s.SetReadOnly(ctx, false) }); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	flags, err := s.ReadFlags(bounded)
	if err != nil {
		return err
	}
	if flags.OfflineMode {
		if err := s.SetOfflineMode(bounded, false); err != nil {
			return err
		}
		if flags, err = s.ReadFlags(bounded); err != nil {
			return err
		}
	}
	if !flags.Open() {
		return fmt.Errorf("it is still read-only: read_only %s, super_read_only %v", flags.ReadOnly, flags.SuperReadOnly)
	}
	return nil
}

// prove commits one write. A write that a server refuses is a warning: the node
// is open, and clients may fare better. A node that is lost is not.
func (r *run) prove(ctx context.Context, n *Node) error {
	return r.do(ctx, Prove, n.Name, 0, func(ctx context.Context) (string, error) {
		bounded, cancel := context.WithTimeout(ctx, proveLimit)
		defer cancel()
		silent := r.watchSilence(bounded, n, cancel)
		position, err := n.Session.Prove(bounded, r.env.Watcher)
		if unreachable(err) {
			// The session may have broken for its own reasons: one more attempt tells.
			position, err = n.Session.Prove(bounded, r.env.Watcher)
		}
		switch {
		case err != nil && silent():
			return "", fmt.Errorf("%w: it gives no answer: %w", errFallen, err)
		case err == nil:
			r.mu.Lock()
			r.state.Proof, r.state.Proved = position, true
			r.result.FirstWrite = time.Since(r.started)
			r.mu.Unlock()
			return position, nil
		case unreachable(err):
			return "", fmt.Errorf("%w: %w", errFallen, err)
		default:
			return "", err
		}
	})
}

// watchSilence looks, while a statement of ours is waited for, whether the server
// still answers others, and gives up the wait when it does not: a write that waits
// for an acknowledgement is slow, a server that is frozen is lost. The function
// it returns ends the watch and tells whether that happened.
func (r *run) watchSilence(ctx context.Context, n *Node, giveUp context.CancelFunc) func() bool {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan bool, 1)
	go func() {
		for pause(ctx, r.env.Statement); ctx.Err() == nil; pause(ctx, r.env.Statement) {
			if !answers(ctx, n) && ctx.Err() == nil {
				giveUp()
				ended <- true
				return
			}
		}
		ended <- false
	}()
	return func() bool {
		stop()
		return <-ended
	}
}

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
