package check

import (
	"net"
	"strings"
)

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

// readOnlyStatement reads the switches that refuse writes. MariaDB has no
// super_read_only: newer versions put it into the values of read_only.
func readOnlyStatement(g greeting) string {
	if g.flavour == MariaDB {
		return "SELECT @@global.read_only"
	}
	return "SELECT @@global.read_only, @@global.super_read_only"
}

// replicaStatement lists the replication channels, in the words of the version:
// MySQL has the new ones since 8.0.22.
func replicaStatement(g greeting) string {
	switch {
	case g.flavour == MariaDB:
		return "SHOW ALL SLAVES STATUS"
	case versionAtLeast(g.version, 8, 0, 22):
		return "SHOW REPLICA STATUS"
	}
	return "SHOW SLAVE STATUS"
}

// readSource notes the source of the first channel that has one.
func (r *Role) readSource(a *answer) {
	for _, row := range a.rows {
		if strings.HasPrefix(a.get(row, "Channel_Name"), "group_replication_") {
			continue
		}
		r.Replica = true
		host := a.get(row, "Source_Host", "Master_Host")
		if r.Source == "" && host != "" {
			r.Source = net.JoinHostPort(host, a.get(row, "Source_Port", "Master_Port"))
		}
	}
}
