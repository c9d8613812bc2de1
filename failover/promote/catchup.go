package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/gtid"
	"failwise/failover/journal"
	"failwise/failover/mysql"
)

// waitSlice is how long one wait for the applier takes before progress is shown.
const waitSlice = time.Second

// errCandidate marks a failure of the candidate alone, after which the next one
// may be tried.
type errCandidate struct{ err error }

func (e errCandidate) Error() string { return e.err.Error() }
func (e errCandidate) Unwrap() error { return e.err }

// catchUp lets the candidate apply all it has received, and what another node has
// more. It writes nothing to the log where there is nothing to wait for.
func (r *run) catchUp(ctx context.Context, picked chosen) error {
	target := received(picked.reading.Status)
	if target == "" && picked.advanced == nil {
		return nil
	}
	n := picked.node
	return r.do(ctx, CatchUp, n.Name, 0, func(ctx context.Context) (string, error) {
		deadline := time.Now().Add(r.env.CatchUp)
		if err := r.waitApplied(ctx, n, target, deadline); err != nil {
			return r.late(ctx, n, target, err)
		}
		if picked.advanced == nil {
			return "everything received is applied", nil
		}
		from := r.nodes[picked.advanced.Node]
		all := allOf(picked.advanced.Status)
		if err := r.detour(ctx, n, from); err != nil {
			return "", errCandidate{fmt.Errorf("catch up from %s: %w", from.Name, err)}
		}
		if err := r.waitApplied(ctx, n, all, deadline); err != nil {
			return r.late(ctx, n, all, err)
		}
		return "caught up from " + from.Name, nil
	})
}

// received is what the replica must still apply, in the form of WaitForGTID;
// empty when it has applied all it received. Half-received transactions are in
// neither flavour's set.
func received(st mysql.Status) string {
	c, err := soleChannel(st)
	if err != nil {
		return ""
	}
	if st.Version.Flavour == mysql.MariaDB {
		if st.SlavePos.Max(st.BinlogPos).Reaches(c.IOPos) {
			return ""
		}
		return c.IOPos.String()
	}
	if c.Fetched.Subtract(st.Executed).IsEmpty() {
		return ""
	}
	return c.Fetched.String()
}

// allOf is everything a server has, in the form of WaitForGTID.
func allOf(st mysql.Status) string { return st.Progress().String() }

// waitApplied waits in slices and shows how far the applier is.
func (r *run) waitApplied(ctx context.Context, n *Node, target string, deadline time.Time) error {
	for target != "" {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%w (%v)", ErrTimeout, r.env.CatchUp)
		}
		slice := min(left, waitSlice)
		bounded, cancel := context.WithTimeout(ctx, slice+r.env.Statement)
		reached, err := n.Session.WaitForGTID(bounded, target, slice)
		cancel()
		if err != nil {
			return err
		}
		if reached {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		bounded, cancel = context.WithTimeout(ctx, r.env.Statement)
		st, err := n.Session.Status(bounded)
		cancel()
		if err != nil {
			return err
		}
		c, err := soleChannel(st)
		if err != nil {
			return err
		}
		if c.SQL != mysql.ThreadYes {
			return fmt.Errorf("its SQL thread stopped with error %d", c.SQLErrno)
		}
		r.note(CatchUp, n.Name, "still to apply: "+missing(st, target))
	}
	return nil
}

// missing names what a server has not executed of a target.
func missing(st mysql.Status, target string) string {
	if st.Version.Flavour == mysql.MariaDB {
		return fmt.Sprintf("%s, now at %s", target, st.SlavePos)
	}
	want, err := gtid.Parse(target)
	if err != nil {
		return target
	}
	left := want.Subtract(st.Executed)
	return fmt.Sprintf("%d transactions", left.Count())
}

// late decides what a candidate that is not done in time means.
func (r *run) late(ctx context.Context, n *Node, target string, err error) (string, error) {
	if !errors.Is(err, ErrTimeout) || r.env.CatchUpOnTimeout == NextCandidate {
		return "", errCandidate{err}
	}
	if r.env.CatchUpOnTimeout == AbortPlan {
		return "", err
	}
	bounded, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	st, readErr := n.Session.Status(bounded)
	if readErr != nil {
		return "", errCandidate{errors.Join(err, readErr)}
	}
	left := missing(st, target)
	r.update(func(s *state) {
		s.Loss.Unapplied, s.Loss.NoLoss = left, false
		s.Loss.Why = "what the new primary had received and not applied is given up"
	})
	return "promoted without " + left, nil
}

// detour makes the candidate a replica of the node that has more.
func (r *run) detour(ctx context.Context, n, from *Node) error {
	r.update(func(s *state) { s.Detour, s.Prepared = from.Name, n.Name })
	r.write(ctx, journal.StepNote, CatchUp, n.Name, "catching up from "+from.Name)
	before := r.state.Before[n.Name]
	if err := stopReplication(ctx, n.Session, before.Name, r.env.Statement); err != nil {
		return err
	}
	return r.point(ctx, n, from, before)
}

// point changes the source of a stopped replica, keeps its heartbeat period, and
// starts it.
func (r *run) point(ctx context.Context, n, source *Node, before channel) error {
	options := mysql.SourceOptions{Channel: before.Name, Host: source.Host, Port: source.Port, HeartbeatPeriod: before.Heartbeat}
	if err := r.changeSource(ctx, n, r.env.Statement, options); err != nil {
		return err
	}
	return firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.StartReplication(ctx, before.Name) })
}
