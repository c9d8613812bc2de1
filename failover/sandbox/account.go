package sandbox

import (
	"crypto/rand"
	"fmt"

	"failwise/check"
)

// Account is a login of a sandbox's servers.
type Account struct {
	User     string
	Password string
}

// String returns the user alone, so that a printed account tells no password.
func (a Account) String() string { return a.User }

// newAccount returns an account with a random password.
func newAccount(user string) Account { return Account{User: user, Password: rand.Text()} }

// Accounts are the logins every node of a cluster knows. They are not part of
// the replicated history, so each node's binary log starts without a password.
type Accounts struct {
	Root    Account // everything; over the socket only
	Monitor Account // fw_monitor: probes, status and the heartbeat row; cannot write through read_only
	Act     Account // fw_act: everything that a promotion does
	Repl    Account // repl: the replication channels
	App     Account // fw_app: an ordinary client with all rights on schema app alone
}

// newAccounts returns the accounts of one cluster.
func newAccounts() Accounts {
	return Accounts{
		Root:    newAccount("root"),
		Monitor: newAccount("fw_monitor"),
		Act:     newAccount("fw_act"),
		Repl:    newAccount("repl"),
		App:     newAccount("fw_app"),
	}
}

// ledgerDDL creates the table of Writer.
const ledgerDDL = "CREATE TABLE app.ledger (id BIGINT NOT NULL PRIMARY KEY, node VARCHAR(32) NOT NULL) ENGINE=InnoDB"

// provision returns the statements of a node's first start, one a line, as
// --init-file wants them: they run before the server takes connections, so that
// no moment exists in which root has no password.
func (a Accounts) provision(f Flavour, adminPort bool) []string {
	lines := []string{
		"SET SESSION sql_log_bin=0",
		fmt.Sprintf("ALTER USER 'root'@'localhost' IDENTIFIED BY '%s'", a.Root.Password),
		"CREATE DATABASE app",
		ledgerDDL,
	}
	lines = append(lines, check.HeartbeatDDL()...)
	for _, account := range []Account{a.Monitor, a.Act, a.Repl, a.App} {
		lines = append(lines, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", account.User, account.Password))
	}
	lines = append(lines,
		"GRANT SELECT, INSERT, UPDATE ON failwise.heartbeat TO 'fw_monitor'@'%'",
		"GRANT SELECT, INSERT, UPDATE ON failwise.heartbeat TO 'fw_act'@'%'",
		"GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%'",
		"GRANT ALL ON app.* TO 'fw_app'@'%'",
	)
	if f == MariaDB {
		return append(lines,
			"GRANT SLAVE MONITOR, BINLOG MONITOR ON *.* TO 'fw_monitor'@'%'",
			"GRANT PROCESS, RELOAD, SLAVE MONITOR, BINLOG MONITOR, REPLICATION SLAVE ADMIN, REPLICATION MASTER ADMIN, READ_ONLY ADMIN, CONNECTION ADMIN ON *.* TO 'fw_act'@'%'",
			// mariadb-install-db makes anonymous and further root accounts, without a password.
			"DELETE FROM mysql.global_priv WHERE User='' OR (User='root' AND Host<>'localhost')",
			"FLUSH PRIVILEGES",
		)
	}
	lines = append(lines,
		"GRANT REPLICATION CLIENT ON *.* TO 'fw_monitor'@'%'",
		"GRANT SELECT ON performance_schema.* TO 'fw_monitor'@'%'",
		"GRANT RELOAD, PROCESS, REPLICATION CLIENT, REPLICATION SLAVE ON *.* TO 'fw_act'@'%'",
		// SYSTEM_USER: without it KILL of an applier thread ends in 1095.
		"GRANT REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, CONNECTION_ADMIN, SYSTEM_USER ON *.* TO 'fw_act'@'%'",
		"GRANT SELECT ON performance_schema.* TO 'fw_act'@'%'",
	)
	if adminPort {
		// Without it the admin port answers 1227.
		lines = append(lines,
			"GRANT SERVICE_CONNECTION_ADMIN ON *.* TO 'fw_act'@'%'",
			"GRANT SERVICE_CONNECTION_ADMIN ON *.* TO 'fw_monitor'@'%'")
	}
	return lines
}
