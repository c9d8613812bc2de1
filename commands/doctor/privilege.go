package doctor

import (
	"fmt"
	"slices"
	"strings"

	"failwise/check"
	"failwise/failover/mysql"
)

// Purpose is what a user is for.
type Purpose uint8

// The two users: Monitor probes and reads the status, Act fences and promotes as
// well.
const (
	Monitor Purpose = iota
	Act
)

var purposeNames = [...]string{"monitor", "act"}

func (p Purpose) String() string {
	if int(p) < len(purposeNames) {
		return purposeNames[p]
	}
	return fmt.Sprintf("purpose(%d)", uint8(p))
}

// Privilege is one privilege that a user needs on a scope.
type Privilege struct {
	Name  string
	Scope string
	Why   string
	// Also are other names under which a server may show it.
	Also []string
	// Optional: without it something works less well.
	Optional bool
}

func (p Privilege) held(g Grants) bool {
	return slices.ContainsFunc(append([]string{p.Name}, p.Also...), func(name string) bool { return g.Has(name, p.Scope) })
}

const everywhere = "*.*"

// Privileges are what a user needs on a server. adminPort adds what MySQL's
// admin_port takes.
func Privileges(v mysql.Version, p Purpose, adminPort bool) []Privilege {
	var list []Privilege
	switch {
	case v.Flavour == mysql.MariaDB:
		list = mariadbPrivileges(p)
	case v.AtLeast(8, 0, 0):
		list = mysqlPrivileges(p, adminPort)
	default:
		list = oldMySQLPrivileges(p)
	}
	for _, name := range []string{"SELECT", "INSERT", "UPDATE"} {
		list = append(list, Privilege{Name: name, Scope: check.HeartbeatTable, Why: "the row of insert probes and the write that proves a new primary"})
	}
	return list
}

func mysqlPrivileges(p Purpose, adminPort bool) []Privilege {
	status := []Privilege{
		{Name: "REPLICATION CLIENT", Scope: everywhere, Why: "SHOW REPLICA STATUS"},
		{Name: "SELECT", Scope: "performance_schema.*", Why: "heartbeats and locks"},
	}
	if p == Monitor {
		return status
	}
	list := append([]Privilege{
		{Name: "RELOAD", Scope: everywhere, Why: "RESET REPLICA ALL"},
		{Name: "PROCESS", Scope: everywhere, Why: "the sessions to end when fencing"},
		{Name: "REPLICATION SLAVE", Scope: everywhere, Why: "SHOW REPLICAS"},
	}, status...)
	list = append(list,
		Privilege{Name: "REPLICATION_SLAVE_ADMIN", Scope: everywhere, Why: "stop, start and change replication", Also: []string{"SUPER"}},
		Privilege{Name: "SYSTEM_VARIABLES_ADMIN", Scope: everywhere, Why: "read_only, semi-sync, offline_mode", Also: []string{"SUPER"}},
		Privilege{Name: "CONNECTION_ADMIN", Scope: everywhere, Why: "KILL, and a session when none is free", Also: []string{"SUPER"}},
		Privilege{Name: "SYSTEM_USER", Scope: everywhere, Why: "end applier threads that wait for half a transaction, and sessions of system users", Optional: true},
	)
	if adminPort {
		list = append(list, Privilege{Name: "SERVICE_CONNECTION_ADMIN", Scope: everywhere, Why: "log in at admin_port", Also: []string{"SUPER"}})
	}
	return list
}

// oldMySQLPrivileges are those of MySQL 5.7, which has no dynamic ones.
func oldMySQLPrivileges(p Purpose) []Privilege {
	list := []Privilege{
		{Name: "REPLICATION CLIENT", Scope: everywhere, Why: "SHOW SLAVE STATUS"},
		{Name: "SELECT", Scope: "performance_schema.*", Why: "heartbeats and locks"},
	}
	if p == Act {
		list = append(list,
			Privilege{Name: "RELOAD", Scope: everywhere, Why: "RESET SLAVE ALL"},
			Privilege{Name: "PROCESS", Scope: everywhere, Why: "the sessions to end when fencing"},
			Privilege{Name: "SUPER", Scope: everywhere, Why: "replication, read_only, KILL, and a session when none is free"},
		)
	}
	return list
}

func mariadbPrivileges(p Purpose) []Privilege {
	list := []Privilege{
		{Name: "SLAVE MONITOR", Scope: everywhere, Why: "SHOW SLAVE STATUS", Also: []string{"REPLICA MONITOR"}},
		{Name: "BINLOG MONITOR", Scope: everywhere, Why: "the state of the binary log", Also: []string{"REPLICATION CLIENT"}},
	}
	if p == Act {
		list = append(list,
			Privilege{Name: "PROCESS", Scope: everywhere, Why: "the sessions to end when fencing"},
			Privilege{Name: "RELOAD", Scope: everywhere, Why: "RESET SLAVE ALL, FLUSH TABLES WITH READ LOCK"},
			Privilege{Name: "REPLICATION SLAVE ADMIN", Scope: everywhere, Why: "stop, start and change replication", Also: []string{"REPLICATION REPLICA ADMIN"}},
			Privilege{Name: "REPLICATION MASTER ADMIN", Scope: everywhere, Why: "semi-sync"},
			Privilege{Name: "READ_ONLY ADMIN", Scope: everywhere, Why: "set read_only", Also: []string{"READ ONLY ADMIN"}},
			Privilege{Name: "CONNECTION ADMIN", Scope: everywhere, Why: "KILL, and a session when none is free"},
		)
	}
	return list
}

// tooMuch are privileges that a monitoring user must not have.
func tooMuch(v mysql.Version) []Privilege {
	slot := "it takes the one session above max_connections that a DBA needs"
	through := "it writes through read_only, so that an insert probe could write to a replica"
	if v.Flavour == mysql.MariaDB {
		return []Privilege{
			{Name: "READ_ONLY ADMIN", Scope: everywhere, Why: through, Also: []string{"READ ONLY ADMIN"}},
			{Name: "CONNECTION ADMIN", Scope: everywhere, Why: slot},
			{Name: "SUPER", Scope: everywhere, Why: slot},
		}
	}
	return []Privilege{
		{Name: "SUPER", Scope: everywhere, Why: through},
		{Name: "CONNECTION_ADMIN", Scope: everywhere, Why: through + ", and " + slot},
	}
}

// Grant is the statement that gives privileges to a user, those of one scope
// together; "" if there are none.
func Grant(list []Privilege, user string) []string {
	var statements, scopes []string
	names := map[string][]string{}
	for _, p := range list {
		// MySQL does not mix static and dynamic privileges with other scopes, and
		// one statement takes one scope.
		if names[p.Scope] == nil {
			scopes = append(scopes, p.Scope)
		}
		names[p.Scope] = append(names[p.Scope], p.Name)
	}
	for _, scope := range scopes {
		statements = append(statements, fmt.Sprintf("GRANT %s ON %s TO %s;", strings.Join(names[scope], ", "), scope, account(user)))
	}
	return statements
}

func account(user string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(user) + "'@'%'"
}

// Statements create a user for a purpose, with a password to be filled in. The
// optional privileges are left out.
func Statements(v mysql.Version, p Purpose, user string) []string {
	list := slices.DeleteFunc(Privileges(v, p, false), func(p Privilege) bool { return p.Optional })
	return append([]string{fmt.Sprintf("CREATE USER %s IDENTIFIED BY '…';", account(user))}, Grant(list, user)...)
}
