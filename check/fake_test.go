package check_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

// fakeNode is a server that a fake plays.
func fakeNode() check.Server {
	a, err := check.ParseAddress("192.0.2.1:3306", 0)
	if err != nil {
		panic(err)
	}
	return check.Server{Name: "db1", Address: a, User: "monitor", Secret: check.NewSecret("hunter2")}
}

// prober returns a prober that dials the fake and is closed with the test.
func prober(t *testing.T, f *fakeserver.Server, typ check.Type, o check.Options) *check.Prober {
	t.Helper()
	if o.Dial == nil {
		o.Dial = f.Dial
	}
	p, err := check.NewProber(fakeNode(), typ, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// want checks the parts of a result that every test looks at.
func want(t *testing.T, r check.Result, o rules.Outcome, phase rules.Phase, elapsed time.Duration) {
	t.Helper()
	if r.Outcome != o || r.Phase != phase || r.Elapsed != elapsed {
		t.Errorf("got %s in %s after %s, want %s in %s after %s: %s", r.Outcome, r.Phase, r.Elapsed, o, phase, elapsed, r.Message)
		for _, e := range r.Trace {
			t.Logf("%8s %s", e.At, e.Text)
		}
	}
}

func serverError(number uint16, message string) *fakeserver.Error {
	return &fakeserver.Error{Number: number, State: "HY000", Message: message}
}

func TestOutcomeOfABehaviour(t *testing.T) {
	const s = time.Second
	limits := check.Limits{Total: 5 * s}
	tests := []struct {
		name    string
		typ     check.Type
		b       fakeserver.Behaviour
		limits  check.Limits
		outcome rules.Outcome
		phase   rules.Phase
		elapsed time.Duration
	}{
		{name: "healthy", typ: check.Connect, outcome: rules.OK, phase: rules.PhaseResults},
		{name: "healthy select", typ: check.Select, outcome: rules.OK, phase: rules.PhaseResults},
		{name: "healthy insert", typ: check.Insert, outcome: rules.OK, phase: rules.PhaseResults},
		{name: "healthy MariaDB", typ: check.Insert, b: fakeserver.Behaviour{Version: "5.5.5-10.11.19-MariaDB"}, outcome: rules.OK, phase: rules.PhaseResults},
		{name: "slow in every phase but in time", typ: check.Connect, b: fakeserver.Behaviour{GreetingDelay: s, LoginDelay: s, ExecuteDelay: s, ResultsDelay: s}, outcome: rules.OK, phase: rules.PhaseResults, elapsed: 4 * s},
		{name: "no greeting", typ: check.Connect, b: fakeserver.Behaviour{GreetingDelay: fakeserver.Never}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseGreeting, elapsed: 5 * s},
		{name: "no greeting in its limit", typ: check.Connect, b: fakeserver.Behaviour{GreetingDelay: fakeserver.Never}, limits: check.Limits{Total: 5 * s, Greeting: 2 * s}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseGreeting, elapsed: 2 * s},
		{name: "no answer to the login", typ: check.Connect, b: fakeserver.Behaviour{LoginDelay: fakeserver.Never}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseLogin, elapsed: 5 * s},
		{name: "login limit counts from the login", typ: check.Connect, b: fakeserver.Behaviour{GreetingDelay: s, LoginDelay: fakeserver.Never}, limits: check.Limits{Total: 5 * s, Login: s}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseLogin, elapsed: 2 * s},
		{name: "limits do not add up past the budget", typ: check.Connect, b: fakeserver.Behaviour{GreetingDelay: 3 * s, LoginDelay: fakeserver.Never}, limits: check.Limits{Total: 4 * s, Greeting: 4 * s, Login: 4 * s}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseLogin, elapsed: 4 * s},
		{name: "no answer to the statement", typ: check.Connect, b: fakeserver.Behaviour{ExecuteDelay: fakeserver.Never}, outcome: rules.QueryExecTimeout, phase: rules.PhaseExecute, elapsed: 5 * s},
		{name: "execute limit", typ: check.Select, b: fakeserver.Behaviour{ExecuteDelay: fakeserver.Never}, limits: check.Limits{Total: 5 * s, Execute: 300 * time.Millisecond}, outcome: rules.QueryExecTimeout, phase: rules.PhaseExecute, elapsed: 300 * time.Millisecond},
		{name: "rows do not come", typ: check.Connect, b: fakeserver.Behaviour{ResultsDelay: fakeserver.Never}, outcome: rules.QueryResultsTimeout, phase: rules.PhaseResults, elapsed: 5 * s},
		{name: "results limit", typ: check.Connect, b: fakeserver.Behaviour{ExecuteDelay: s, ResultsDelay: fakeserver.Never}, limits: check.Limits{Total: 5 * s, Results: s}, outcome: rules.QueryResultsTimeout, phase: rules.PhaseResults, elapsed: 2 * s},
		{name: "write hangs", typ: check.Insert, b: fakeserver.Behaviour{WriteDelay: fakeserver.Never}, outcome: rules.WriteTimeout, phase: rules.PhaseExecute, elapsed: 4500 * time.Millisecond},
		{name: "role hangs before the write", typ: check.Insert, b: fakeserver.Behaviour{ResultsDelay: fakeserver.Never}, outcome: rules.QueryResultsTimeout, phase: rules.PhaseResults, elapsed: 5 * s},
		{name: "1040 as greeting", typ: check.Connect, b: fakeserver.Behaviour{GreetingError: &fakeserver.Error{Number: 1040, Message: "Too many connections"}}, outcome: rules.TooManyConnections, phase: rules.PhaseGreeting},
		{name: "1129 as greeting", typ: check.Connect, b: fakeserver.Behaviour{GreetingError: &fakeserver.Error{Number: 1129}}, outcome: rules.MySQLError, phase: rules.PhaseGreeting},
		{name: "1045", typ: check.Connect, b: fakeserver.Behaviour{LoginError: serverError(1045, "Access denied")}, outcome: rules.WrongCredentials, phase: rules.PhaseLogin},
		{name: "3159", typ: check.Connect, b: fakeserver.Behaviour{LoginError: serverError(3159, "")}, outcome: rules.TLSError, phase: rules.PhaseLogin},
		{name: "1053 at login", typ: check.Connect, b: fakeserver.Behaviour{LoginError: serverError(1053, "")}, outcome: rules.MySQLError, phase: rules.PhaseLogin},
		{name: "unknown plugin", typ: check.Connect, b: fakeserver.Behaviour{Plugin: "authentication_windows_client", LoginError: serverError(1045, "")}, outcome: rules.WrongCredentials, phase: rules.PhaseLogin},
		{name: "1820 at the statement", typ: check.Connect, b: fakeserver.Behaviour{StatementError: serverError(1820, "")}, outcome: rules.WrongCredentials, phase: rules.PhaseResults},
		{name: "1969", typ: check.Connect, b: fakeserver.Behaviour{StatementError: serverError(1969, "")}, outcome: rules.QueryExecTimeout, phase: rules.PhaseResults},
		{name: "1153", typ: check.Connect, b: fakeserver.Behaviour{StatementError: serverError(1153, "")}, outcome: rules.QueryTooLarge, phase: rules.PhaseResults},
		{name: "1064", typ: check.Connect, b: fakeserver.Behaviour{StatementError: serverError(1064, "")}, outcome: rules.QueryExecutionFailed, phase: rules.PhaseResults},
		{name: "1317 twice", typ: check.Connect, b: fakeserver.Behaviour{StatementError: serverError(1317, "")}, outcome: rules.QueryExecutionFailed, phase: rules.PhaseResults},
		{name: "1290 at the write", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1290, "")}, outcome: rules.ReadOnly, phase: rules.PhaseResults},
		{name: "1290 at a read is no read_only", typ: check.Select, b: fakeserver.Behaviour{StatementError: serverError(1290, "")}, outcome: rules.QueryExecutionFailed, phase: rules.PhaseResults},
		{name: "1015 with 165", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1015, "Can't lock file (errno: 165 - Table is read only)")}, outcome: rules.ReadOnly, phase: rules.PhaseResults},
		{name: "1021", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1021, "Disk full")}, outcome: rules.DiskFull, phase: rules.PhaseResults},
		{name: "1030 with 28", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1030, `Got error 28 "No space left on device" from storage engine InnoDB`)}, outcome: rules.DiskFull, phase: rules.PhaseResults},
		{name: "1026 with 122", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1026, "Error writing file 'x' (errno: 122 - Disk quota exceeded)")}, outcome: rules.DiskFull, phase: rules.PhaseResults},
		{name: "3 with 30", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(3, `Error writing file 'binlog' (Errcode: 30 "Read-only file system")`)}, outcome: rules.StorageError, phase: rules.PhaseResults},
		{name: "1030 with 5 of the OS", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1030, "(OS errno 5 - Input/output error)")}, outcome: rules.StorageError, phase: rules.PhaseResults},
		{name: "1598", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1598, "")}, outcome: rules.StorageError, phase: rules.PhaseResults},
		{name: "1205", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1205, "")}, outcome: rules.WriteTimeout, phase: rules.PhaseResults},
		{name: "1969 at the write", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1969, "")}, outcome: rules.WriteTimeout, phase: rules.PhaseResults},
		{name: "1146 at the write", typ: check.Insert, b: fakeserver.Behaviour{WriteError: serverError(1146, "")}, outcome: rules.QueryExecutionFailed, phase: rules.PhaseResults},
		{name: "read_only without replication", typ: check.Insert, b: fakeserver.Behaviour{ReadOnly: "NO_LOCK_NO_ADMIN", Version: "12.0.1-MariaDB"}, outcome: rules.ReadOnly, phase: rules.PhaseResults},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(tt.b)
				defer f.Close()
				if tt.limits == (check.Limits{}) {
					tt.limits = limits
				}
				p := prober(t, f, tt.typ, check.Options{Limits: tt.limits})
				defer p.Close()
				start := time.Now()
				r := p.Probe(t.Context())
				want(t, r, tt.outcome, tt.phase, tt.elapsed)
				if took := time.Since(start); took != tt.elapsed {
					t.Errorf("Probe returned after %s, its result says %s", took, tt.elapsed)
				}
				if r.Outcome != rules.OK && r.Message == "" {
					t.Error("a failure without a message")
				}
			})
		})
	}
}

