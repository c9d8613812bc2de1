package mysql

import (
	"context"
	"errors"

	"failwise/check"
	"failwise/failover/gtid"
)

// SetReadOnly switches read_only. ON blocks behind every running write, lock
// and commit that waits for an acknowledgement; OFF never blocks and on MySQL
// drops super_read_only too.
func (s *Session) SetReadOnly(ctx context.Context, on bool) error {
	_, err := s.run(ctx, "set read_only "+onOff(on), "SET GLOBAL read_only="+onOff(on), "")
	return err
}

// SetSuperReadOnly switches MySQL's super_read_only; ON sets read_only as well
// and blocks like it.
func (s *Session) SetSuperReadOnly(ctx context.Context, on bool) error {
	return s.setMySQL(ctx, "set super_read_only "+onOff(on), "SET GLOBAL super_read_only="+onOff(on))
}

// SetOfflineMode switches MySQL's offline_mode. ON never blocks, ends the
// sessions of all users without CONNECTION_ADMIN and drops the replicas (3032).
func (s *Session) SetOfflineMode(ctx context.Context, on bool) error {
	return s.setMySQL(ctx, "set offline_mode "+onOff(on), "SET GLOBAL offline_mode="+onOff(on))
}

func (s *Session) setMySQL(ctx context.Context, op, sql string) error {
	_, err := s.runWith(ctx, op, "", func(c *connection) (string, error) {
		if c.version.Flavour != MySQL {
			return "", ErrUnsupported
		}
		return sql, nil
	})
	return err
}

// SetReadOnlyFirmly keeps as many users as the flavour can from writing:
// super_read_only on MySQL, read_only on MariaDB (where READ ONLY ADMIN still
// passes).
func (s *Session) SetReadOnlyFirmly(ctx context.Context) error {
	v, err := s.Version(ctx)
	if err != nil {
		return err
	}
	if v.Flavour == MySQL {
		return s.SetSuperReadOnly(ctx, true)
	}
	return s.SetReadOnly(ctx, true)
}

// Flags are the settings that decide who can write.
type Flags struct {
	ReadOnly      ReadOnly `json:"read_only"`
	SuperReadOnly bool     `json:"super_read_only"`
	OfflineMode   bool     `json:"offline_mode"`
}

// Fenced tells whether ordinary users can no longer write, and on MySQL
// administrators neither.
func (f Flags) Fenced(of Flavour) bool {
	if of == MySQL {
		return f.SuperReadOnly
	}
	return f.ReadOnly != ReadOnlyUnknown && !f.ReadOnly.Writable()
}

// Open tells whether everyone can write.
func (f Flags) Open() bool { return f.ReadOnly.Writable() && !f.SuperReadOnly && !f.OfflineMode }

// ReadFlags reads the flags back, which alone proves a fence or an opening.
func (s *Session) ReadFlags(ctx context.Context) (Flags, error) {
	const op = "read back read_only"
	rows, err := s.runWith(ctx, op, "", func(c *connection) (string, error) {
		if c.version.Flavour == MariaDB {
			return "SELECT @@global.read_only AS read_only, 0 AS super_read_only, 0 AS offline_mode", nil
		}
		return "SELECT @@global.read_only AS read_only, @@global.super_read_only AS super_read_only, @@global.offline_mode AS offline_mode", nil
	})
	if err != nil {
		return Flags{}, err
	}
	if len(rows) != 1 {
		return Flags{}, s.fail(op, errors.New("unexpected empty answer"), "")
	}
	r := rows[0]
	f := Flags{SuperReadOnly: isOn(r.text("super_read_only")), OfflineMode: isOn(r.text("offline_mode"))}
	if f.ReadOnly, err = ParseReadOnly(r.text("read_only")); err != nil {
		return Flags{}, s.fail(op, err, "")
	}
	return f, nil
}

// Prove commits one write to the heartbeat table and gives the write's GTID in
// the form that [Session.WaitForGTID] takes. On MySQL it may name some other
// writes of the same moment too. watcher is the row's id.
//
// On [ErrPending] the write waits, most likely for a semi-sync acknowledgement:
// do not cancel it, use [Session.Settle].
func (s *Session) Prove(ctx context.Context, watcher uint64) (string, error) {
	const op = "prove a write"
	v, err := s.Version(ctx)
	if err != nil {
		return "", err
	}
	if v.Flavour == MariaDB {
		if _, err := s.run(ctx, op, check.HeartbeatUpsert(watcher), ""); err != nil {
			return "", err
		}
		position, err := s.scalar(ctx, op, "SELECT @@session.last_gtid")
		if err == nil && position == "" {
			err = s.fail(op, errNoGTID, "")
		}
		return position, err
	}
	before, err := s.executed(ctx, op)
	if err != nil {
		return "", err
	}
	// Two writes in one millisecond leave the row as it is, and MySQL logs nothing.
	for range 10 {
		if _, err := s.run(ctx, op, check.HeartbeatUpsert(watcher), ""); err != nil {
			return "", err
		}
		after, err := s.executed(ctx, op)
		if err != nil {
			return "", err
		}
		if written := after.Subtract(before); !written.IsEmpty() {
			return written.String(), nil
		}
	}
	return "", s.fail(op, errNoGTID, "")
}

var errNoGTID = errors.New("the write got no GTID: is the binary log on, with GTIDs?")

func (s *Session) executed(ctx context.Context, op string) (gtid.Set, error) {
	text, err := s.scalar(ctx, op, "SELECT @@global.gtid_executed")
	if err != nil {
		return gtid.Set{}, err
	}
	set, err := gtid.Parse(text)
	if err != nil {
		return gtid.Set{}, s.fail(op, err, "")
	}
	return set, nil
}

func (s *Session) scalar(ctx context.Context, op, sql string) (string, error) {
	rows, err := s.run(ctx, op, sql, "")
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0].values) == 0 {
		return "", s.fail(op, errors.New("unexpected empty answer"), "")
	}
	return rows[0].values[0].Or(""), nil
}

// LockTables takes the global read lock on this session and holds it until
// [Session.UnlockTables] or the end of the connection. It stops all writers,
// those with READ ONLY ADMIN included, and blocks behind running statements.
func (s *Session) LockTables(ctx context.Context) error {
	_, err := s.run(ctx, "lock all tables for reading", "FLUSH TABLES WITH READ LOCK", "")
	return err
}

// UnlockTables gives the global read lock back.
func (s *Session) UnlockTables(ctx context.Context) error {
	_, err := s.run(ctx, "unlock tables", "UNLOCK TABLES", "")
	return err
}
