package rules

import "fmt"

// OriginKind is the layer a rule comes from.
type OriginKind uint8

// The layers, lowest first.
const (
	FromDefaults OriginKind = iota // the defaults that are built in
	FromProfile                    // a profile that differs from the defaults
	FromFile                       // a statemap file
	FromSet                        // [Map.With]: a scenario, a flag
)

var originNames = [...]string{"default", "profile", "file", "set"}

func (k OriginKind) String() string {
	if int(k) < len(originNames) {
		return originNames[k]
	}
	return fmt.Sprintf("origin(%d)", uint8(k))
}

// MarshalText writes the layer's name.
func (k OriginKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Origin tells where a rule comes from.
type Origin struct {
	Kind OriginKind `json:"kind"`
	// Name is the profile's name, the file's name as it was given to [Parse], or
	// the source given to [Map.With]. It is empty with FromDefaults.
	Name string `json:"name,omitempty"`
	// Line and Column are where the first of the rule's settings stands, counted
	// from 1; both are 0 unless Kind is FromFile.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Replaces is the rule beneath this one, nil with FromDefaults.
	Replaces *Layer `json:"replaces,omitempty"`
}

// Layer is a rule together with its origin.
type Layer struct {
	Rule   Rule   `json:"rule"`
	Origin Origin `json:"origin"`
}

// String names the place in a few words: "shipped default", "profile mha",
// "my.properties:12" or what [Map.With] was told.
func (o Origin) String() string {
	switch o.Kind {
	case FromDefaults:
		return "shipped default"
	case FromProfile:
		return "profile " + o.Name
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	default:
		return o.Name
	}
}
