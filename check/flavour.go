package check

import (
	"fmt"
	"strconv"
	"strings"
)

// Flavour is the kind of server.
type Flavour uint8

// The flavours. FlavourUnknown is the zero value: that of a server that was not read.
const (
	FlavourUnknown Flavour = iota
	MySQL
	MariaDB
)

var flavourNames = [...]string{"unknown", "mysql", "mariadb"}

func (f Flavour) String() string {
	if int(f) < len(flavourNames) {
		return flavourNames[f]
	}
	return fmt.Sprintf("flavour(%d)", uint8(f))
}

// ParseFlavour is the inverse of [Flavour.String].
func ParseFlavour(s string) (Flavour, error) {
	for i, n := range flavourNames {
		if n == s {
			return Flavour(i), nil
		}
	}
	return FlavourUnknown, fmt.Errorf("unknown flavour %q: use mysql or mariadb", s)
}

// MarshalText is [Flavour.String].
func (f Flavour) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText is [ParseFlavour].
func (f *Flavour) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFlavour(string(text))
	return err
}

// versionAtLeast compares the leading numbers of a version such as
// "8.0.22-debug". A version that cannot be read counts as new.
func versionAtLeast(version string, want ...int) bool {
	number, _, _ := strings.Cut(version, "-")
	parts := strings.Split(number, ".")
	for i, w := range want {
		if i >= len(parts) {
			return true
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return true
		}
		if n != w {
			return n > w
		}
	}
	return true
}
