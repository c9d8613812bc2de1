package topology

import (
	"fmt"

	"failwise/check"
)

// Preference is a node's configured `promote` setting.
type Preference uint8

// The preferences.
const (
	Neutral Preference = iota
	Prefer
	Never
)

var preferenceNames = [...]string{"neutral", "prefer", "never"}

func (p Preference) String() string {
	if int(p) < len(preferenceNames) {
		return preferenceNames[p]
	}
	return fmt.Sprintf("preference(%d)", uint8(p))
}

// ParsePreference is the inverse of [Preference.String]; empty is neutral.
func ParsePreference(s string) (Preference, error) {
	if s == "" {
		return Neutral, nil
	}
	for i, n := range preferenceNames {
		if n == s {
			return Preference(i), nil
		}
	}
	return Neutral, fmt.Errorf("unknown promote %q: want prefer, neutral or never", s)
}

// MarshalText is [Preference.String].
func (p Preference) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePreference].
func (p *Preference) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePreference(string(text))
	return err
}

// Member is one configured node.
type Member struct {
	// Name is unique in the cluster; empty means the server's label.
	Name    string
	Server  check.Server
	Promote Preference
	Site    string
}

func (m Member) name() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Server.Label()
}
