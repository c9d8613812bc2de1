package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	driverapi "database/sql/driver"

	driver "github.com/go-sql-driver/mysql"

	"failwise/check"
)

// Session is one bounded management session to one server: one physical
// connection at a time, opened on demand and again after it broke, never
// retrying a statement by itself. It is safe for concurrent use and runs one
// statement at a time; others wait for their turn within their contexts.
type Session struct {
	server check.Server
	admin  bool

	turn chan struct{} // holds one token: who has it may use what follows

	mu      sync.Mutex // guards what follows; never held while waiting
	conn    *connection
	closed  bool
	pending *statement // the statement that the connection is busy with
	version Version    // as of the latest login
}

// connection is one physical connection with what its server said at login.
type connection struct {
	raw     driverapi.Conn
	id      uint64
	version Version
	used    time.Time
	// semiSync is the spelling of the semi-sync variables, once it was read.
	semiSync semiSyncWords
}

// statement is one that was sent and may not have been answered yet.
type statement struct {
	op     string
	sent   time.Time
	reads  bool               // changes nothing
	cancel context.CancelFunc // ends the connection, not the statement
	done   chan struct{}      // closed when answered
	rows   []row
	err    error
}

// NewSession makes a session that connects at its first use. It goes to the
// server's normal port and, where the server refuses for want of a free
// connection (1040, 1203) and an admin port is known, to that one.
func NewSession(server check.Server) *Session {
	s := &Session{server: server, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// Open makes a session and connects it.
func Open(ctx context.Context, server check.Server) (*Session, error) {
	s := NewSession(server)
	if err := s.Connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Server is what the session was made from.
func (s *Session) Server() check.Server { return s.server }

// Label is the node's name, or its address where it has none.
func (s *Session) Label() string { return s.server.Label() }

// Sibling makes another, unconnected session to the same server.
func (s *Session) Sibling() *Session { return NewSession(s.server) }

// Connect opens the connection if there is none that lives.
func (s *Session) Connect(ctx context.Context) error {
	release, err := s.take(ctx, "connect")
	if err != nil {
		return err
	}
	defer release()
	_, err = s.connected(ctx)
	return err
}

// Version is the server's flavour and version as of the last login. It
// connects if need be.
func (s *Session) Version(ctx context.Context) (Version, error) {
	c, err := s.peek(ctx)
	if err != nil {
		return Version{}, err
	}
	return c.version, nil
}

// KnownVersion is the version as of the latest login, however long ago; false if
// there was none. It asks nobody.
func (s *Session) KnownVersion() (Version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.version.Flavour != 0
}

// ConnectionID is the server's id of this session, the id of its process list
// (0 while it is not connected).
func (s *Session) ConnectionID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return 0
	}
	return s.conn.id
}

// Connected tells whether the session has a connection, as far as is known without
// asking.
func (s *Session) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pending; p != nil {
		select {
		case <-p.done:
			return s.conn != nil && (p.err == nil || !broken(p.err))
		default:
		}
	}
	return s.conn != nil
}

// ViaAdminPort tells whether the last login went to the admin port.
func (s *Session) ViaAdminPort() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admin
}

// Close ends the session for good. A pending statement goes on at the server.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	p := s.pending
	s.mu.Unlock()
	if p != nil {
		p.cancel()
		<-p.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	c := s.conn
	s.conn = nil
	return c.raw.Close()
}

// Renew gives up a connection that waits for the answer of a statement that only
// reads, so that the next one gets a new connection: after an outage of the network
// the kernel may take minutes to send again what was lost. A statement that changes
// something is left alone, since it may still take effect.
func (s *Session) Renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pending; p != nil && p.reads {
		p.cancel()
	}
}

// Abandon gives up a connection that waits for an answer, whatever it asked, so that
// the next statement gets a new one: for a server of which nothing is wanted any
// more but that it stops. What was sent may still take effect.
func (s *Session) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pending; p != nil {
		p.cancel()
	}
}

// peek is the connection without its turn: for facts that were read at login.
func (s *Session) peek(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	release, err := s.take(ctx, "connect")
	if err != nil {
		return nil, err
	}
	defer release()
	return s.connected(ctx)
}

