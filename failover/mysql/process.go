package mysql

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// Process is one session in SHOW PROCESSLIST.
type Process struct {
	ID      uint64        `json:"id"`
	User    string        `json:"user"`
	Host    string        `json:"host"`
	DB      string        `json:"db,omitempty"`
	Command string        `json:"command"`
	Time    time.Duration `json:"time"` // in its present state, whole seconds
	State   string        `json:"state,omitempty"`
	Info    string        `json:"-"` // the statement, cut at 100 characters; may hold a user's data
}

// Client tells whether this is a session of a user, not one of the server's
// own, nor a replica's dump thread: those must live for replication to go on.
func (p Process) Client() bool {
	switch p.User {
	case "system user", "event_scheduler":
		return false
	}
	switch p.Command {
	case "Binlog Dump", "Binlog Dump GTID", "Daemon":
		return false
	}
	return true
}

// Processes lists the server's sessions by the statement that returns even
// while its disk hangs.
func (s *Session) Processes(ctx context.Context) ([]Process, error) {
	rows, err := s.run(ctx, "list sessions", "SHOW PROCESSLIST", "")
	if err != nil {
		return nil, err
	}
	list := make([]Process, 0, len(rows))
	for _, r := range rows {
		list = append(list, Process{
			ID: r.number("Id").Or(0), User: r.text("User"), Host: r.text("Host"), DB: r.text("db"),
			Command: r.text("Command"), Time: r.duration("Time").Or(0), State: r.text("State"), Info: r.text("Info"),
		})
	}
	return list, nil
}

// Kill ends one session (KILL CONNECTION). A session that has just ended is no
// error.
func (s *Session) Kill(ctx context.Context, id uint64) error {
	_, err := s.run(ctx, "kill session "+strconv.FormatUint(id, 10), "KILL CONNECTION "+strconv.FormatUint(id, 10), "")
	const noSuchThread = 1094
	if Number(err) == noSuchThread {
		return nil
	}
	return err
}

// KillClients ends the sessions of all users but this one and those to spare.
// It goes on after a session that it may not kill (1095 on MySQL without
// SYSTEM_USER), and gives the number of killed sessions and the joined errors.
func (s *Session) KillClients(ctx context.Context, spare ...uint64) (killed int, err error) {
	list, err := s.Processes(ctx)
	if err != nil {
		return 0, err
	}
	spare = append(slices.Clone(spare), s.ConnectionID())
	var errs []error
	for _, p := range list {
		if !p.Client() || slices.Contains(spare, p.ID) {
			continue
		}
		if err := s.Kill(ctx, p.ID); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		killed++
	}
	return killed, errors.Join(errs...)
}

// Transaction is one that InnoDB has open.
type Transaction struct {
	ProcessID uint64        `json:"process_id"`
	Age       time.Duration `json:"age"`
}

// Transactions lists InnoDB's open transactions that are at least that old,
// the oldest first. For healthy servers only: it reads information_schema.
func (s *Session) Transactions(ctx context.Context, atLeast time.Duration) ([]Transaction, error) {
	rows, err := s.run(ctx, "list open transactions", `SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS age
 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID() AND trx_mysql_thread_id <> 0
 AND TIMESTAMPDIFF(SECOND, trx_started, NOW()) >= `+seconds(atLeast)+` ORDER BY trx_started`, "")
	if err != nil {
		return nil, err
	}
	list := make([]Transaction, 0, len(rows))
	for _, r := range rows {
		list = append(list, Transaction{r.number("id").Or(0), r.duration("age").Or(0)})
	}
	return list, nil
}
