package promote

import (
	"context"
	"errors"
	"fmt"

	"failwise/failover/gtid"
	"failwise/failover/hooks"
)

// failover runs the steps of a failover. A candidate that fails before it is
// opened gives way to the next one; so does one that is lost before its first
// write was proved, and is then fenced like the old primary.
func (r *run) failover(ctx context.Context) error {
	readings, err := r.starve(ctx)
	if err != nil {
		return err
	}
	picked, err := r.choose(ctx, readings)
	if err != nil {
		return err
	}
	if err := r.fenceOld(ctx); err != nil {
		return err
	}
	for {
		err := r.promote(ctx, picked)
		if err == nil {
			break
		}
		if !r.giveUp(ctx, picked.node, err) {
			return err
		}
		if readings, err = r.starve(ctx); err != nil {
			return err
		}
		if picked, err = r.choose(ctx, readings); err != nil {
			return err
		}
		if len(r.state.Fallen) > 0 {
			if err := r.fenceOld(ctx); err != nil {
				return err
			}
		}
	}
	r.settle(ctx, picked.node)
	return r.finish(ctx)
}

// promote takes one candidate from its received transactions to its first write. A
// candidate that answers nobody on the way is given up: soon where another replica may
// take its place and has all that it has, else only after the time that a statement may
// take, since giving it up loses what only it has.
func (r *run) promote(ctx context.Context, picked chosen) error {
	limit := r.env.Statement
	if r.spare(picked) {
		limit = min(limit, silentLimit)
	}
	ctx, stop := r.attendCandidate(ctx, picked.node, limit)
	defer stop()
	if err := r.catchUp(ctx, picked); err != nil {
		return err
	}
	if err := r.refence(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx, picked); err != nil {
		return err
	}
	return r.openAndProve(ctx, picked.node)
}

// spare tells whether another replica is eligible and has all that the candidate has.
func (r *run) spare(picked chosen) bool {
	return r.another(picked, func(p gtid.Progress) gtid.Progress { return p })
}

// applied tells whether another replica is eligible and has applied all that the
// candidate has.
func (r *run) applied(picked chosen) bool { return r.another(picked, gtid.Progress.ExecutedOnly) }

func (r *run) another(picked chosen, has func(gtid.Progress) gtid.Progress) bool {
	if r.plan.To != "" && !r.state.Opened {
		return false // who asks for one node does not want another instead
	}
	for _, name := range picked.order {
		if name == picked.node.Name || r.state.tried(name) {
			continue
		}
		if other, read := r.readings[name]; read &&
			has(other.Status.Progress()).Contains(picked.reading.Status.Progress(), r.env.Seen.Progress.Executed) {
			return true
		}
	}
	return false
}

// giveUp decides whether the next candidate may be tried after this one failed,
// and takes back what was done to the siblings for its sake. The candidate itself stays
// stopped: a receiver that runs again could acknowledge what the next one has not.
func (r *run) giveUp(ctx context.Context, n *Node, err error) bool {
	var candidate errCandidate
	fallen, mute := errors.Is(err, errFallen), errors.Is(err, errSilent)
	if !fallen && !mute && !errors.As(err, &candidate) {
		return false
	}
	if ctx.Err() != nil && !r.state.Opened {
		return false
	}
	r.cancelRepointing()
	if fallen || mute {
		// A session that hangs would keep everyone from fencing or repointing the node
		// when it thaws.
		n.Session.Abandon()
		r.gone[n.Name] = true
	}
	if !fallen {
		r.follow(ctx, r.untried(r.state.Repointed))
	}
	if !fallen && !mute {
		r.undoSemiSync(ctx)
	}
	r.update(func(s *state) {
		s.Tried = append(s.Tried, tried{Node: n.Name, Why: err.Error()})
		if fallen {
			s.Fallen = append(s.Fallen, n.Name)
		} else if s.Prepared != "" {
			s.GivenUp = append(s.GivenUp, s.Prepared)
		}
		s.Prepared, s.Detour, s.SemiSync, s.SemiSyncLater = "", "", false, false
		s.Repointed = nil
	})
	r.repoints, r.stopRepoints = nil, nil
	r.note(Choose, n.Name, "gives way to the next candidate: "+err.Error())
	return true
}

// finish is the last step: the finished hook; the log is closed by end.
func (r *run) finish(ctx context.Context) error {
	return r.do(ctx, Finish, "", 0, func(ctx context.Context) (string, error) {
		r.fire(ctx, hooks.Finished, "")
		left := r.pendingNodes()
		if len(left) > 0 {
			return fmt.Sprintf("%s is primary; still to be repointed: %v", r.plan.Candidate, left), nil
		}
		return r.plan.Candidate + " is primary", nil
	})
}

func (r *run) pendingNodes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, n := range r.result.Unpointed() {
		names = append(names, n.Node)
	}
	return names
}
