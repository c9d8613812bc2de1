package failover

import (
	"fmt"

	"failwise/rules"
)

// Config is what an engine starts with. Take [rules.Profile.Timings] and change
// what the user changed.
type Config struct {
	// Nodes are the cluster's nodes in the order in which they are judged and
	// in which candidates are counted. At least one; unique names; at most one
	// primary. Without a primary no failover is decided.
	Nodes []Node
	// Rules are the rules. Nil means the shipped defaults.
	Rules *rules.Map
	// Timings are the times and limits:
	//   - Tick: the unit of thresholds and settles; positive. Ticks lie at its
	//     multiples from the start.
	//   - ProbeInterval + ProbeBudget: the age up to which an observation counts;
	//     both positive, and those the caller really probes with.
	//   - Settle: ticks; 0 is none. SettleRestarts: 0 lets no neighbour restart
	//     it.
	//   - Quota: automatic failovers until a reset; 0 is no quota.
	//   - AgeLimit: 0 is no limit.
	//   - Retry: the wait after a failed promotion; 0 tries again at once.
	//   - Attempts: promotions tried per episode; 0 is no limit.
	Timings rules.Timings
	// Policy is the policy at the start. The zero value is Manual.
	Policy Policy
	// Coordinator says whether this watcher may act from the start; false until
	// a fact says otherwise.
	Coordinator bool
	// State is what an earlier run left behind; the zero value is a first start.
	// Its policy, if it has one, wins over Policy.
	State State
}

func (c *Config) validate() error {
	if err := checkNodes(c.Nodes); err != nil {
		return err
	}
	if err := c.Timings.Validate(); err != nil {
		return fmt.Errorf("timings: %w", err)
	}
	return c.State.validate()
}
