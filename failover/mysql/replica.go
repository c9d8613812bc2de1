package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
)

// The channel of the methods below is "" for the default one.

func (s *Session) replicate(ctx context.Context, op, verb string, of thread, channel string) error {
	_, err := s.runWith(ctx, op, "", func(c *connection) (string, error) {
		return dialect{c.version}.replication(verb, of, channel), nil
	})
	return err
}

// StopIO stops the IO thread. It takes up to 2 s while the thread is connecting
// to a hung source. See the package's duties before stopping one whose SQL
// thread is stopped.
func (s *Session) StopIO(ctx context.Context, channel string) error {
	return s.replicate(ctx, "stop IO thread", "STOP", ioThread, channel)
}

// StartIO starts the IO thread.
func (s *Session) StartIO(ctx context.Context, channel string) error {
	return s.replicate(ctx, "start IO thread", "START", ioThread, channel)
}

// StopSQL stops the SQL thread. It can hang behind a local lock, and KILL QUERY
// does not free it.
func (s *Session) StopSQL(ctx context.Context, channel string) error {
	return s.replicate(ctx, "stop SQL thread", "STOP", sqlThread, channel)
}

// StartSQL starts the SQL thread.
func (s *Session) StartSQL(ctx context.Context, channel string) error {
	return s.replicate(ctx, "start SQL thread", "START", sqlThread, channel)
}

// StopReplication stops both threads.
func (s *Session) StopReplication(ctx context.Context, channel string) error {
	return s.replicate(ctx, "stop replication", "STOP", bothThreads, channel)
}

// StartReplication starts both threads.
func (s *Session) StartReplication(ctx context.Context, channel string) error {
	return s.replicate(ctx, "start replication", "START", bothThreads, channel)
}

// channel reads one channel; [ErrNotReplica] without it.
func (s *Session) channel(ctx context.Context, op, name string) (Channel, error) {
	channels, err := s.Channels(ctx)
	if err != nil {
		return Channel{}, err
	}
	i := slices.IndexFunc(channels, func(c Channel) bool { return c.Name == name })
	if i < 0 {
		return Channel{}, s.fail(op, ErrNotReplica, "")
	}
	return channels[i], nil
}

// Starve makes what the replica has received final, and lets it be applied: it
// starts a stopped SQL thread first (with both threads stopped MariaDB would
// delete the relay log at the next start), then stops the IO thread. On MariaDB
// an SQL thread that does not stay started, because its next event fails, is
// reported as [ErrSQLThreadStopped] and the IO thread left as it is; where both
// threads are stopped already, nothing is started, since nothing could be saved.
func (s *Session) Starve(ctx context.Context, channel string) error {
	const op = "starve"
	c, err := s.channel(ctx, op, channel)
	if err != nil {
		return err
	}
	v, err := s.Version(ctx)
	if err != nil {
		return err
	}
	stopped := c.IO == ThreadNo
	if c.SQL != ThreadYes && (!stopped || v.Flavour == MySQL) {
		if err := s.StartSQL(ctx, channel); err != nil {
			return err
		}
		if v.Flavour == MariaDB {
			if c, err = s.channel(ctx, op, channel); err != nil {
				return err
			}
			if c.SQL != ThreadYes {
				return s.fail(op, fmt.Errorf("%w with error %d and does not stay started: its IO thread is left running", ErrSQLThreadStopped, c.SQLErrno), "")
			}
		}
	}
	if stopped {
		return nil
	}
	return s.StopIO(ctx, channel)
}

// WaitForGTID waits on the server until it has executed a set (MySQL) or
// reached a position (MariaDB), at most limit, which should leave ctx some
// room. It tells whether that was reached. The empty text is reached at once.
func (s *Session) WaitForGTID(ctx context.Context, position string, limit time.Duration) (bool, error) {
	const op = "wait for GTID"
	if position == "" {
		return true, nil
	}
	rows, err := s.runWith(ctx, op, "", func(c *connection) (string, error) {
		return dialect{c.version}.waitForGTID(position, limit), nil
	})
	if err != nil {
		return false, err
	}
	if len(rows) != 1 || len(rows[0].values) != 1 {
		return false, s.fail(op, errors.New("unexpected answer"), "")
	}
	return rows[0].values[0].Or("") == "0", nil
}