func TestOutcomeOfAScript(t *testing.T) {
	const s = time.Second
	login := func(then fakeserver.Script) fakeserver.Script {
		return func(c *fakeserver.Session) error {
			if err := c.Login(); err != nil {
				return err
			}
			return then(c)
		}
	}
	statement := func(then fakeserver.Script) fakeserver.Script {
		return login(func(c *fakeserver.Session) error {
			if _, _, err := c.Command(); err != nil {
				return err
			}
			return then(c)
		})
	}
	closed := func(*fakeserver.Session) error { return nil }
	reset := (*fakeserver.Session).Reset
	tests := []struct {
		name    string
		script  fakeserver.Script
		outcome rules.Outcome
		phase   rules.Phase
		errno   syscall.Errno
		retried bool
		elapsed time.Duration
	}{
		{name: "clean close instead of a greeting", script: closed, outcome: rules.MySQLPrematureEOF, phase: rules.PhaseGreeting, retried: true},
		{name: "reset instead of a greeting", script: reset, outcome: rules.SocketIOError, phase: rules.PhaseGreeting, errno: syscall.ECONNRESET},
		{name: "close in the middle of the greeting", script: func(c *fakeserver.Session) error {
			_, err := c.Conn.Write([]byte{70, 0, 0, 0, 10})
			return err
		}, outcome: rules.MySQLPrematureEOF, phase: rules.PhaseGreeting, retried: true},
		{name: "silence in the middle of the greeting", script: func(c *fakeserver.Session) error {
			if _, err := c.Conn.Write([]byte{70, 0, 0, 0, 10}); err != nil {
				return err
			}
			return c.Wait(fakeserver.Never)
		}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseGreeting, elapsed: 5 * s},
		{name: "clean close after the login", script: func(c *fakeserver.Session) error {
			if err := c.Greet("", ""); err != nil {
				return err
			}
			_, err := c.Receive()
			return err
		}, outcome: rules.MySQLPrematureEOF, phase: rules.PhaseLogin, retried: true},
		{name: "reset after the login", script: func(c *fakeserver.Session) error {
			if err := c.Greet("", ""); err != nil {
				return err
			}
			if _, err := c.Receive(); err != nil {
				return err
			}
			return c.Reset()
		}, outcome: rules.SocketIOError, phase: rules.PhaseLogin, errno: syscall.ECONNRESET},
		{name: "close in the middle of the statement", script: statement(closed), outcome: rules.SocketNoIO, phase: rules.PhaseExecute, retried: true},
		{name: "reset in the middle of the statement", script: statement(reset), outcome: rules.SocketNoIO, phase: rules.PhaseExecute, errno: syscall.ECONNRESET, retried: true},
		{name: "close between head and rows", script: statement(func(c *fakeserver.Session) error { return c.Columns([]string{"1"}) }), outcome: rules.SocketNoIO, phase: rules.PhaseResults, retried: true},
		{name: "the statement is not taken", script: login(func(c *fakeserver.Session) error { return c.Wait(fakeserver.Never) }), outcome: rules.SendQueryTimeout, phase: rules.PhaseSend, elapsed: 5 * s},
		{name: "1317 after the head", script: statement(func(c *fakeserver.Session) error {
			if err := c.Columns([]string{"1"}); err != nil {
				return err
			}
			return c.Fail(serverError(1317, "Query execution was interrupted"))
		}), outcome: rules.QueryExecutionFailed, phase: rules.PhaseResults, retried: true},
		{name: "1969 after the head", script: statement(func(c *fakeserver.Session) error {
			if err := c.Columns([]string{"1"}); err != nil {
				return err
			}
			return c.Fail(serverError(1969, "Query execution was interrupted"))
		}), outcome: rules.QueryExecTimeout, phase: rules.PhaseResults},
		{name: "two rows", script: statement(func(c *fakeserver.Session) error {
			return c.Rows(0, []string{"1"}, []string{"1"}, []string{"1"})
		}), outcome: rules.QueryResultFailed, phase: rules.PhaseResults},
		{name: "another row", script: statement(func(c *fakeserver.Session) error {
			return c.Rows(0, []string{"1"}, []string{"2"})
		}), outcome: rules.QueryResultFailed, phase: rules.PhaseResults},
		{name: "an endless number of columns", script: statement(func(c *fakeserver.Session) error {
			return c.Send([]byte{0xfe, 1, 2, 3, 4, 5, 6, 7, 0x7f})
		}), outcome: rules.QueryResultFailed, phase: rules.PhaseExecute},
		{name: "another protocol", script: func(c *fakeserver.Session) error {
			_, err := c.Conn.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n"))
			return err
		}, outcome: rules.UnexpectedException, phase: rules.PhaseGreeting},
		{name: "an old protocol", script: func(c *fakeserver.Session) error {
			return c.Send([]byte("\x093.23.58\x00"))
		}, outcome: rules.UnexpectedException, phase: rules.PhaseGreeting},
		{name: "a login answer that the driver cannot read", script: func(c *fakeserver.Session) error {
			if err := c.Greet("", ""); err != nil {
				return err
			}
			if _, err := c.Receive(); err != nil {
				return err
			}
			return c.Send([]byte{0, 0xfc})
		}, outcome: rules.UnexpectedException, phase: rules.PhaseLogin},
		{name: "the account's plugin is unknown here", script: func(c *fakeserver.Session) error {
			if err := c.Greet("", ""); err != nil {
				return err
			}
			if _, err := c.Receive(); err != nil {
				return err
			}
			return c.Send([]byte("\xfedialog\x00Password: "))
		}, outcome: rules.WrongCredentials, phase: rules.PhaseLogin},
		{name: "refused inside the exchange of keys", script: func(c *fakeserver.Session) error {
			if err := c.Greet("", "caching_sha2_password"); err != nil {
				return err
			}
			if _, err := c.Receive(); err != nil {
				return err
			}
			if err := c.Send([]byte{1, 4}); err != nil { // full authentication
				return err
			}
			if _, err := c.Receive(); err != nil { // asks for the key
				return err
			}
			return c.Fail(serverError(1045, "Access denied"))
		}, outcome: rules.WrongCredentials, phase: rules.PhaseLogin},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.NewScripted(tt.script)
				defer f.Close()
				p := prober(t, f, check.Connect, check.Options{})
				defer p.Close()
				r := p.Probe(t.Context())
				want(t, r, tt.outcome, tt.phase, tt.elapsed)
				if r.Errno != tt.errno {
					t.Errorf("errno %d, want %d", r.Errno, tt.errno)
				}
				if (r.Retry != nil) != tt.retried {
					t.Errorf("retry %v, want %v", r.Retry, tt.retried)
				}
				connections := 1
				if tt.retried {
					connections = 2
				}
				if f.Connections() != connections {
					t.Errorf("%d connections, want %d", f.Connections(), connections)
				}
			})
		})
	}
}

