package promote

import (
	"fmt"
	"time"
)

// StepName is one step of a plan. Names are what the log, the watch display and
// --dry-run show.
type StepName uint8

// The steps, in the order in which a failover meets them; switch and recover use
// some of them and add their own.
const (
	StepUnset StepName = iota
	Claim              // write the intent, with the lock's token
	Preflight          // switch: would it work, and quickly?
	Compare            // recover: is the node's history part of the primary's?
	Starve             // stop the replicas' receivers: no more acknowledgements, positions are final
	Choose             // choose the candidate on final positions
	Fence              // the old primary can accept no more writes
	Block              // switch: stop new writes on the living primary
	CatchUp            // the candidate applies all it has received
	Prepare            // stop replication on the candidate, semi-sync on, attach who must acknowledge
	Open               // read_only off; from here the only way is forward
	Prove              // one committed write on the new primary
	Announce           // the promoted hook
	Demote             // the old primary or the recovered node becomes a replica
	Repoint            // the other replicas follow the new primary
	Verify             // threads run and the proving write arrives
	Finish             // record, notify
)

var stepNames = [...]string{"", "claim", "preflight", "compare", "starve", "choose", "fence", "block", "catch up", "prepare",
	"open", "prove", "announce", "demote", "repoint", "verify", "finish"}

func (s StepName) String() string {
	if int(s) < len(stepNames) {
		return stepNames[s]
	}
	return fmt.Sprintf("step(%d)", uint8(s))
}

// ParseStepName is the inverse of String.
func ParseStepName(s string) (StepName, error) {
	for i, name := range stepNames {
		if i > 0 && s == name {
			return StepName(i), nil
		}
	}
	return StepUnset, fmt.Errorf("step %q: not a step of a plan", s)
}

// MarshalText writes the step's name.
func (s StepName) MarshalText() ([]byte, error) {
	if s == StepUnset {
		return nil, nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a step's name; an empty text is StepUnset.
func (s *StepName) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = StepUnset
		return nil
	}
	parsed, err := ParseStepName(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// Statement is one statement on one node.
type Statement struct {
	Node string `json:"node"`
	SQL  string `json:"sql"`
}

// Step is one entry of a plan.
type Step struct {
	Name StepName `json:"step"`
	// Targets are the nodes it acts on, by name.
	Targets []string `json:"targets,omitempty"`
	// Does says in a sentence what happens.
	Does string `json:"does"`
	// Statements are what is sent, in order on each node; different nodes are
	// served in parallel. Values only known when the step runs are shown as <…>.
	Statements []Statement `json:"statements,omitempty"`
	// Requires is what must hold before the step is done.
	Requires string `json:"requires,omitempty"`
	// Limit is the step's time limit; 0 is none of its own.
	Limit time.Duration `json:"-"`
	// Undo says how it is taken back; empty where there is nothing to take back.
	Undo []Statement `json:"undo,omitempty"`
	// Forward is true from open on: a failure is reported, never undone.
	Forward bool `json:"forward,omitempty"`
}