// stopPatience is how long a stop of replication may take before the applier
// threads are killed: with half a transaction received MySQL would wait 60 s.
const stopPatience = time.Second

// StopAndReset stops replication and forgets the source, on the candidate
// before it is opened. On MySQL, where a stop can wait 60 s for the rest of a
// half-received transaction, the applier threads are killed after 1 s, which
// needs SYSTEM_USER or the like; without it the stop goes on waiting.
func (s *Session) StopAndReset(ctx context.Context, channel string) error {
	v, err := s.Version(ctx)
	if err != nil {
		return err
	}
	if v.Flavour == MySQL {
		err = s.stopOrKill(ctx, channel)
	} else {
		err = s.StopReplication(ctx, channel)
	}
	if err != nil {
		return err
	}
	return s.ResetReplication(ctx, channel)
}

func (s *Session) stopOrKill(ctx context.Context, channel string) error {
	patience, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	err := s.StopReplication(patience, channel)
	if !errors.Is(err, ErrPending) || ctx.Err() != nil {
		return err
	}
	killer := s.Sibling()
	killErr := killer.killAppliers(ctx, channel)
	killErr = errors.Join(killErr, killer.Close())
	if err := s.Settle(ctx); err != nil {
		return errors.Join(err, killErr)
	}
	return nil
}

func (s *Session) killAppliers(ctx context.Context, channel string) error {
	rows, err := s.run(ctx, "find applier threads", `SELECT t.PROCESSLIST_ID AS id FROM performance_schema.threads t JOIN (
 SELECT THREAD_ID, CHANNEL_NAME FROM performance_schema.replication_applier_status_by_worker
 UNION SELECT THREAD_ID, CHANNEL_NAME FROM performance_schema.replication_applier_status_by_coordinator) a USING (THREAD_ID)
 WHERE a.CHANNEL_NAME = `+quote(channel)+` AND t.PROCESSLIST_ID IS NOT NULL`, "")
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range rows {
		if id, ok := r.number("id").Get(); ok {
			errs = append(errs, s.Kill(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// ResetReplication forgets the source of a stopped replica (RESET … ALL).
func (s *Session) ResetReplication(ctx context.Context, channel string) error {
	return s.replicate(ctx, "reset replication", "RESET", bothThreads, channel)
}

// SourceOptions are what a change of source sets. Everything that is not named
// here stays as it is on the server: user, password, TLS, delay, filters.
type SourceOptions struct {
	Channel string
	Host    string
	Port    int
	// HeartbeatPeriod must be stated, since a change of host resets it to 30 s;
	// 0 leaves that default. Resolution 1 ms.
	HeartbeatPeriod time.Duration
	// ConnectRetry is the pause between attempts to connect, in whole seconds;
	// RetryCount, MySQL only, how many there are. 0 leaves what the channel has, on a
	// new one the server's default.
	ConnectRetry time.Duration
	RetryCount   uint64
	// User, Password and TLS are for a server that never was a replica; with an
	// empty User all three are left alone.
	User     string
	Password check.Secret
	TLS      *ChannelTLS
}

// ChangeSource points a stopped replica at a source by GTID (auto-position, or
// slave_pos on MariaDB). Both threads must be stopped (3081, 1198).
func (s *Session) ChangeSource(ctx context.Context, o SourceOptions) error {
	_, err := s.runWith(ctx, "change source", o.Password.Reveal(), func(c *connection) (string, error) {
		return dialect{c.version}.changeSource(o), nil
	})
	return err
}

// SetGTIDSlavePos sets MariaDB's gtid_slave_pos, on a demoted primary to its
// own gtid_binlog_pos before it becomes a replica. Replication must be stopped.
func (s *Session) SetGTIDSlavePos(ctx context.Context, position gtid.Position) error {
	_, err := s.runWith(ctx, "set gtid_slave_pos", "", func(c *connection) (string, error) {
		if c.version.Flavour != MariaDB {
			return "", ErrUnsupported
		}
		return "SET GLOBAL gtid_slave_pos=" + quote(position.String()), nil
	})
	return err
}