func TestConnectErrors(t *testing.T) {
	tests := []struct {
		errno   syscall.Errno
		outcome rules.Outcome
	}{
		{syscall.ECONNREFUSED, rules.SocketIOError},
		{syscall.ECONNRESET, rules.SocketIOError},
		{syscall.ETIMEDOUT, rules.SocketConnectTimeout},
		{syscall.EHOSTUNREACH, rules.NoRouteToHost},
		{syscall.EHOSTDOWN, rules.HostIsDown},
		{syscall.ENETUNREACH, rules.NetworkUnreachable},
		{syscall.ENETDOWN, rules.NetworkUnreachable},
		{syscall.EACCES, rules.NetworkUnreachable},
		{syscall.EPERM, rules.NetworkUnreachable},
		{syscall.EINVAL, rules.NetworkUnreachable},
		{syscall.EMFILE, rules.OpenFileLimitError},
		{syscall.ENFILE, rules.OpenFileLimitError},
		{syscall.EADDRNOTAVAIL, rules.OpenFileLimitError},
		{syscall.ENOBUFS, rules.OpenFileLimitError},
		{syscall.EIO, rules.SocketNoIO},
		{syscall.EAFNOSUPPORT, rules.UnexpectedException},
	}
	for _, tt := range tests {
		t.Run(tt.outcome.String()+"/"+tt.errno.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(fakeserver.Behaviour{})
				defer f.Close()
				f.Refuse(tt.errno)
				r := prober(t, f, check.Connect, check.Options{}).Probe(t.Context())
				want(t, r, tt.outcome, rules.PhaseConnect, 0)
				if r.Errno != tt.errno || len(r.Attempts) != 1 || r.Attempts[0].Errno != tt.errno {
					t.Errorf("errno %v, attempts %v", r.Errno, r.Attempts)
				}
			})
		})
	}
}

