package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"failwise/failover/gtid"
)

// chosen is the candidate and what is known about it and its siblings.
type chosen struct {
	node     *Node
	reading  Reading
	advanced *Reading // another node that has more; nil when the candidate has all
	order    []string // the eligible nodes, best first
}

// choose settles the candidate on final positions, and the loss report.
func (r *run) choose(ctx context.Context, readings []Reading) (chosen, error) {
	var picked chosen
	// Nothing on any server changes here, so nothing is written to the log first.
	r.report(Progress{Step: Choose, State: StepBegun})
	words, err := func() (string, error) {
		choice, err := r.env.Choose(Question{OldPrimary: r.plan.OldPrimary, Fallen: r.state.Fallen, Readings: readings, Seen: r.env.Seen})
		if err != nil {
			return "", err
		}
		name, err := r.pick(choice)
		if err != nil {
			return "", err
		}
		picked.node = r.nodes[name]
		if picked.node == nil {
			return "", fmt.Errorf("%s is not a configured node", name)
		}
		i := slices.IndexFunc(readings, func(x Reading) bool { return x.Node == name })
		if i < 0 {
			return "", fmt.Errorf("%s was not read", name)
		}
		picked.reading, picked.order = readings[i], choice.Order
		if j := slices.IndexFunc(readings, func(x Reading) bool { return x.Node == choice.Advanced && x.Err == nil }); j >= 0 && j != i {
			if !picked.reading.Status.Progress().Contains(readings[j].Status.Progress(), r.env.Seen.Progress.Executed) {
				picked.advanced = &readings[j]
			}
		}
		for _, reading := range readings {
			if reading.Err == nil {
				r.readings[reading.Node] = reading
			}
		}
		r.picked = picked
		loss := r.lossReport(picked)
		r.update(func(s *state) { s.Loss = loss })
		if err := r.bearable(loss); err != nil {
			return "", err
		}
		plan := r.env.withCandidate(ctx, *r.plan, name)
		r.update(func(s *state) { s.Plan = plan })
		return describeChoice(picked, choice, loss), nil
	}()
	if err != nil {
		err = &StepError{Step: Choose, Err: err, Opened: r.state.Opened}
		r.report(Progress{Step: Choose, State: StepFailed, Err: err})
		return picked, err
	}
	r.report(Progress{Step: Choose, Target: picked.node.Name, State: StepDone, Result: words})
	return picked, nil
}

// pick is the first eligible node that has not failed yet, or the one asked for.
func (r *run) pick(choice Choice) (string, error) {
	// Who asks for one node does not want another instead; but once something is
	// open there is no way back, and any node is better than none.
	if to := r.plan.To; to != "" && !r.state.Opened {
		for _, t := range r.state.Tried {
			if t.Node == to {
				return "", fmt.Errorf("%w: %s, which was asked for: %s", ErrNoCandidate, to, t.Why)
			}
		}
		if slices.Contains(choice.Order, to) {
			return to, nil
		}
		for _, rejected := range choice.Rejected {
			if rejected.Node == to {
				return "", fmt.Errorf("%w: %s: %s", ErrNoCandidate, to, rejected.Why)
			}
		}
		return "", fmt.Errorf("%w: %s is not among the replicas", ErrNoCandidate, to)
	}
	for _, name := range choice.Order {
		if !r.state.tried(name) {
			return name, nil
		}
	}
	var why []string
	if len(r.state.Tried) > 0 {
		why = append(why, r.whyTried())
	}
	for _, rejected := range choice.Rejected {
		if !r.state.tried(rejected.Node) {
			why = append(why, rejected.Node+": "+rejected.Why)
		}
	}
	if len(why) == 0 {
		return "", ErrNoCandidate
	}
	return "", fmt.Errorf("%w: %s", ErrNoCandidate, strings.Join(why, "; "))
}

// whyTried says why each candidate that was tried is not the new primary.
func (r *run) whyTried() string {
	var why []string
	for _, t := range r.state.Tried {
		why = append(why, t.Node+": "+t.Why)
	}
	return strings.Join(why, "; ")
}

// lossReport compares what the old primary was last seen to have with what the
// candidate has or will get, and says what "no loss" rests on.
func (r *run) lossReport(picked chosen) Loss {
	seen := r.env.Seen
	have := picked.reading.Status.Progress()
	if picked.advanced != nil {
		have = picked.advanced.Status.Progress()
	}
	var lost gtid.Set
	if !seen.Progress.IsEmpty() {
		lost = have.Lacks(seen.Progress.ExecutedOnly(), seen.Progress.Executed)
	}
	for _, t := range r.state.Tried {
		// What a candidate that gave way had received, and nobody else has.
		if reading, read := r.readings[t.Node]; read {
			lost = lost.Union(have.Lacks(reading.Status.Progress(), seen.Progress.Executed))
		}
	}
	loss := Loss{Known: lost.String(), Count: lost.Count(), SemiSync: seen.SemiSync}
	reachable := 0
	for _, reading := range r.readings {
		if semi, known := reading.Status.SemiSync.Get(); known && semi.ReplicaEnabled && !r.state.tried(reading.Node) {
			reachable++
		}
	}
	needed := seen.SemiSyncReplicas - max(seen.WaitCount, 1) + 1
	switch {
	case loss.Count > 0:
		loss.Why = "these are on no node that could be promoted"
	case !seen.SemiSync:
		loss.Why = "semi-sync was not in sync at the last good look: what the primary acknowledged alone may be lost"
	case reachable < needed:
		loss.Why = fmt.Sprintf("only %d of at least %d semi-sync replicas are reachable: an acknowledged transaction may be on one of the others", reachable, needed)
	default:
		loss.NoLoss = true
		loss.Why = fmt.Sprintf("semi-sync was in sync and %d of at least %d semi-sync replicas are reachable", reachable, needed)
	}
	return loss
}

// bearable tells whether the known loss is within the limit. What no client was
// told to have succeeded does not count.
func (r *run) bearable(loss Loss) error {
	if limit := r.env.MaxLost; limit != nil && !loss.NoLoss && loss.Count > *limit {
		return fmt.Errorf("%w: %d, at most %d are allowed: %s", ErrTooMuchLoss, loss.Count, *limit, loss.Known)
	}
	return nil
}

func describeChoice(picked chosen, choice Choice, loss Loss) string {
	words := picked.node.Name
	if picked.advanced != nil {
		words += ", after catching up from " + picked.advanced.Node
	}
	switch {
	case loss.Count > 0:
		words += fmt.Sprintf("; %d known lost transactions: %s", loss.Count, loss.Known)
	case loss.NoLoss:
		words += "; no loss: " + loss.Why
	default:
		words += "; no known loss, but " + loss.Why
	}
	for _, rejected := range choice.Rejected {
		words += fmt.Sprintf("; not %s: %s", rejected.Node, rejected.Why)
	}
	return words
}
