package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// defaultHeartbeat is the heartbeat period of a new channel where no sibling
// shows what is usual here.
const defaultHeartbeat = 2 * time.Second

// demote makes a node without a source a replica of to. st is its present state;
// its executed set must be part of to's.
func (r *run) demote(ctx context.Context, n, to *Node, st mysql.Status, semiSync bool) error {
	account := r.env.Account
	channels := st.Channels.Or(nil)
	if len(channels) > 1 {
		return fmt.Errorf("it has %d replication channels: keep one", len(channels))
	}
	if err := sourceOff(ctx, n, r.env.Statement); err != nil {
		return err
	}
	options := mysql.SourceOptions{Host: to.Host, Port: to.Port, User: account.User, Password: account.Secret, TLS: account.TLS}
	options.HeartbeatPeriod, options.ConnectRetry, options.RetryCount = r.usual()
	if len(channels) == 1 {
		options.Channel = channels[0].Name
		if period := channels[0].HeartbeatPeriod.Or(0); period > 0 {
			options.HeartbeatPeriod = period
		}
		options.ConnectRetry, options.RetryCount = 0, 0 // it keeps its own
		if err := stopReplication(ctx, n.Session, options.Channel, r.env.Repoint); err != nil {
			return err
		}
	} else if account.User == "" {
		return errors.New("it has no replication account: set replication.user and replication.password_file in the configuration")
	}
	statement := func(f func(context.Context) error) error { return firmly(ctx, n.Session, r.env.Statement, f) }
	if semi, known := st.SemiSync.Get(); known && semiSync && semi.ReplicaInstalled && !semi.ReplicaEnabled {
		if err := statement(func(ctx context.Context) error { return n.Session.SetSemiSyncReplica(ctx, true) }); err != nil {
			return err
		}
	}
	if st.Version.Flavour == mysql.MariaDB {
		// gtid_slave_pos knows nothing of what the node wrote itself: replication would
		// begin too early and apply it all once more.
		position := st.SlavePos.Max(st.BinlogPos)
		if position.Compare(st.SlavePos) != gtid.Equal {
			if err := statement(func(ctx context.Context) error { return n.Session.SetGTIDSlavePos(ctx, position) }); err != nil {
				return err
			}
		}
	}
	if err := r.changeSource(ctx, n, r.env.Statement, options); err != nil {
		return err
	}
	if st.Version.Flavour == mysql.MySQL {
		if err := statement(func(ctx context.Context) error { return n.Session.SetOfflineMode(ctx, false) }); err != nil {
			return err
		}
	}
	return statement(func(ctx context.Context) error { return n.Session.StartReplication(ctx, options.Channel) })
}

// sourceOff switches the semi-sync source side of a replica off: left on, its applier
// would wait for acknowledgements at its first event.
func sourceOff(ctx context.Context, n *Node, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	semi, err := n.Session.SemiSync(bounded)
	if err != nil || !semi.SourceEnabled {
		return err
	}
	return firmly(ctx, n.Session, limit, func(ctx context.Context) error { return n.Session.SetSemiSyncSource(ctx, false) })
}

// usual is how a sibling's channel is set: its heartbeat period, and how often and
// how many times it tries to connect; 0 where no sibling shows it.
func (r *run) usual() (heartbeat, retry time.Duration, retries uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.env.Nodes {
		if c, known := r.state.Before[n.Name]; known && c.Heartbeat > 0 {
			return c.Heartbeat, c.Retry, c.Retries
		}
	}
	return defaultHeartbeat, 0, 0
}

// errantOf is what a node executed and the primary did not. MariaDB's binary log
// state tells only the newest number of each server: all numbers of such a server
// above those that the primary has are named.
func errantOf(node, primary mysql.Status, history gtid.Progress) gtid.Set {
	mine, its := node.Progress().ExecutedOnly(), primary.Progress().ExecutedOnly()
	errant := its.Lacks(mine, history.Executed)
	if node.Version.Flavour != mysql.MariaDB {
		return errant
	}
	astray := map[gtid.Source]bool{}
	for source := range errant.All() {
		astray[source] = true
	}
	for source, intervals := range mine.Executed.Subtract(its.Executed).All() {
		if astray[source] {
			for _, i := range intervals {
				errant = errant.Union(gtid.NewSet(source, i.First, i.Last))
			}
		}
	}
	return errant
}
