package rules

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

// Profile is a named set of rules and timings. The zero value is [Tungsten], the
// default.
type Profile uint8

// The profiles.
const (
	Tungsten  Profile = iota // refused at once, timeouts after 80 s, slow queries never
	Couchbase                // every kind of silence after two minutes, settled, one failover
	MHA                      // the fourth failure in a row, 3 s apart
	profileEnd
)

var profileNames = [...]string{"tungsten", "couchbase", "mha"}

func (p Profile) String() string {
	if p < profileEnd {
		return profileNames[p]
	}
	return fmt.Sprintf("profile(%d)", uint8(p))
}

// ParseProfile is the inverse of [Profile.String]; case and surrounding blanks do
// not matter. Its error is an [*UnknownError].
func ParseProfile(s string) (Profile, error) {
	i, err := lookUp("profile", s, profileNames[:], true)
	return Profile(i), err
}

// Profiles returns all profiles, the default first.
func Profiles() []Profile { return []Profile{Tungsten, Couchbase, MHA} }

// MarshalText writes the profile's name.
func (p Profile) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParseProfile].
func (p *Profile) UnmarshalText(b []byte) (err error) {
	*p, err = ParseProfile(string(b))
	return err
}

// Rules returns the profile's rules: the shipped defaults with the profile's own
// on top.
func (p Profile) Rules() *Map { return p.read().rules }

// Timings returns the profile's times and limits.
func (p Profile) Timings() Timings { return p.read().timings }

// File returns the profile's file, which documents it.
func (p Profile) File() []byte {
	b, err := profileFiles.ReadFile("profiles/" + p.String() + ".properties")
	if err != nil {
		panic(fmt.Sprintf("built-in profile %s: %v", p, err))
	}
	return b
}

//go:embed profiles/*.properties
var profileFiles embed.FS

// profileData is what a profile's file says.
type profileData struct {
	rules   *Map
	timings Timings
}

// profiles are the files that have been read: each once, and only when it is asked
// for.
var profiles [profileEnd]struct {
	once sync.Once
	data profileData
}

func (p Profile) read() profileData {
	if p >= profileEnd {
		panic(fmt.Sprintf("%s does not exist", p))
	}
	r := &profiles[p]
	r.once.Do(func() {
		d, err := p.parse(p.File())
		if err != nil { // that the files are good is tested
			panic(fmt.Sprintf("built-in profile %s is broken: %v", p, err))
		}
		r.data = d
	})
	return r.data
}

// timingPrefix begins the keys that only a profile's file has.
const timingPrefix = "timing."

// parse reads a profile's file: a statemap with timings.
func (p Profile) parse(src []byte) (profileData, error) {
	d := profileData{}
	base := *Defaults()
	base.profile = p
	var bad error
	doc := read(p.String(), src, func(s Setting) bool {
		key, found := strings.CutPrefix(fold(s.Key), timingPrefix)
		if found && bad == nil {
			bad = d.timings.set(key, s.Value)
		}
		return found
	})
	if bad != nil {
		return d, bad
	}
	m, warnings, err := doc.Apply(&base)
	if err != nil {
		return d, err
	}
	if len(warnings) > 0 {
		return d, &warnings[0]
	}
	for o, from := range m.origins {
		if from.Kind == FromFile {
			m.origins[o] = Origin{Kind: FromProfile, Name: p.String(), Replaces: from.Replaces}
		}
	}
	d.rules = m
	return d, d.timings.Validate()
}
