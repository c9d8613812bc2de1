package check

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/rules"
)

// quitTime bounds the farewell to a server that may not read any more.
const quitTime = 50 * time.Millisecond

// session is a login that stands.
type session struct {
	conn     *conn
	sql      sqlConn
	log      *driverLog
	greeting greeting
	remote   string
	tls      string
}

// sqlConn is what the driver's connections can do.
type sqlConn interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
}

// driverLog keeps the errors that the driver logs in place of returning them.
type driverLog struct {
	mu   sync.Mutex
	errs []error
}

// Print implements [mysql.Logger].
func (l *driverLog) Print(v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range v {
		if err, ok := x.(error); ok && len(l.errs) < 4 {
			l.errs = append(l.errs, err)
		}
	}
}

func (l *driverLog) joined() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

// login makes the driver log in over a connection whose greeting has come.
func (p *Prober) login(ctx context.Context, rec *record, g *greeter, greet greeting) (*session, *failure) {
	s := &session{
		conn: &conn{Conn: g.Conn, ahead: g.buf}, log: &driverLog{}, greeting: greet, remote: g.remote,
	}
	cfg := p.config.Clone()
	cfg.Logger = s.log
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return s.conn, nil }
	var verified bool
	if cfg.TLS != nil {
		verify := cfg.TLS.VerifyConnection
		cfg.TLS.VerifyConnection = func(state tls.ConnectionState) error {
			if verify != nil {
				if err := verify(state); err != nil {
					return err
				}
			}
			verified, s.tls = true, tls.VersionName(state.Version)
			return nil
		}
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		_ = g.Close()
		return nil, &failure{phase: rules.PhaseLogin, outcome: rules.UnexpectedException, message: oneLine(err.Error())}
	}
	until := rec.enter(rules.PhaseLogin)
	rec.say("log in")
	s.conn.attach(rec, false, false)
	_ = s.conn.SetDeadline(until)
	err = guard(func() error {
		dc, err := connector.Connect(ctx)
		if err != nil {
			return err
		}
		s.sql = dc.(sqlConn)
		return nil
	})
	if err != nil {
		began := s.conn.usesTLS()
		f := s.fail(ctx, rec, err, cause{
			handshake: began && !verified,
			doubted:   began && (!verified || len(cfg.TLS.Certificates) > 0),
		})
		if f.number == 1045 && !began {
			// For a missing TLS MariaDB has no number of its own, nor has
			// MySQL where the account demands it.
			rec.note = "wrong user or password, or the server demands TLS of this account: try --ssl-mode REQUIRED"
		}
		_ = g.Close()
		return nil, f
	}
	rec.tls = s.tls
	if s.tls != "" {
		rec.say("logged in, " + s.tls)
	} else {
		rec.say("logged in")
	}
	return s, nil
}

// fail classifies an error of the driver.
func (s *session) fail(ctx context.Context, rec *record, err error, c cause) *failure {
	c.err, c.remote, c.tlsErr = err, s.remote, s.log.joined()
	c.refused, c.io = s.conn.failure()
	f := classify(ctx, rec, c)
	rec.say(f.message)
	return f
}

// query sends a statement, reads its whole answer and returns the columns'
// names and the rows.
func (s *session) query(ctx context.Context, rec *record, statement string) (answer, error) {
	s.conn.attach(rec, true, false)
	rec.say("send " + oneLine(statement))
	var a answer
	err := guard(func() error {
		rows, err := s.sql.QueryContext(ctx, statement, nil)
		if err != nil {
			return err
		}
		a.columns = rows.Columns()
		for {
			dest := make([]driver.Value, len(a.columns))
			switch err := rows.Next(dest); {
			case errors.Is(err, io.EOF):
				return rows.Close()
			case err != nil:
				_ = rows.Close()
				return err
			}
			a.add(dest)
		}
	})
	return a, err
}

// answer is a statement's result set. Only so many rows are kept; all are read.
type answer struct {
	columns []string
	rows    [][]string
	count   int
}

// maxKept is the number of rows of an answer that are kept. A process list is
// the longest one that is looked into.
const maxKept = 20000

func (a *answer) add(row []driver.Value) {
	a.count++
	if len(a.rows) >= maxKept {
		return
	}
	text := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
		case []byte:
			text[i] = string(v)
		default:
			text[i] = fmt.Sprint(v)
		}
	}
	a.rows = append(a.rows, text)
}

// get returns the value of the first of the named columns that the answer has.
func (a *answer) get(row []string, names ...string) string {
	for _, name := range names {
		for i, c := range a.columns {
			if c == name {
				return row[i]
			}
		}
	}
	return ""
}

// quit ends the session with COM_QUIT.
func (s *session) quit() {
	s.conn.detach()
	_ = s.conn.SetDeadline(time.Now().Add(quitTime))
	_ = guard(s.sql.Close)
	_ = s.conn.Close()
}

// drop ends a session that is of no use any more. No farewell is sent into a
// statement that still runs.
func (s *session) drop() {
	s.conn.detach()
	_ = s.conn.Close()
	// The driver's own goroutine ends when it learns of it.
	_ = guard(s.sql.Close)
}
