package promote

import (
	"fmt"
	"slices"
	"time"

	"failwise/failover/topology"
)

// Contest is the world in which candidates are judged: what the watcher knew
// before the plan began. Its Choose is the Env's Chooser.
type Contest struct {
	// Readings are the last readings of all configured nodes, in their order.
	Readings []topology.Reading
	Memory   topology.Memory
	// Shunned and InMaintenance name nodes that must not be chosen, and why.
	Shunned       map[string]string
	InMaintenance map[string]string
	// Alike are nodes that an earlier promotion replaced by the old primary, which it
	// lost before its first write: see topology.Contest.
	Alike []string
	// Ignore names rules of package topology that shall not reject: what a forced
	// failover was told to pass over.
	Ignore []string
}

// Choose judges the replicas by their final readings; see topology.Choose.
func (c Contest) Choose(q Question) (Choice, error) {
	readings := slices.Clone(c.Readings)
	for i, reading := range readings {
		j := slices.IndexFunc(q.Readings, func(x Reading) bool { return x.Node == reading.Name })
		switch {
		case reading.Name == q.OldPrimary:
			if reading.Error == "" {
				reading.Error = "it is the old primary"
			}
		case j < 0:
			reading.Error = "it was not asked: it has failed as a candidate"
		case q.Readings[j].Err != nil:
			reading.Error = q.Readings[j].Err.Error()
		default:
			reading.Error, reading.Status = "", q.Readings[j].Status
		}
		readings[i] = reading
	}
	t := topology.Judge(readings, c.Memory, time.Time{})
	t.Primary = q.OldPrimary
	found := topology.Choose(topology.Contest{
		Topology: t, OldPrimary: q.OldPrimary, OldProgress: q.Seen.Progress,
		Shunned: c.Shunned, InMaintenance: c.InMaintenance, Alike: append(slices.Clone(c.Alike), q.Fallen...),
	})
	return c.choice(found)
}

func (c Contest) choice(found topology.Choice) (Choice, error) {
	var choice Choice
	var (
		forgiven []string
		full     string // an eligible node that lacks nothing
	)
	for _, v := range found.Verdicts {
		if v.Eligible {
			choice.Order = append(choice.Order, v.Node)
			if choice.Advanced == "" && v.CatchUpFrom != "" {
				choice.Advanced = v.CatchUpFrom
			}
			if full == "" && v.LacksCount == 0 {
				full = v.Node
			}
			continue
		}
		left := slices.DeleteFunc(slices.Clone(v.Rejections), func(r topology.Rejection) bool { return slices.Contains(c.Ignore, r.Rule) })
		if len(left) == 0 {
			forgiven = append(forgiven, v.Node)
			continue
		}
		choice.Rejected = append(choice.Rejected, Rejection{Node: v.Node, Rule: left[0].Rule, Why: left[0].Reason, Fix: left[0].Fix})
	}
	if choice.Advanced == "" {
		choice.Advanced = full
	}
	// Who is only eligible because a rule is passed over comes last.
	choice.Order = append(choice.Order, forgiven...)
	if found.Winner == "" && len(forgiven) == 0 {
		if found.Fix != "" {
			return choice, fmt.Errorf("%w: %s; fix: %s", ErrNoCandidate, found.Refusal, found.Fix)
		}
		return choice, fmt.Errorf("%w: %s", ErrNoCandidate, found.Refusal)
	}
	if len(choice.Order) == 0 {
		return choice, ErrNoCandidate
	}
	return choice, nil
}