// addresses is a resolver of one name.
type addresses func(ctx context.Context) ([]netip.Addr, error)

func (a addresses) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) { return a(ctx) }

func TestSeveralAddressesAreTriedInTurnWithinTheConnectLimit(t *testing.T) {
	const s = time.Second
	one, two, three := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("192.0.2.3")
	tests := []struct {
		name     string
		dial     map[string]error // nil connects, errDrop hangs
		outcome  rules.Outcome
		attempts int
		elapsed  time.Duration
	}{
		{name: "the second answers", dial: map[string]error{"192.0.2.1:3306": syscall.ECONNREFUSED, "[2001:db8::2]:3306": nil}, outcome: rules.OK, attempts: 2},
		{name: "one that drops does not starve the next", dial: map[string]error{"192.0.2.1:3306": errDrop, "[2001:db8::2]:3306": nil}, outcome: rules.OK, attempts: 2, elapsed: s},
		{name: "refused tells most", dial: map[string]error{"192.0.2.1:3306": errDrop, "[2001:db8::2]:3306": syscall.ECONNREFUSED, "192.0.2.3:3306": syscall.EHOSTUNREACH}, outcome: rules.SocketIOError, attempts: 3, elapsed: s},
		{name: "a timeout tells more than no route", dial: map[string]error{"192.0.2.1:3306": syscall.EHOSTUNREACH, "[2001:db8::2]:3306": errDrop, "192.0.2.3:3306": syscall.ENETUNREACH}, outcome: rules.SocketConnectTimeout, attempts: 3, elapsed: 1500 * time.Millisecond},
		{name: "no route tells more than the rest", dial: map[string]error{"192.0.2.1:3306": syscall.ENETUNREACH, "[2001:db8::2]:3306": syscall.EHOSTUNREACH, "192.0.2.3:3306": syscall.EHOSTDOWN}, outcome: rules.NoRouteToHost, attempts: 3},
		{name: "all drop", dial: map[string]error{"192.0.2.1:3306": errDrop, "[2001:db8::2]:3306": errDrop, "192.0.2.3:3306": errDrop}, outcome: rules.SocketConnectTimeout, attempts: 3, elapsed: 3 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(fakeserver.Behaviour{})
				defer f.Close()
				server := fakeNode()
				server.Address, _ = check.ParseAddress("db1.example", 0)
				p, err := check.NewProber(server, check.Connect, check.Options{
					Limits: check.Limits{Total: 5 * s, Connect: 3 * s},
					Resolver: addresses(func(context.Context) ([]netip.Addr, error) {
						return []netip.Addr{one, two, one, three}, nil
					}),
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						switch err := tt.dial[address]; {
						case err == nil:
							return f.Dial(ctx, network, address)
						case errors.Is(err, errDrop):
							<-ctx.Done()
							return nil, ctx.Err()
						default:
							return nil, &net.OpError{Op: "dial", Err: err}
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				r := p.Probe(t.Context())
				if r.Outcome != tt.outcome || len(r.Attempts) != tt.attempts || r.Elapsed != tt.elapsed {
					t.Errorf("got %s after %s, attempts %v", r.Outcome, r.Elapsed, r.Attempts)
				}
			})
		})
	}
}

