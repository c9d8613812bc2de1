//go:build linux

package realtest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

// parse reads an address that the test wrote itself.
func parse(t *testing.T, s string) check.Address {
	t.Helper()
	a, err := check.ParseAddress(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// prober returns a prober without TLS that is closed with the test.
func prober(t *testing.T, address string, typ check.Type, o check.Options) *check.Prober {
	t.Helper()
	s := check.Server{Address: parse(t, address), User: "monitor", TLS: check.TLSOptions{Mode: check.TLSDisabled}}
	p, err := check.NewProber(s, typ, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// expect checks a result's outcome and errno and shows its trace otherwise.
func expect(t *testing.T, r check.Result, o rules.Outcome, errno syscall.Errno) {
	t.Helper()
	if r.Outcome == o && r.Errno == errno {
		return
	}
	t.Errorf("got %s (errno %d, server error %d) in %s after %s, want %s (errno %d): %s",
		r.Outcome, r.Errno, r.ServerErrno, r.Phase, r.Elapsed, o, errno, r.Message)
	for _, e := range r.Trace {
		t.Logf("%12s %s", e.At, e.Text)
	}
}

// lateness is how much more than its budget a probe may take.
const lateness = 100 * time.Millisecond

// inTime makes a probe whose budget runs out. A machine that does something else may
// delay one try, not each of three.
func inTime(t *testing.T, budget time.Duration, probe func() check.Result) check.Result {
	t.Helper()
	var r check.Result
	var all []time.Duration
	for range 3 {
		began := time.Now()
		r = probe()
		took := time.Since(began)
		if took <= budget+lateness {
			return r
		}
		all = append(all, took)
	}
	t.Errorf("took %s of a budget of %s: %s", all, budget, r.Message)
	return r
}

// serve answers on a listener with a fake server.
func serve(t *testing.T, network, address string) (net.Listener, *fakeserver.Server) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no listener on %s here: %v", address, err)
	}
	f := fakeserver.New(fakeserver.Behaviour{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		f.Close()
	})
	return l, f
}

func TestClosedPortIsRefused(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	address := l.Addr().String()
	_ = l.Close()
	r := prober(t, address, check.Connect, check.Options{}).Probe(t.Context())
	expect(t, r, rules.SocketIOError, syscall.ECONNREFUSED)
}

func TestResetInsteadOfAGreeting(t *testing.T) {
	l, f := serve(t, "tcp", "127.0.0.1:0")
	f.Play((*fakeserver.Session).Reset)
	r := prober(t, l.Addr().String(), check.Connect, check.Options{}).Probe(t.Context())
	expect(t, r, rules.SocketIOError, syscall.ECONNRESET)
}

func TestAcceptThenClose(t *testing.T) {
	l, f := serve(t, "tcp", "127.0.0.1:0")
	f.Play(func(*fakeserver.Session) error { return nil })
	r := prober(t, l.Addr().String(), check.Connect, check.Options{}).Probe(t.Context())
	expect(t, r, rules.MySQLPrematureEOF, 0)
	if f.Connections() != 2 {
		t.Errorf("%d connections, want the one retry", f.Connections())
	}
}

func TestAcceptThenSilence(t *testing.T) {
	l, f := serve(t, "tcp", "127.0.0.1:0")
	f.Set(fakeserver.Behaviour{GreetingDelay: fakeserver.Never})
	p := prober(t, l.Addr().String(), check.Connect, check.Options{Limits: check.Limits{Total: 200 * time.Millisecond}})
	for range 3 {
		expect(t, p.Probe(t.Context()), rules.LoginResponseTimeout, 0)
	}
	if f.Connections() != 1 {
		t.Errorf("%d connections, want the one that is pending", f.Connections())
	}
}

func TestIPv6Literal(t *testing.T) {
	l, _ := serve(t, "tcp6", "[::1]:0")
	r := prober(t, l.Addr().String(), check.Connect, check.Options{}).Probe(t.Context())
	expect(t, r, rules.OK, 0)
	if r.Remote != l.Addr().String() {
		t.Errorf("used %s, want %s", r.Remote, l.Addr())
	}
}

func TestLargeStatementThatTheServerDoesNotTake(t *testing.T) {
	l, f := serve(t, "tcp", "127.0.0.1:0")
	f.Play(func(c *fakeserver.Session) error {
		if err := c.Login(); err != nil {
			return err
		}
		if _, _, err := c.Command(); err != nil {
			return err
		}
		if err := c.Rows(0, []string{"@@max_allowed_packet"}, []string{"1073741824"}); err != nil {
			return err
		}
		return c.Wait(fakeserver.Never)
	})
	query := "SELECT '" + string(make([]byte, 32<<20)) + "'"
	p := prober(t, l.Addr().String(), check.Connect, check.Options{Query: query, Limits: check.Limits{Total: 3 * time.Second}})
	expect(t, p.Probe(t.Context()), rules.SendQueryTimeout, 0)
}

func TestStatementLargerThanTheClientsLimit(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	query := "SELECT '" + string(make([]byte, 65<<20)) + "'"
	r := prober(t, l.Addr().String(), check.Connect, check.Options{Query: query}).Probe(t.Context())
	expect(t, r, rules.QueryTooLarge, 0)
}

func TestFrozenProcessFillsTheBacklog(t *testing.T) {
	// A listener that accepts nothing, with room for one connection.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	limits := check.Options{Limits: check.Limits{Total: 300 * time.Millisecond}}
	expect(t, prober(t, address, check.Connect, limits).Probe(t.Context()), rules.LoginResponseTimeout, 0)
	var last check.Result
	for range 5 { // each keeps its own pending connection
		last = prober(t, address, check.Connect, limits).Probe(t.Context())
	}
	expect(t, last, rules.SocketConnectTimeout, 0)
}

func TestUnixSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	p := prober(t, "unix:"+path, check.Connect, check.Options{})
	expect(t, p.Probe(t.Context()), rules.UnknownHost, syscall.ENOENT)

	l, f := serve(t, "unix", path)
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	f.Play(func(*fakeserver.Session) error { return nil })
	expect(t, p.Probe(t.Context()), rules.MySQLPrematureEOF, 0)
	_ = l.Close() // removes the path
	expect(t, p.Probe(t.Context()), rules.SocketIOError, syscall.ENOENT)
}

func TestUnixSocketWithoutAListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	expect(t, prober(t, "unix:"+path, check.Connect, check.Options{}).Probe(t.Context()), rules.SocketIOError, syscall.ECONNREFUSED)
}

