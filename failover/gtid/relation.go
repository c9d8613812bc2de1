package gtid

import "fmt"

// Relation is how two sets, positions or servers stand to each other.
type Relation uint8

// The relations. Incomparable means that each has something the other lacks.
const (
	Equal Relation = iota + 1
	Ahead
	Behind
	Incomparable
)

var relationNames = [...]string{Equal: "equal", Ahead: "ahead", Behind: "behind", Incomparable: "incomparable"}

func (r Relation) String() string {
	if int(r) < len(relationNames) && r > 0 {
		return relationNames[r]
	}
	return fmt.Sprintf("relation(%d)", uint8(r))
}

// ParseRelation is the inverse of [Relation.String].
func ParseRelation(s string) (Relation, error) {
	for r := Equal; r <= Incomparable; r++ {
		if relationNames[r] == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("unknown relation %q: want equal, ahead, behind or incomparable", s)
}

// relationOf turns containment both ways into a relation.
func relationOf(contains, contained bool) Relation {
	switch {
	case contains && contained:
		return Equal
	case contains:
		return Ahead
	case contained:
		return Behind
	default:
		return Incomparable
	}
}
