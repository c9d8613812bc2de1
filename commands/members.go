package commands

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"failwise/check"
	"failwise/commands/config"
	"failwise/failover/topology"
)

// members are a cluster's nodes as topology reads them, with one login for all.
func members(nodes []config.Node, login config.Login) ([]topology.Member, error) {
	var list []topology.Member
	for _, n := range nodes {
		preference, err := topology.ParsePreference(n.Promote.String())
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		list = append(list, topology.Member{Name: n.Name, Server: n.Server(login), Promote: preference, Site: n.Site})
	}
	return list, nil
}

// share is the part of the time left until the context's deadline that one look
// at the servers may take, at most limit; the rest is for judging and printing.
func share(ctx context.Context, limit time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return limit
	}
	return max(time.Millisecond, min(limit, time.Until(deadline)*4/5))
}

// query asks one server one question on a connection of its own.
func query[T any](ctx context.Context, server check.Server, statement string, scan func(*sql.Rows) (T, error)) (list []T, err error) {
	cfg, err := server.DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer db.Close() //nolint:errcheck // it was only read from
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// errNoHeartbeat says that the heartbeat table is there and empty.
var errNoHeartbeat = errors.New("the heartbeat table is empty: no watcher runs insert probes")

// heartbeatAge is how long ago the last watcher wrote to the heartbeat table, as
// a server has it. It is off by the difference of the primary's clock to that
// server's.
func heartbeatAge(ctx context.Context, server check.Server) (time.Duration, error) {
	ages, err := query(ctx, server,
		"SELECT TIMESTAMPDIFF(MICROSECOND, MAX(ts), UTC_TIMESTAMP(6)) FROM "+check.HeartbeatTable,
		func(rows *sql.Rows) (v sql.NullInt64, err error) { err = rows.Scan(&v); return v, err })
	switch {
	case err != nil:
		return 0, err
	case len(ages) != 1 || !ages[0].Valid:
		return 0, errNoHeartbeat
	}
	return max(0, time.Duration(ages[0].Int64)*time.Microsecond), nil
}

// serverError is the number and text of a server's error.
func serverError(err error) (number uint16, text string, ok bool) {
	var e *driver.MySQLError
	if !errors.As(err, &e) {
		return 0, "", false
	}
	return e.Number, e.Message, true
}
