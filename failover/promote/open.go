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
		return &StepError{Step: Open, Target: n.Name, Err: fmt.Errorf("stopped: %w", context.Cause(ctx))}
	}
	r.update(func(s *state) { s.Opened, s.OpenedNode = true, n.Name })
	if r.attended != nil {
		r.attended.give(openSilentLimit)
	}
	return r.do(ctx, Open, n.Name, 0, func(ctx context.Context) (string, error) {
		var err error
		for range openTries {
			if err = r.openOnce(ctx, n.Session); err == nil {
				return "read_only was read back as OFF", nil
			}
			r.note(Open, n.Name, err.Error())
			if !answers(ctx, n, cancelLimit) {
				return "", fmt.Errorf("%w: %w: %w", errFallen, errSilent, err)
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

// openAndProve opens a node and commits the first write on it. A first write that fails
// on a node that answers is a warning, and no error.
func (r *run) openAndProve(ctx context.Context, n *Node) error {
	if err := r.open(ctx, n); err != nil {
		return err
	}
	err := r.prove(ctx, n)
	if err != nil && !errors.Is(err, errFallen) {
		// The node is open; that its heartbeat table refuses a row does not close it.
		r.warn(fmt.Sprintf("the proving write failed: %v", err))
		return nil
	}
	return err
}

// prove commits one write. A write that a server refuses is a warning: the node
// is open, and clients may fare better. A node that is lost is not.
func (r *run) prove(ctx context.Context, n *Node) error {
	return r.do(ctx, Prove, n.Name, 0, func(ctx context.Context) (string, error) {
		bounded, cancel := context.WithTimeout(ctx, proveLimit)
		defer cancel()
		defer r.unstallLater(bounded, n)()
		position, err := n.Session.Prove(bounded, r.env.Watcher)
		if unreachable(err) {
			// The session may have broken for its own reasons: one more attempt tells.
			position, err = n.Session.Prove(bounded, r.env.Watcher)
		}
		switch {
		case err != nil && isSilent(ctx):
			return "", fmt.Errorf("%w: %w", errFallen, err)
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
