package fakeserver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Behaviour is how a server answers. The zero value is a healthy MySQL primary.
type Behaviour struct {
	// Version is the greeting's; empty is "8.4.3".
	Version string
	// The delays before the greeting, the answer to the login, the first packet
	// of an answer and the rows of one with rows. [Never] answers not at all.
	GreetingDelay, LoginDelay, ExecuteDelay, ResultsDelay time.Duration
	// WriteDelay delays the answer to the heartbeat's upsert only.
	WriteDelay time.Duration
	// The errors in place of the greeting, of the answer to the login, to a
	// statement and to the upsert.
	GreetingError, LoginError, StatementError, WriteError *Error
	// ReadOnly is the value of @@global.read_only; empty is "0".
	ReadOnly string
	// Source is the replication source, host:port; empty is none.
	Source string
	// Plugin is the authentication plugin; empty is mysql_native_password.
	Plugin string
	// State is what SHOW PROCESSLIST says of every session.
	State string
}

// Never is a delay that does not end before the connection does.
const Never = time.Duration(1<<63 - 1)

// Error is a server's error.
type Error struct {
	Number  uint16
	State   string // SQLSTATE, five letters; empty sends none
	Message string
}

// Script plays one connection; its error ends the connection like its return.
type Script func(*Session) error

// Server is a fake server.
type Server struct {
	mu        sync.Mutex
	behaviour Behaviour
	script    Script
	open      map[*Session]struct{}
	closed    bool
	refuse    error

	wg          sync.WaitGroup
	lastID      atomic.Uint32
	connections atomic.Int64
	statements  atomic.Int64
	writes      atomic.Int64
	quits       atomic.Int64
	done        chan struct{}
}

// New returns a server that behaves as b says.
func New(b Behaviour) *Server {
	return &Server{behaviour: b, open: map[*Session]struct{}{}, done: make(chan struct{})}
}

// NewScripted returns a server that plays a script on each connection.
func NewScripted(s Script) *Server {
	f := New(Behaviour{})
	f.script = s
	return f
}

// Set changes the behaviour, for what comes next on open connections too.
func (s *Server) Set(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
}

// Play changes the script for new connections; nil returns to the behaviour.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Refuse makes [Server.Dial] fail with err, such as syscall.ECONNREFUSED; nil
// lets it connect again.
func (s *Server) Refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// Connections is the number of connections that were opened so far.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Statements is the number of statements that came so far.
func (s *Server) Statements() int { return int(s.statements.Load()) }

// Writes is the number of upserts that came so far.
func (s *Server) Writes() int { return int(s.writes.Load()) }

// Quits is the number of sessions that ended with COM_QUIT.
func (s *Server) Quits() int { return int(s.quits.Load()) }

// Dial opens a connection through a pipe. It has the shape of a dialer.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", refuse)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	p := &pipe{Conn: client}
	s.start(&Session{Conn: server, server: s, reset: p.reset.Store})
	return p, nil
}

// Serve answers on a listener until it is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		s.start(&Session{Conn: c, server: s, reset: func(bool) {
			if t, ok := c.(*net.TCPConn); ok {
				_ = t.SetLinger(0)
			}
		}})
	}
}

// Disconnect ends all open connections with a reset, as a killed server does.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.open {
		session.reset(true)
		_ = session.Conn.Close()
	}
}

// Close ends all connections and waits for their goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	for session := range s.open {
		_ = session.Conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) start(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = session.Conn.Close()
		return
	}
	s.connections.Add(1)
	session.ID = s.lastID.Add(1)
	s.open[session] = struct{}{}
	play := s.script
	if play == nil {
		play = (*Session).behave
	}
	s.wg.Go(func() {
		_ = play(session)
		_ = session.Conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, session)
	})
}

func (s *Server) current() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behaviour
}

// pipe is the client's end, which can tell a reset from a clean close.
type pipe struct {
	net.Conn
	reset atomic.Bool
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if errors.Is(err, io.EOF) && p.reset.Load() {
		err = &net.OpError{Op: "read", Net: "pipe", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}
