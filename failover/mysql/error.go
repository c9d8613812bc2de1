package mysql

import (
	"errors"
	"strconv"
	"strings"

	driver "github.com/go-sql-driver/mysql"
)

var (
	// ErrPending tells that a statement was not answered in time and goes on at
	// the server.
	ErrPending = errors.New("not answered in time and still running on the server")
	// ErrBusy tells that an earlier statement of this session is still pending.
	ErrBusy = errors.New("the session still waits for an earlier statement")
	// ErrClosed tells that the session was closed by its owner.
	ErrClosed = errors.New("the session is closed")
	// ErrNotReplica tells that a statement for a replica met a server without
	// that replication channel.
	ErrNotReplica = errors.New("the server has no such replication channel")
	// ErrSQLThreadStopped tells that an IO thread was left alone because stopping
	// it while the SQL thread is stopped can lose what was received.
	ErrSQLThreadStopped = errors.New("the SQL thread is stopped")
	// ErrUnsupported tells that a statement does not exist on this flavour.
	ErrUnsupported = errors.New("not supported by this server")
)

// Error is a failed statement or connection of a session.
type Error struct {
	Op     string // what was tried: "stop IO thread"
	Target string // the server
	Number int    // the server's error number, or 0
	Err    error  // the cause; never contains a password
	Hint   string // what to try next, or empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Target + ": " + e.Op + ": ")
	if e.Number != 0 {
		b.WriteString("server error " + strconv.Itoa(e.Number) + ": ")
	}
	b.WriteString(e.Err.Error())
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Number is the server's error number in an error chain, or 0.
func Number(err error) int {
	if e, ok := errors.AsType[*Error](err); ok && e.Number != 0 {
		return e.Number
	}
	if e, ok := errors.AsType[*driver.MySQLError](err); ok {
		return int(e.Number)
	}
	return 0
}

// serverMessage is the text of a server's error without the driver's prefix.
type serverMessage struct{ *driver.MySQLError }

func (m serverMessage) Error() string { return m.Message }
func (m serverMessage) Unwrap() error { return m.MySQLError }

// hints name the grant or state that the common refusals are about.
var hints = map[int]string{
	1045: "check user and password, or whether the server demands TLS",
	1095: "the session belongs to a user with SYSTEM_USER: grant SYSTEM_USER to the acting user",
	1227: "grant the acting user what `failwise doctor` prints",
	1142: "grant the acting user what `failwise doctor` prints",
	1044: "grant the acting user what `failwise doctor` prints",
	1146: "create the heartbeat table with what `failwise doctor` prints",
	1049: "create the heartbeat table with what `failwise doctor` prints",
	3857: "a session holds the backup lock: wait for the backup or end it",
}

// redacted stands for a server's message that quotes a statement with a password.
var errRedacted = errors.New("the server's message is withheld, for it may quote the password")

// newError wraps a failure of op; secret, when not empty, must not appear in it.
func newError(op, target string, err error, secret string) *Error {
	e := &Error{Op: op, Target: target, Err: err}
	if my, ok := errors.AsType[*driver.MySQLError](err); ok {
		e.Number = int(my.Number)
		e.Err = serverMessage{my}
		e.Hint = hints[e.Number]
	}
	const parseError = 1064 // quotes the statement, cut anywhere
	if secret != "" && (e.Number == parseError || strings.Contains(err.Error(), secret)) {
		e.Err = errRedacted
	}
	return e
}