// errDrop stands for a network that swallows everything.
const errDrop = syscall.Errno(0xfff)

func TestResolverRunsInsideTheBudget(t *testing.T) {
	const s = time.Second
	hang := addresses(func(ctx context.Context) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, &net.DNSError{Err: "i/o timeout", IsTimeout: true}
	})
	missing := addresses(func(context.Context) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	})
	slow := addresses(func(context.Context) ([]netip.Addr, error) {
		time.Sleep(2 * s)
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	})
	tests := []struct {
		name     string
		resolver check.Resolver
		b        fakeserver.Behaviour
		limits   check.Limits
		outcome  rules.Outcome
		phase    rules.Phase
		elapsed  time.Duration
	}{
		{name: "missing", resolver: missing, outcome: rules.UnknownHost, phase: rules.PhaseResolve},
		{name: "hangs", resolver: hang, outcome: rules.UnknownHost, phase: rules.PhaseResolve, elapsed: 5 * s},
		{name: "hangs past its limit", resolver: hang, limits: check.Limits{Resolve: s}, outcome: rules.UnknownHost, phase: rules.PhaseResolve, elapsed: s},
		{name: "slow but in time", resolver: slow, outcome: rules.OK, phase: rules.PhaseResults, elapsed: 2 * s},
		{name: "too slow although it answers", resolver: slow, limits: check.Limits{Resolve: s}, outcome: rules.UnknownHost, phase: rules.PhaseResolve, elapsed: 2 * s},
		{name: "leaves the rest to the greeting", resolver: slow, b: fakeserver.Behaviour{GreetingDelay: fakeserver.Never}, outcome: rules.LoginResponseTimeout, phase: rules.PhaseGreeting, elapsed: 5 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(tt.b)
				defer f.Close()
				server := fakeNode()
				server.Address, _ = check.ParseAddress("db1.example", 0)
				p, err := check.NewProber(server, check.Connect, check.Options{Limits: tt.limits, Resolver: tt.resolver, Dial: f.Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				want(t, p.Probe(t.Context()), tt.outcome, tt.phase, tt.elapsed)
			})
		})
	}
}
