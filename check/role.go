package check

import "strings"

// Role is what a server says about its place in replication.
type Role struct {
	// ReadOnly: read_only, super_read_only or MariaDB's newer words for them
	// refuse writes.
	ReadOnly bool
	// Replica: a replication source is configured, whether its threads run or
	// not. The channels of MySQL's group replication do not count.
	Replica bool
	// Source is the configured source, host:port; "" if there is none.
	Source string
}

type roleJSON struct {
	ReadOnly bool   `json:"read_only"`
	Replica  bool   `json:"replica"`
	Source   string `json:"source,omitempty"`
}

// ParseReadOnly reads the value of @@global.read_only as any version prints it:
// 0, 1, OFF, ON, and in newer MariaDB NO_LOCK and NO_LOCK_NO_ADMIN, which refuse
// writes too. A word it does not know counts as read-only: it is safer not to
// write.
func ParseReadOnly(s string) bool {
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "0", "OFF", "FALSE":
		return false
	}
	return true
}
