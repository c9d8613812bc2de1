package failover

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"failwise/rules"
)

// FactKind is what a fact is about.
type FactKind uint8

// The kinds of facts. Each has a constructor that says which fields it uses.
const (
	FactUnset FactKind = iota
	FactPolicy
	FactCoordinator
	FactOperation
	FactVote
	FactRoute
	FactObservers
	FactAsking
	FactAnswered
	FactEligible
	FactDurability
	FactOpened
	FactPromoted
	FactPromotionFailed
	FactRecovered
	FactQuotaReset
	FactNodes
	FactRules
	FactForced

	factEnd
)

var factNames = []string{"", "policy", "coordinator", "operation", "vote", "route", "observers", "asking", "answered", "eligible",
	"durability", "opened", "promoted", "promotion_failed", "recovered", "quota_reset", "nodes", "rules", "forced"}

func (k FactKind) String() string { return nameOf("fact", factNames, k) }

// ParseFactKind is the inverse of [FactKind.String].
func ParseFactKind(s string) (FactKind, error) { return parseName[FactKind]("fact", factNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (k FactKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *FactKind) UnmarshalText(b []byte) (err error) {
	*k, err = ParseFactKind(string(b))
	return err
}

// Fact is something the engine is told besides observations. Make it with one of
// the constructors.
type Fact struct {
	Kind      FactKind                     `json:"fact"`
	Node      string                       `json:"node,omitempty"`
	Policy    Policy                       `json:"policy,omitempty"`
	For       time.Duration                `json:"-"`
	Yes       bool                         `json:"yes,omitempty"`
	Vote      Vote                         `json:"vote,omitempty"`
	Route     Route                        `json:"route,omitempty"`
	Observers Observers                    `json:"observers,omitempty"`
	Round     int                          `json:"round,omitempty"`
	Nodes     []Node                       `json:"nodes,omitempty"`
	Rules     map[rules.Outcome]rules.Rule `json:"rules,omitempty"`
	Ignore    []Reason                     `json:"ignore,omitempty"`
	// Unfinished is true of a promotion whose new primary was lost before its first write.
	Unfinished bool   `json:"unfinished,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// PolicyIs says that somebody set the policy: of the whole cluster if node is
// empty, else of one node, where Automatic means that the node has none of its
// own. With limit > 0 it ends by itself after that time and the policy before it
// holds again. detail says who and why.
func PolicyIs(p Policy, node string, limit time.Duration, detail string) Fact {
	return Fact{Kind: FactPolicy, Policy: p, Node: node, For: limit, Detail: detail}
}

// CoordinatorIs says whether this watcher is the one that may act.
func CoordinatorIs(yes bool) Fact { return Fact{Kind: FactCoordinator, Yes: yes} }

// OperationBegan says that an operation which the engine did not decide runs: a
// switch, a recover, a promotion of another watcher or one resumed after a
// restart. what names it.
func OperationBegan(what string) Fact { return Fact{Kind: FactOperation, Yes: true, Detail: what} }

// OperationEnded ends [OperationBegan].
func OperationEnded() Fact { return Fact{Kind: FactOperation} }

// VoteIs is a replica's answer. round is that of the request, or 0 for an answer
// nobody asked for.
func VoteIs(replica string, v Vote, round int) Fact {
	return Fact{Kind: FactVote, Node: replica, Vote: v, Round: round}
}

// RouteIs is the joint answer of the routes.
func RouteIs(r Route, round int) Fact { return Fact{Kind: FactRoute, Route: r, Round: round} }

// ObserversAre is the answer of the other watchers.
func ObserversAre(o Observers, round int) Fact {
	return Fact{Kind: FactObservers, Observers: o, Round: round}
}

// Asking says that the caller began a round of questions by itself. A round that
// the engine requested needs no such fact.
func Asking() Fact { return Fact{Kind: FactAsking} }

// Answered ends a round: all answers have come, or their time limit is over.
func Answered(round int) Fact { return Fact{Kind: FactAnswered, Round: round} }

// EligibleIs says whether the topology allows a replica to be promoted; why
// names the rule that removed it. Nodes are eligible until told otherwise.
func EligibleIs(replica string, yes bool, why string) Fact {
	return Fact{Kind: FactEligible, Node: replica, Yes: yes, Detail: why}
}

// DurabilityIs says whether the best candidate's loss is within the durability
// rule; it is until told otherwise.
func DurabilityIs(ok bool, detail string) Fact {
	return Fact{Kind: FactDurability, Yes: ok, Detail: detail}
}

// Opened says that the running promotion has opened the new primary: from here
// on there is no way back.
func Opened() Fact { return Fact{Kind: FactOpened} }

// PromotedTo ends a promotion: node is the primary now.
func PromotedTo(node string) Fact { return Fact{Kind: FactPromoted, Node: node} }

// PromotedUnfinished ends a promotion that opened node, lost it before its first
// write and had no other: node is the primary, and the age limit does not begin,
// since the cluster is as much without a primary as before.
func PromotedUnfinished(node string) Fact {
	return Fact{Kind: FactPromoted, Node: node, Unfinished: true}
}

// PromotionFailedBecause ends a promotion that was undone.
func PromotionFailedBecause(why string) Fact { return Fact{Kind: FactPromotionFailed, Detail: why} }

// RecoveredNode says that a shunned node was brought back.
func RecoveredNode(node string) Fact { return Fact{Kind: FactRecovered, Node: node} }

// QuotaReset refills the quota of automatic failovers.
func QuotaReset() Fact { return Fact{Kind: FactQuotaReset} }

// NodesAre replaces the set of nodes, their order and roles. Nodes that stay
// keep their alarms and stages.
func NodesAre(nodes []Node) Fact { return Fact{Kind: FactNodes, Nodes: nodes} }

// RulesAre replaces the rules.
func RulesAre(m *rules.Map) Fact { return Fact{Kind: FactRules, Rules: ruleTable(m)} }

// Force asks for a failover now, after the same checks but for those in ignore,
// and whatever the alarms, the policy and the quota say. to is the wanted new
// primary or empty. The answer is a failover event or a hold, both with Forced.
func Force(to string, ignore ...Reason) Fact { return Fact{Kind: FactForced, Node: to, Ignore: ignore} }

// MarshalJSON writes the time limit in seconds.
func (f Fact) MarshalJSON() ([]byte, error) {
	type plain Fact
	return json.Marshal(struct {
		plain
		For seconds `json:"for,omitempty"`
	}{plain(f), seconds(f.For)})
}

// UnmarshalJSON is the inverse of [Fact.MarshalJSON].
func (f *Fact) UnmarshalJSON(b []byte) error {
	type plain Fact
	var w struct {
		plain
		For seconds `json:"for"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*f = Fact(w.plain)
	f.For = time.Duration(w.For)
	return nil
}

// Errors of [Engine.Tell] and [New], to be matched with errors.Is.
var (
	ErrUnknownNode = errors.New("no such node in the cluster")
	ErrNodes       = errors.New("the nodes do not make a cluster")
	ErrFact        = errors.New("not a fact")
)

// checkNodes returns an error unless names are unique and at most one is the
// primary.
func checkNodes(nodes []Node) error {
	seen := make(map[string]bool, len(nodes))
	primary := ""
	for _, n := range nodes {
		switch {
		case n.Name == "":
			return fmt.Errorf("%w: a node has no name", ErrNodes)
		case seen[n.Name]:
			return fmt.Errorf("%w: %s is named twice", ErrNodes, n.Name)
		case n.Role == Primary && primary != "":
			return fmt.Errorf("%w: both %s and %s are primary", ErrNodes, primary, n.Name)
		}
		seen[n.Name] = true
		if n.Role == Primary {
			primary = n.Name
		}
	}
	if len(nodes) == 0 {
		return fmt.Errorf("%w: there is none", ErrNodes)
	}
	return nil
}
