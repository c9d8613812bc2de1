package journal

import "fmt"

// Kind says what a record is about.
type Kind uint8

// The kinds. KindUnset is the zero value; a record read back with it was written
// by a newer version under a name this one does not know.
const (
	KindUnset Kind = iota
	// Start begins a watcher's run: its version, settings, rules and nodes.
	Start
	// Probe is one observation: node, outcome, elapsed.
	Probe
	// Fact is what the engine was told besides observations: votes, routes,
	// coordinator, policy, candidates, durability.
	Fact
	// Event is what the engine returned.
	Event
	// Decision is a decision record: what was seen, which rule, which step said
	// no and what would lift it.
	Decision
	// Step is a step of a promotion, switch or recover.
	Step
	// Rules is a change of the rules, with its difference.
	Rules
	// Topology is a change of roles or of who follows whom.
	Topology
	// Policy is a change of policy or quota, with who and why.
	Policy
	// Note is anything else a human should find later.
	Note
	// Dropped is written by the journal itself: how many records it lost.
	Dropped
	// Stop ends a watcher's run.
	Stop

	kindEnd
)

var kindNames = [kindEnd]string{"", "start", "probe", "fact", "event", "decision", "step", "rules", "topology", "policy", "note", "dropped", "stop"}

func (k Kind) String() string {
	if k < kindEnd {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of [Kind.String] for the named kinds.
func ParseKind(s string) (Kind, error) {
	for k := Start; k < kindEnd; k++ {
		if kindNames[k] == s {
			return k, nil
		}
	}
	return KindUnset, fmt.Errorf("unknown kind of record %q", s)
}
