package mysql

import (
	"context"
	"strings"
)

// Lock is a lock held by a session that would make a promoted server hang: a
// global read lock or a backup lock.
type Lock struct {
	// Session is the process id of the holder; 0 where the server does not say.
	Session uint64 `json:"session"`
	Kind    string `json:"kind"` // "global read lock", "backup lock", …
}

// Locks lists the locks that stop all commits or backups' locks, held by other
// sessions. MySQL tells them in performance_schema.metadata_locks; MariaDB only
// where the metadata_lock_info plugin is loaded (known is false without it,
// error 1109, unless an applier that waits for such a lock gives it away).
func (s *Session) Locks(ctx context.Context) (locks []Lock, known bool, err error) {
	v, err := s.Version(ctx)
	if err != nil {
		return nil, false, err
	}
	if v.Flavour == MySQL {
		locks, err = s.mysqlLocks(ctx)
		return locks, err == nil, err
	}
	locks, err = s.mariaDBLocks(ctx)
	if err == nil {
		return locks, true, nil
	}
	const unknownTable = 1109
	if Number(err) != unknownTable {
		return nil, false, err
	}
	locks, err = s.waitingAppliers(ctx)
	return locks, len(locks) > 0, err
}

func (s *Session) mysqlLocks(ctx context.Context) ([]Lock, error) {
	rows, err := s.run(ctx, "list locks", `SELECT t.PROCESSLIST_ID AS id, l.OBJECT_TYPE AS type
 FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID
 WHERE l.LOCK_STATUS = 'GRANTED' AND l.LOCK_DURATION = 'EXPLICIT' AND l.LOCK_TYPE = 'SHARED'
 AND l.OBJECT_TYPE IN ('GLOBAL', 'COMMIT', 'BACKUP LOCK') AND t.PROCESSLIST_ID <> CONNECTION_ID()`, "")
	if err != nil {
		return nil, err
	}
	return mergeLocks(rows, func(kind string) string {
		if kind == "BACKUP LOCK" {
			return "backup lock"
		}
		return "global read lock"
	}), nil
}

func (s *Session) mariaDBLocks(ctx context.Context) ([]Lock, error) {
	rows, err := s.run(ctx, "list locks", `SELECT THREAD_ID AS id, LOCK_MODE AS type FROM information_schema.METADATA_LOCK_INFO
 WHERE LOCK_TYPE = 'Backup lock' AND THREAD_ID <> CONNECTION_ID()
 AND LOCK_MODE IN ('MDL_BACKUP_FTWRL1', 'MDL_BACKUP_FTWRL2', 'MDL_BACKUP_WAIT_FLUSH', 'MDL_BACKUP_WAIT_DDL', 'MDL_BACKUP_WAIT_COMMIT', 'MDL_BACKUP_START', 'MDL_BACKUP_FLUSH')`, "")
	if err != nil {
		return nil, err
	}
	return mergeLocks(rows, func(kind string) string {
		if strings.Contains(kind, "FTWRL") {
			return "global read lock"
		}
		return "backup lock"
	}), nil
}

func mergeLocks(rows []row, kind func(string) string) []Lock {
	var locks []Lock
	seen := map[Lock]bool{}
	for _, r := range rows {
		l := Lock{Session: r.number("id").Or(0), Kind: kind(r.text("type"))}
		if !seen[l] {
			seen[l] = true
			locks = append(locks, l)
		}
	}
	return locks
}

// lockStates are what an applier says while it waits for such a lock.
var lockStates = map[string]string{
	"Waiting for global read lock": "global read lock",
	"Waiting for commit lock":      "global read lock",
	"Waiting for backup lock":      "global read lock or backup lock",
}

func (s *Session) waitingAppliers(ctx context.Context) ([]Lock, error) {
	list, err := s.Processes(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if kind, ok := lockStates[p.State]; ok && p.User == "system user" {
			return []Lock{{Kind: kind}}, nil
		}
	}
	return nil, nil
}

// PurgedPosition is, on MariaDB, what the oldest binary log no longer holds:
// the position at its start. Servers before it cannot be fed from here. MySQL
// tells this in [Status].Purged. It reads the binary log's index, which can
// hang on a sick disk.
func (s *Session) PurgedPosition(ctx context.Context) (string, error) {
	const op = "find the oldest binary log"
	v, err := s.Version(ctx)
	if err != nil {
		return "", err
	}
	if v.Flavour != MariaDB {
		return "", s.fail(op, ErrUnsupported, "")
	}
	rows, err := s.run(ctx, op, "SHOW BINARY LOGS", "")
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", nil
	}
	return s.scalar(ctx, op, "SELECT BINLOG_GTID_POS("+quote(rows[0].text("Log_name"))+", 4)")
}