// take waits for the turn and for a pending statement, within ctx.
func (s *Session) take(ctx context.Context, op string) (release func(), err error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, s.fail(op, ErrBusy, "")
	}
	release = func() { s.turn <- struct{}{} }
	s.mu.Lock()
	p, closed := s.pending, s.closed
	s.mu.Unlock()
	if closed {
		release()
		return nil, s.fail(op, ErrClosed, "")
	}
	if p == nil {
		return release, nil
	}
	select {
	case <-p.done:
		s.settle(p)
		return release, nil
	case <-ctx.Done():
		release()
		return nil, s.fail(op, fmt.Errorf("%w: %s, sent %s ago", ErrBusy, p.op, time.Since(p.sent).Round(100*time.Millisecond)), "")
	}
}

// settle forgets a pending statement that was answered.
func (s *Session) settle(p *statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == p {
		s.pending = nil
	}
	if p.err != nil && broken(p.err) && s.conn != nil {
		_ = s.conn.raw.Close()
		s.conn = nil
	}
}

// broken tells whether an error ends the connection: anything but the server's
// own answer does, and the few answers after which the server hangs up (1053
// shutdown, 3032 offline mode, 4031 idle for too long).
func broken(err error) bool {
	my, ok := errors.AsType[*driver.MySQLError](err)
	if !ok {
		return true
	}
	switch my.Number {
	case 1053, 3032, 4031:
		return true
	}
	return false
}

// idleCheck is how long a connection may have been idle before it is looked at
// for a close by the server.
const idleCheck = time.Second

// connected gives the living connection, a new one if need be. The caller has the turn.
func (s *Session) connected(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil && time.Since(c.used) > idleCheck {
		if resetter, ok := c.raw.(driverapi.SessionResetter); ok && resetter.ResetSession(ctx) != nil {
			_ = c.raw.Close()
			c = nil
		}
	}
	if c != nil {
		return c, nil
	}
	c, admin, err := s.dial(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
	if err != nil {
		return nil, err
	}
	if s.closed {
		_ = c.raw.Close()
		s.conn = nil
		return nil, s.fail("connect", ErrClosed, "")
	}
	s.admin, s.version = admin, c.version
	return c, nil
}

// loginLimit bounds a login, whatever time the statement has that needs it: a hung
// server accepts the connection and then says nothing, for ever.
const loginLimit = 5 * time.Second

func (s *Session) dial(ctx context.Context) (c *connection, admin bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, loginLimit)
	defer cancel()
	c, err = login(ctx, s.server)
	if n := Number(err); n == 1040 || n == 1203 {
		if server, ok := s.server.Admin(); ok {
			if c, adminErr := login(ctx, server); adminErr == nil {
				return c, true, nil
			}
		}
	}
	if err != nil {
		return nil, false, s.fail("connect", err, s.server.Secret.Reveal())
	}
	return c, false, nil
}

// login opens a connection and makes it independent of the server's defaults:
// an empty sql_mode for quoting, autocommit for the proving write.
func login(ctx context.Context, server check.Server) (*connection, error) {
	config, err := server.DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	c := &connection{raw: raw, used: time.Now()}
	if err := c.greet(ctx); err != nil {
		_ = raw.Close()
		return nil, cause(ctx, err)
	}
	return c, nil
}

func (c *connection) greet(ctx context.Context) error {
	rows, err := c.query(ctx, "SELECT CONNECTION_ID(), @@version, @@version_comment")
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0].values) != 3 {
		return errors.New("unexpected answer to the question for id and version")
	}
	v := rows[0].values
	if c.id, err = strconv.ParseUint(v[0].Or(""), 10, 64); err != nil {
		return fmt.Errorf("unexpected connection id %q", v[0].Or(""))
	}
	if c.version, err = ParseVersion(v[1].Or(""), v[2].Or("")); err != nil {
		return err
	}
	_, err = c.query(ctx, "SET SESSION sql_mode='', SESSION autocommit=1")
	return err
}

// cause prefers the context's reason to the driver's words for it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && Number(err) == 0 {
		return ctx.Err()
	}
	return err
}

// fail wraps an error of this session.
func (s *Session) fail(op string, err error, secret string) *Error {
	return newError(op, s.Label(), err, secret)
}
