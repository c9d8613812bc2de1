package check

import "fmt"

// Type is the way a probe looks at a node.
type Type uint8

// The probe types. The zero value is none of them.
const (
	// Connect opens a new session each time and closes it after the statement:
	// it sees servers that accept no new sessions.
	Connect Type = iota + 1
	// Select keeps its session between probes: cheap, but blind to a server
	// that only serves old sessions.
	Select
	// Insert keeps its session and commits one row into the heartbeat table: it
	// sees full, read-only and stalled disks and blocked writes. On a replica
	// it reads instead.
	Insert
)

var typeNames = [...]string{"", "connect", "select", "insert"}

func (t Type) String() string {
	if t >= Connect && t <= Insert {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// ParseType is the inverse of [Type.String].
func ParseType(s string) (Type, error) {
	for t := Connect; t <= Insert; t++ {
		if typeNames[t] == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown probe type %q: use connect, select or insert", s)
}
