package mysql

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"failwise/check"
)

// Flavour is the kind of server.
type Flavour = check.Flavour

// The flavours. The zero value is that of a server that was not read.
const (
	FlavourUnknown = check.FlavourUnknown
	MySQL          = check.MySQL
	MariaDB        = check.MariaDB
)

// ParseFlavour is the inverse of [Flavour.String].
func ParseFlavour(s string) (Flavour, error) { return check.ParseFlavour(s) }

// Version is a server's flavour and version.
type Version struct {
	Flavour Flavour `json:"flavour"`
	Major   int     `json:"major"`
	Minor   int     `json:"minor"`
	Patch   int     `json:"patch"`
	Text    string  `json:"text"` // @@version, as the server spells it
}

// ParseVersion reads @@version and @@version_comment. MariaDB says its name in
// one of the two; everything else counts as MySQL.
func ParseVersion(version, comment string) (Version, error) {
	v := Version{Flavour: MySQL, Text: version}
	if strings.Contains(strings.ToLower(version+" "+comment), "mariadb") {
		v.Flavour = MariaDB
		version = strings.TrimPrefix(version, "5.5.5-")
	}
	numbers := version
	if i := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		numbers = version[:i]
	}
	parts := strings.SplitN(numbers, ".", 4)
	if len(parts) < 2 {
		return Version{}, fmt.Errorf("unknown server version %q", v.Text)
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i >= len(parts) {
			break
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return Version{}, fmt.Errorf("unknown server version %q", v.Text)
		}
		*to = n
	}
	return v, nil
}

// String gives flavour and number, as in "mysql 8.4.3".
func (v Version) String() string {
	return fmt.Sprintf("%s %d.%d.%d", v.Flavour, v.Major, v.Minor, v.Patch)
}

// AtLeast tells whether v is that version or newer, whatever the flavour.
func (v Version) AtLeast(major, minor, patch int) bool {
	return cmp.Or(cmp.Compare(v.Major, major), cmp.Compare(v.Minor, minor), cmp.Compare(v.Patch, patch)) >= 0
}

// Series compares the release series that replication cares about (a source
// must not be of a newer series than its replica): major and minor number.
func (v Version) Series(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor))
}
