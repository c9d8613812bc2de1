package sandbox

import (
	"fmt"
	"strings"
)

// Flavour is the kind of server a cluster consists of.
type Flavour int

// The flavours a sandbox can start.
const (
	MariaDB Flavour = iota // the zero value, since Debian stable ships it
	MySQL
)

// Flavours lists every flavour.
func Flavours() []Flavour { return []Flavour{MariaDB, MySQL} }

// String returns the flavour's name in lower case, "mariadb" or "mysql".
func (f Flavour) String() string {
	switch f {
	case MariaDB:
		return "mariadb"
	case MySQL:
		return "mysql"
	default:
		return fmt.Sprintf("flavour(%d)", int(f))
	}
}

// ParseFlavour is the inverse of String; upper and lower case are the same.
func ParseFlavour(s string) (Flavour, error) {
	for _, f := range Flavours() {
		if strings.EqualFold(s, f.String()) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown flavour %q: want mariadb or mysql", s)
}
