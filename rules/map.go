package rules

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Map is a whole statemap: a rule for every outcome. It never changes.
type Map struct {
	profile Profile
	// rules is indexed by outcome; the row of no outcome at all is what holds
	// for an outcome that nothing defines.
	rules   [NumOutcomes]Rule
	origins [NumOutcomes]Origin
}

// undefinedRule is the rule of an outcome that no layer names.
var undefinedRule = Rule{State: Unknown, Threshold: Never, Action: None}

// Rule returns the rule of o. An invalid o has the rule of an outcome that no
// layer names: unknown, -1, none. It does not allocate.
func (m *Map) Rule(o Outcome) Rule {
	if o >= outcomeEnd {
		o = 0
	}
	return m.rules[o]
}

// Origin returns where the rule of o comes from and what it replaces.
func (m *Map) Origin(o Outcome) Origin {
	if o >= outcomeEnd {
		o = 0
	}
	return m.origins[o]
}

// Profile returns the profile at the bottom of the map.
func (m *Map) Profile() Profile { return m.profile }

// Online reports whether o heals: the state of its rule is [Online].
func (m *Map) Online(o Outcome) bool { return m.Rule(o).State == Online }

// Fatal reports whether an expired alarm of o fails its node.
func (m *Map) Fatal(o Outcome) bool { return m.Rule(o).Fatal() }

// With returns a copy of m in which the rules in set replace those of m. source
// names them in their [Origin]: "scenario.yaml:7", "--set". An invalid rule or
// outcome is an error and nothing is applied; the first in the catalogue's order
// is the one reported.
func (m *Map) With(set map[Outcome]Rule, source string) (*Map, error) {
	n := *m
	for _, o := range slices.Sorted(maps.Keys(set)) {
		if !o.Valid() {
			return nil, fmt.Errorf("%s: %w", source, &UnknownError{Kind: "outcome", Value: o.String()})
		}
		if err := set[o].Validate(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", source, o, err)
		}
		n.replace(o, set[o], Origin{Kind: FromSet, Name: source})
	}
	return &n, nil
}

// replace puts a layer on top of o's rule. It is called on maps that nobody else
// has seen yet.
func (m *Map) replace(o Outcome, r Rule, from Origin) {
	from.Replaces = &Layer{Rule: m.rules[o], Origin: m.origins[o]}
	m.rules[o], m.origins[o] = r, from
}

//go:embed statemap.properties.defaults
var defaultsFile []byte

// DefaultsName is the name of the file of shipped defaults.
const DefaultsName = "statemap.properties.defaults"

// DefaultsFile returns a copy of the file of shipped defaults, which documents
// each outcome and is a good start for a statemap of one's own.
func DefaultsFile() []byte { return slices.Clone(defaultsFile) }

// Defaults returns the shipped defaults, which are also the profile [Tungsten].
func Defaults() *Map { return shipped() }

// shipped reads the embedded file once. That the file is good and whole is
// tested, so that a failure here is one of the build.
var shipped = sync.OnceValue(func() *Map {
	m := &Map{}
	for o := range m.rules {
		m.rules[o] = undefinedRule
	}
	full, warnings, err := Parse(DefaultsName, defaultsFile, m)
	if err != nil || len(warnings) > 0 {
		panic(fmt.Sprintf("built-in %s is broken: %v %v", DefaultsName, err, warnings))
	}
	for o := range full.origins {
		full.origins[o] = Origin{Kind: FromDefaults}
	}
	return full
})
