package rules

import "fmt"

// Change is a rule that differs between two maps.
type Change struct {
	Outcome Outcome `json:"outcome"`
	Old     Layer   `json:"old"`
	New     Layer   `json:"new"`
}

// String writes the change on one line:
// "query_results_timeout: timeout -1 none → timeout 8 fail (my.properties:3)".
func (c Change) String() string {
	return fmt.Sprintf("%s: %s → %s (%s)", c.Outcome, c.Old.Rule, c.New.Rule, c.New.Origin)
}

// Diff returns the rules that change when next takes the place of m, in the
// catalogue's order. Rules that are equal but come from elsewhere are not
// changes.
func (m *Map) Diff(next *Map) []Change {
	var changes []Change
	for _, o := range Outcomes() {
		if m.rules[o].Equal(next.rules[o]) {
			continue
		}
		changes = append(changes, Change{
			Outcome: o,
			Old:     Layer{Rule: m.rules[o], Origin: m.origins[o]},
			New:     Layer{Rule: next.rules[o], Origin: next.origins[o]},
		})
	}
	return changes
}

// Equal reports whether two rules do the same. A heal of 0 is one of 1, and none
// where there is a window.
func (r Rule) Equal(s Rule) bool {
	r.Heal, s.Heal = max(r.Heal, 1), max(s.Heal, 1)
	if r.Window > 0 && s.Window > 0 {
		r.Heal = s.Heal
	}
	return r == s
}
