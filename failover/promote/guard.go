package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/mysql"
)

// errIsPrimary is the refusal to fence the primary itself.
var errIsPrimary = errors.New("it is the primary itself")

// FenceReturned fences a shunned old primary that came back: writes off, its
// clients' sessions ended, on MySQL offline_mode on until it is recovered.
// primary is the identity of the present primary (mysql.Status.Identity), which
// the caller must know for sure; the node with that identity is refused. The
// words say what the state rests on.
func FenceReturned(ctx context.Context, env Env, node, primary string) (FenceState, string, error) {
	n := env.node(node)
	if n == nil {
		return FenceUntried, "", fmt.Errorf("%s is not a configured node", node)
	}
	settings := env.withDefaults()
	first, second, done := n.fencers()
	defer done()
	if err := notThePrimary(ctx, second, primary, settings.Fence); err != nil {
		return FenceUntried, "", fmt.Errorf("fence %s: %w", node, err)
	}
	record := fence(ctx, first, second, n, settings.Fence)
	if record.State != FenceProved {
		return record.State, record.Why, fmt.Errorf("fence %s: %w: %s", node, ErrNotFenced, record.Why)
	}
	return record.State, record.Why, nil
}

// Readmit lets clients in again on a node that was fenced and follows the primary now:
// it ends MySQL's offline_mode. The node stays read-only.
func Readmit(ctx context.Context, env Env, node string) error {
	n := env.node(node)
	if n == nil {
		return fmt.Errorf("%s is not a configured node", node)
	}
	return readmit(ctx, n, env.withDefaults().Statement)
}

func readmit(ctx context.Context, n *Node, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	flags, err := n.Session.ReadFlags(bounded)
	if err != nil || !flags.OfflineMode {
		return err
	}
	return firmly(ctx, n.Session, limit, func(ctx context.Context) error { return n.Session.SetOfflineMode(ctx, false) })
}

// EnforceReadOnly makes a writable replica read-only and leaves its sessions
// alone, unless the flag cannot be set because of them: a commit that waits for an
// acknowledgement holds it up, and only a fence ends that. primary is as for
// FenceReturned.
func EnforceReadOnly(ctx context.Context, env Env, node, primary string) error {
	n := env.node(node)
	if n == nil {
		return fmt.Errorf("%s is not a configured node", node)
	}
	settings := env.withDefaults()
	if err := notThePrimary(ctx, n.Session, primary, settings.Statement); err != nil {
		return fmt.Errorf("make %s read-only: %w", node, err)
	}
	err := firmly(ctx, n.Session, settings.Statement, n.Session.SetReadOnlyFirmly)
	if errors.Is(err, ErrTimeout) {
		_, _, err = FenceReturned(ctx, env, node, primary)
		return err
	}
	if err != nil {
		return fmt.Errorf("make %s read-only: %w", node, err)
	}
	flags, err := n.Session.ReadFlags(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("make %s read-only: %w", node, err)
	case flags.ReadOnly.Writable():
		return fmt.Errorf("make %s read-only: it is writable again: something else switches read_only off", node)
	}
	return nil
}

func notThePrimary(ctx context.Context, s *mysql.Session, primary string, limit time.Duration) error {
	if primary == "" {
		return errors.New("the primary's identity is not known")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var st mysql.Status
	err := again(func() (err error) {
		st, err = s.Status(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if st.Identity() == primary {
		return errIsPrimary
	}
	return nil
}

func now(env Env) time.Time {
	if env.Now == nil {
		return time.Now()
	}
	return env.Now()
}
