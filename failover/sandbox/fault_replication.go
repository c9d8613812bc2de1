package sandbox

import (
	"context"
	"fmt"
	"time"
)

// faultDelay is the delay of the fault delayed.
const faultDelay = time.Hour

// replicationFaults hurt a replica's channel or its data.
func replicationFaults() []Fault {
	return []Fault{
		{
			Name: "io-stopped", Doc: "the replica's IO thread is stopped, as by an operator", Needs: NeedReplica,
			start: func(ctx context.Context, n *Node) (injury, error) {
				return injury{heal: func(ctx context.Context) error { return n.replica(ctx, "START %s IO_THREAD") }},
					n.replica(ctx, "STOP %s IO_THREAD")
			},
		},
		{
			Name: "sql-error", Doc: "the replica's SQL thread stops at a duplicate key: 1062", Needs: NeedReplica,
			start: duplicateKey,
		},
		{
			Name: "behind", Doc: "the replica receives and applies nothing: a session holds its ledger locked", Needs: NeedReplica,
			start: func(ctx context.Context, n *Node) (injury, error) {
				return holdLock(ctx, n, "LOCK TABLES app.ledger READ")
			},
		},
		{
			Name: "delayed", Doc: "the replica applies an hour late", Needs: NeedReplica,
			start: func(ctx context.Context, n *Node) (injury, error) {
				return injury{heal: func(ctx context.Context) error { return n.delay(ctx, 0) }}, n.delay(ctx, faultDelay)
			},
		},
		{
			Name: "errant", Doc: "the replica has a transaction of its own", Needs: NeedReplica,
			start: errant,
		},
	}
}

// replica executes a statement whose %s stands for the flavour's word for a replica.
func (n *Node) replica(ctx context.Context, statement string) error {
	word := "REPLICA"
	if n.cluster.Flavour() == MariaDB {
		word = "SLAVE"
	}
	return n.Exec(ctx, fmt.Sprintf(statement, word))
}

// source returns the node that this one follows.
func (n *Node) source(ctx context.Context) (*Node, error) {
	status, err := n.Replication(ctx)
	if err != nil {
		return nil, err
	}
	source := n.cluster.ByAddress(status.Source)
	if source == nil {
		return nil, fmt.Errorf("%w: %s follows no node of the sandbox", ErrNotHere, n.Name())
	}
	return source, nil
}

// duplicateKey puts a row on the replica that its source then writes as well.
func duplicateKey(ctx context.Context, n *Node) (injury, error) {
	source, err := n.source(ctx)
	if err != nil {
		return injury{}, err
	}
	id := -time.Now().UnixNano() // the ledger's own rows are positive
	if err := n.execLocally(ctx, fmt.Sprintf("INSERT INTO app.ledger (id, node) VALUES (%d, 'fault')", id)); err != nil {
		return injury{}, err
	}
	heal := func(ctx context.Context) error {
		if err := n.execLocally(ctx, fmt.Sprintf("DELETE FROM app.ledger WHERE id=%d", id)); err != nil {
			return err
		}
		return n.replica(ctx, "START %s SQL_THREAD")
	}
	if err := source.Exec(ctx, fmt.Sprintf("INSERT INTO app.ledger (id, node) VALUES (%d, 'fault')", id)); err != nil {
		return injury{}, err
	}
	var status Replication
	err = await(ctx, func() (stopped bool, err error) {
		status, err = n.Replication(ctx)
		return status.SQL == "No", err
	})
	if err != nil {
		return injury{}, fmt.Errorf("wait for the SQL thread to stop, now %+v: %w", status, err)
	}
	return injury{heal: heal}, nil
}

// delay changes how late the replica applies.
func (n *Node) delay(ctx context.Context, by time.Duration) error {
	change := fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_DELAY=%d", whole(by))
	if n.cluster.Flavour() == MariaDB {
		change = fmt.Sprintf("CHANGE MASTER TO MASTER_DELAY=%d", whole(by))
		// MariaDB changes nothing while a thread runs, and both stopped lets go of
		// the relay log: what it lacks is fetched again by GTID.
		if err := n.replica(ctx, "STOP %s"); err != nil {
			return err
		}
		if err := n.Exec(ctx, change); err != nil {
			return err
		}
		return n.replica(ctx, "START %s")
	}
	if err := n.replica(ctx, "STOP %s SQL_THREAD"); err != nil {
		return err
	}
	if err := n.Exec(ctx, change); err != nil {
		return err
	}
	return n.replica(ctx, "START %s SQL_THREAD")
}

// errant writes to the replica. Healing takes the row out of the table and the
// transaction out of the replica's history, which costs its binary log.
func errant(ctx context.Context, n *Node) (injury, error) {
	before, err := n.Executed(ctx)
	if err != nil {
		return injury{}, err
	}
	id := -time.Now().UnixNano() // the ledger's own rows are positive
	err = n.writable(ctx, func() error {
		return n.Exec(ctx, fmt.Sprintf("INSERT INTO app.ledger (id, node) VALUES (%d, 'errant')", id))
	})
	if err != nil {
		return injury{}, err
	}
	after, err := n.Executed(ctx)
	return injury{heal: func(ctx context.Context) error {
		if err := n.replica(ctx, "STOP %s"); err != nil {
			return err
		}
		if err := n.execLocally(ctx, fmt.Sprintf("DELETE FROM app.ledger WHERE id=%d", id)); err != nil {
			return err
		}
		if err := n.forget(ctx, before, after); err != nil {
			return err
		}
		return n.replica(ctx, "START %s")
	}}, err
}

// forget takes the node's own transactions between two positions out of its history.
func (n *Node) forget(ctx context.Context, before, after string) error {
	query, args := "SELECT @@global.gtid_slave_pos", []any(nil) // never holds a replica's own
	reset, set := "RESET MASTER", "SET GLOBAL gtid_slave_pos='%s'"
	if n.cluster.Flavour() == MySQL {
		query = "SELECT REPLACE(GTID_SUBTRACT(@@global.gtid_executed, GTID_SUBTRACT(GTID_SUBTRACT(?, ?), " +
			"GTID_SUBTRACT(GTID_SUBTRACT(?, ?), CONCAT(@@global.server_uuid, ':1-9223372036854775806')))), '\n', '')"
		args = []any{after, before, after, before}
		reset, set = "RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged='%s'"
	}
	var position string
	if err := n.root.QueryRowContext(ctx, query, args...).Scan(&position); err != nil {
		return err
	}
	if err := n.Exec(ctx, reset); err != nil {
		return err
	}
	return n.Exec(ctx, fmt.Sprintf(set, position))
}

// await asks every 10 ms until the answer is yes, an error, or ctx is over; at most 20 s.
func await(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