func TestUnixSocketWithAFullBacklog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	limits := check.Options{Limits: check.Limits{Total: 100 * time.Millisecond}}
	var last check.Result
	for range 3 {
		last = prober(t, "unix:"+path, check.Connect, limits).Probe(t.Context())
	}
	expect(t, last, rules.SocketConnectTimeout, syscall.EAGAIN)
}

func TestUnixSocketWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		// Root passes every permission; the probe dials as another user.
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		p := prober(t, "unix:"+path, check.Connect, check.Options{Dial: asNobody})
		expect(t, p.Probe(t.Context()), rules.UnexpectedException, syscall.EACCES)
		return
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, prober(t, "unix:"+path, check.Connect, check.Options{}).Probe(t.Context()), rules.UnexpectedException, syscall.EACCES)
}

// TestOwnFileLimit is about EMFILE. ENFILE, the limit of the whole system, and
// ENOBUFS cannot be had without harm to everything else that runs here; their
// numbers are tested with the fake server.
func TestOwnFileLimit(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	p := prober(t, l.Addr().String(), check.Connect, check.Options{})
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	byName := prober(t, "db1.failwise.test:3306", check.Connect, check.Options{})
	restore := noFreeFile(t)
	r := p.Probe(t.Context())
	n := byName.Probe(t.Context())
	restore()
	expect(t, r, rules.OpenFileLimitError, syscall.EMFILE)
	expect(t, n, rules.OpenFileLimitError, syscall.EMFILE)
	expect(t, p.Probe(t.Context()), rules.OK, 0)
}

// noFreeFile lowers the limit of open files to what is open until restore.
func noFreeFile(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}
}

// dialIn runs a dial on a thread of its own, which ends with it.
func dialIn(prepare func() error) check.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		type result struct {
			c   net.Conn
			err error
		}
		done := make(chan result)
		go func() {
			lockThread() // never unlocked: the thread ends with the goroutine
			if err := prepare(); err != nil {
				done <- result{err: err}
				return
			}
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			done <- result{c, err}
		}()
		r := <-done
		return r.c, r.err
	}
}
