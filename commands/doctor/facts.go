package doctor

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"failwise/check"
	"failwise/failover/topology"
)

// Facts are what the rules look at: one server as both users see it.
type Facts struct {
	// Node as package topology read it.
	Node topology.Node
	// IsPrimary: it is the cluster's primary.
	IsPrimary bool
	// AdminPort is configured for the node.
	AdminPort bool
	// Insert: insert probes are configured.
	Insert bool
	// NetTimeoutLimit is the shortest time after which a fatal rule acts; 0 for
	// none.
	NetTimeoutLimit time.Duration
	// Users are the monitoring and the acting user, in this order; one if they are
	// the same.
	Users []User
	// Settings are global variables by name, in lower case.
	Settings map[string]string
	// SettingsErr says why they could not be read.
	SettingsErr error
	// Skew is the server's clock minus this host's, within SkewError.
	Skew, SkewError time.Duration
	// HeartbeatErrno is the server's error when reading the heartbeat table, 0 if
	// it can be read.
	HeartbeatErrno uint16
}

// User is one of failwise's users on one server.
type User struct {
	Purpose Purpose
	Name    string
	// LoginErr says why it could not log in.
	LoginErr error
	Grants   Grants
	// AdminErr says why it could not log in at the node's admin port; nil if it
	// could or there is none.
	AdminErr error
}

// settings are the variables that the rules look at; those that a server does not
// have are missing.
var settings = [...]string{
	"max_connect_errors", "skip_name_resolve", "log_bin", "log_slave_updates", "log_replica_updates", "gtid_mode",
	"enforce_gtid_consistency", "gtid_strict_mode", "read_only", "super_read_only", "report_host", "slave_net_timeout",
	"replica_net_timeout", "require_secure_transport", "rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled",
	"rpl_semi_sync_master_wait_no_slave", "event_scheduler", "innodb_read_only",
}

// Read asks one server as one or two users. What cannot be read is in the facts.
func Read(ctx context.Context, f Facts, monitor, act check.Server) Facts {
	f.Settings = map[string]string{}
	purposes := []Purpose{Monitor}
	servers := []check.Server{monitor}
	if act.User != monitor.User {
		purposes, servers = append(purposes, Act), append(servers, act)
	} else {
		purposes[0] = Act
	}
	for i, server := range servers {
		u := User{Purpose: purposes[i], Name: server.User}
		db, err := open(server)
		if err != nil {
			u.LoginErr = err
			f.Users = append(f.Users, u)
			continue
		}
		lines, err := texts(ctx, db, "SHOW GRANTS")
		if err != nil {
			u.LoginErr = err
		}
		u.Grants = ParseGrants(lines)
		if err == nil && i == 0 {
			f.read(ctx, db)
		}
		_ = db.Close() // it was only read from
		if admin, has := server.Admin(); has && purposes[i] == Act {
			u.AdminErr = login(ctx, admin)
		}
		f.Users = append(f.Users, u)
	}
	return f
}

func open(server check.Server) (*sql.DB, error) {
	cfg, err := server.DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

func login(ctx context.Context, server check.Server) error {
	db, err := open(server)
	if err != nil {
		return err
	}
	err = db.PingContext(ctx)
	_ = db.Close() // nothing was changed
	return err
}

// texts are the first column of an answer.
func texts(ctx context.Context, db *sql.DB, statement string) ([]string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// read reads settings, clock and heartbeat table.
func (f *Facts) read(ctx context.Context, db *sql.DB) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(settings[:], "','")+"')")
	if err != nil {
		f.SettingsErr = err
		return
	}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			f.SettingsErr = err
			break
		}
		f.Settings[strings.ToLower(name)] = value
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil && f.SettingsErr == nil {
		f.SettingsErr = err
	}
	before := time.Now()
	if clock, err := texts(ctx, db, "SELECT UNIX_TIMESTAMP(NOW(6))"); err == nil && len(clock) == 1 {
		if seconds, err := strconv.ParseFloat(clock[0], 64); err == nil {
			after := time.Now()
			f.SkewError = after.Sub(before) / 2
			middle := before.Add(f.SkewError)
			f.Skew = time.Unix(0, int64(seconds*1e9)).Sub(middle)
		}
	}
	_, err = texts(ctx, db, "SELECT 1 FROM "+check.HeartbeatTable+" LIMIT 0")
	var e *driver.MySQLError
	if errors.As(err, &e) {
		f.HeartbeatErrno = e.Number
	}
}
