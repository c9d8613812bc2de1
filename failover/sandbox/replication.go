package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"failwise/check"
)

// join makes nodes 1… replicas of node 0 and waits until they have its first transaction.
func (c *Cluster) join(ctx context.Context) error {
	primary := c.nodes[0]
	err := c.each(func(n *Node) error {
		if n == primary {
			return nil
		}
		if err := n.Follow(ctx, primary); err != nil {
			return err
		}
		return n.SetReadOnly(ctx, true)
	})
	if err != nil {
		return err
	}
	_, err = primary.root.ExecContext(ctx, check.HeartbeatUpsert(0))
	if err != nil {
		return fmt.Errorf("write the first row: %w", err)
	}
	return c.AwaitSync(ctx, primary)
}

// Follow makes the node a replica of another, from where its own GTID position is.
func (n *Node) Follow(ctx context.Context, source *Node) error {
	o, repl := n.cluster.options, n.cluster.accounts.Repl
	statements := []string{
		"STOP REPLICA",
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', SOURCE_AUTO_POSITION=1, "+
			"SOURCE_CONNECT_RETRY=%d, SOURCE_RETRY_COUNT=86400, SOURCE_HEARTBEAT_PERIOD=%.3f, GET_SOURCE_PUBLIC_KEY=1",
			source.host, source.port, repl.User, repl.Password, whole(o.ConnectRetry), o.HeartbeatPeriod.Seconds()),
		"START REPLICA",
	}
	if n.cluster.Flavour() == MariaDB {
		statements = []string{
			"STOP SLAVE",
			fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, "+
				"MASTER_CONNECT_RETRY=%d, MASTER_HEARTBEAT_PERIOD=%.3f",
				source.host, source.port, repl.User, repl.Password, whole(o.ConnectRetry), o.HeartbeatPeriod.Seconds()),
			"START SLAVE",
		}
	}
	for _, statement := range statements {
		if _, err := n.root.ExecContext(ctx, statement); err != nil {
			verb, _, _ := strings.Cut(statement, " TO ") // without the password
			return fmt.Errorf("make %s follow %s: %s: %w", n.Name(), source.Name(), verb, err)
		}
	}
	return nil
}

// SetReadOnly sets read_only, on MySQL super_read_only with it.
func (n *Node) SetReadOnly(ctx context.Context, on bool) error {
	statement := "SET GLOBAL read_only=OFF" // takes MySQL's super_read_only with it
	if on {
		statement = "SET GLOBAL read_only=ON"
		if n.cluster.Flavour() == MySQL {
			statement = "SET GLOBAL super_read_only=ON"
		}
	}
	if _, err := n.root.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %s: %w", n.Name(), strings.ToLower(statement), err)
	}
	return nil
}

// AwaitSync waits until every other node that runs and follows somebody has
// applied all that source has executed.
func (c *Cluster) AwaitSync(ctx context.Context, source *Node) error {
	position, err := source.Executed(ctx)
	if err != nil {
		return err
	}
	return c.each(func(n *Node) error {
		if n == source || n.Pid() == 0 {
			return nil
		}
		if status, err := n.Replication(ctx); err != nil || status.Source == "" {
			return err
		}
		query := fmt.Sprintf("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 60)", position)
		if c.Flavour() == MariaDB {
			query = fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', 60)", position)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var result sql.NullInt64
		if err := n.root.QueryRowContext(ctx, query).Scan(&result); err != nil {
			return fmt.Errorf("wait for %s to apply %s: %w", n.Name(), position, err)
		}
		if !result.Valid || result.Int64 != 0 {
			return fmt.Errorf("%s did not apply %s within a minute", n.Name(), position)
		}
		return nil
	})
}

// Exec executes a statement as root.
func (n *Node) Exec(ctx context.Context, statement string) error {
	_, err := n.root.ExecContext(ctx, statement)
	return err
}

// Executed returns the GTIDs the node has executed: gtid_executed on MySQL, the
// current position on MariaDB.
func (n *Node) Executed(ctx context.Context) (string, error) {
	query := "SELECT REPLACE(@@global.gtid_executed, '\n', '')"
	if n.cluster.Flavour() == MariaDB {
		query = "SELECT @@global.gtid_current_pos"
	}
	var set string
	if err := n.root.QueryRowContext(ctx, query).Scan(&set); err != nil {
		return "", fmt.Errorf("read the position of %s: %w", n.Name(), err)
	}
	return set, nil
}

// Replication is what a node says of its one replication channel.
type Replication struct {
	Source     string // host:port, empty on a node that follows nobody
	IO         string // Yes, No, Connecting, on MariaDB also Preparing
	SQL        string // Yes or No
	IOErrno    int
	SQLErrno   int
	DelaySecs  int
	LastErrors string // both threads' messages, for people
}

// Replication reads SHOW REPLICA STATUS.
func (n *Node) Replication(ctx context.Context) (Replication, error) {
	return replicationStatus(ctx, n.root, n.cluster.Flavour())
}

// querier is a pool or one connection.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func replicationStatus(ctx context.Context, db querier, f Flavour) (status Replication, err error) {
	statement, source, replica := "SHOW REPLICA STATUS", "Source_", "Replica_"
	if f == MariaDB {
		statement, source, replica = "SHOW SLAVE STATUS", "Master_", "Slave_"
	}
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return status, errors.Join(err, rows.Err())
	}
	values := make([]sql.NullString, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return status, err
	}
	field := func(name string) string {
		for i, column := range columns {
			if column == name {
				return values[i].String
			}
		}
		return ""
	}
	number := func(name string) (v int) {
		_, _ = fmt.Sscan(field(name), &v) // NULL and absent columns count as 0
		return v
	}
	return Replication{
		Source:     net.JoinHostPort(field(source+"Host"), field(source+"Port")),
		IO:         field(replica + "IO_Running"),
		SQL:        field(replica + "SQL_Running"),
		IOErrno:    number("Last_IO_Errno"),
		SQLErrno:   number("Last_SQL_Errno"),
		DelaySecs:  number("SQL_Delay"),
		LastErrors: strings.TrimSpace(field("Last_IO_Error") + " " + field("Last_SQL_Error")),
	}, rows.Err()
}
