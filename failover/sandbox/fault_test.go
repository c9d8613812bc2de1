package sandbox_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/failover/sandbox"
)

const (
	short  = 400 * time.Millisecond // how long a hang is looked at
	settle = 20 * time.Second       // how long an effect may take to show
)

// bed is a node under test, with sessions that were open before the fault.
type bed struct {
	cluster *sandbox.Cluster
	node    *sandbox.Node
	monitor *sql.Conn
	app     *sql.Conn
}

// login tries a new session of the monitoring account.
func (b bed) login(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) error {
	t.Helper()
	config := b.node.Config(b.cluster.Accounts().Monitor)
	config.DialFunc = dial
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	var one int
	return connect(t, config).QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// number asserts the server's error number.
func number(t *testing.T, err error, want ...uint16) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || !slices.Contains(want, e.Number) {
		t.Errorf("got %v, want server error %d", err, want)
	}
}

// eventually asserts that something holds before long.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(settle); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", settle, what)
		}
	}
}

// hangs asserts that a statement gives no answer for a while, and leaves it.
func hangs(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, err := conn.ExecContext(ctx, statement); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: got %v, want no answer", statement, err)
	}
}

// lost asserts that a session has ended.
func lost(t *testing.T, conn *sql.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "DO 1"); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want an ended session", err)
	}
}

func works(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

const (
	beat    = "INSERT INTO failwise.heartbeat (id,ts) VALUES (1,NOW(3)) ON DUPLICATE KEY UPDATE ts=NOW(3)"
	another = "INSERT INTO app.ledger (id,node) SELECT COALESCE(MAX(id),0)+1, REPEAT('x',32) FROM app.ledger"
)

func refused(t *testing.T, b bed) {
	t.Helper()
	if err := b.login(t, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("login: got %v, want connection refused", err)
	}
}

// unreachable asserts that not even TCP connects.
func unreachable(t *testing.T, b bed) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", b.node.Address(), short)
	if err == nil {
		conn.Close()
	}
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("connect: got %v, want a timeout", err)
	}
}

// greets tells whether the server sends its greeting.
func greets(b bed) bool {
	conn, err := net.DialTimeout("tcp", b.node.Address(), short)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(short)); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

func status(t *testing.T, n *sandbox.Node) sandbox.Replication {
	t.Helper()
	s, err := n.Replication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The node of each fault, and what shows while it lasts.
var effects = map[string]struct {
	node  int
	shows func(t *testing.T, b bed)
}{
	"kill":     {0, refused},
	"shutdown": {0, refused},
	"restart": {0, func(t *testing.T, b bed) {
		lost(t, b.monitor)
		if err := b.login(t, nil); err != nil {
			t.Error(err)
		}
	}},
	"freeze": {0, func(t *testing.T, b bed) {
		conn, err := net.DialTimeout("tcp", b.node.Address(), short)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if greets(b) {
			t.Error("a frozen server greets")
		}
	}},
	"flapping": {0, func(t *testing.T, b bed) {
		eventually(t, "no greeting", func() bool { return !greets(b) })
		eventually(t, "a greeting again", func() bool { return greets(b) })
		eventually(t, "no greeting again", func() bool { return !greets(b) })
	}},
	"refuse": {0, func(t *testing.T, b bed) {
		refused(t, b)
		lost(t, b.monitor)
		eventually(t, "the replica has lost it", func() bool { return status(t, b.cluster.Node(1)).IO != "Yes" })
	}},
	"refuse-new": {0, func(t *testing.T, b bed) {
		refused(t, b)
		works(t, b.monitor, beat)
	}},
	"drop":     {0, unreachable},
	"drop-in":  {0, unreachable},
	"drop-out": {0, unreachable},
	"drop-watcher": {0, func(t *testing.T, b bed) {
		unreachable(t, b)
		if err := b.node.Exec(t.Context(), beat); err != nil { // over the socket
			t.Fatal(err)
		}
		if err := b.cluster.AwaitSync(t.Context(), b.node); err != nil {
			t.Errorf("the replicas must not notice: %v", err)
		}
	}},
	"full": {0, func(t *testing.T, b bed) { number(t, b.login(t, nil), 1040) }},
	"locked": {0, func(t *testing.T, b bed) {
		works(t, b.monitor, "DO 1")
		hangs(t, b.monitor, beat)
	}},
	"locked-heartbeat": {0, func(t *testing.T, b bed) {
		works(t, b.app, another)
		hangs(t, b.monitor, beat)
	}},
	"wrong-password":  {0, func(t *testing.T, b bed) { number(t, b.login(t, nil), 1045) }},
	"expired-account": {0, func(t *testing.T, b bed) { number(t, b.login(t, nil), 1820, 1862) }},
	"locked-account":  {0, func(t *testing.T, b bed) { number(t, b.login(t, nil), 4151, 3118) }},
	"blocked-host": {0, func(t *testing.T, b bed) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(sandbox.BlockedSource)}}
		number(t, b.login(t, dialer.DialContext), 1129)
		if err := b.login(t, nil); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
	}},
	"tls-expired": {0, func(t *testing.T, b bed) {
		pem, err := os.ReadFile(b.cluster.Authority().CA())
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		config := b.node.Config(b.cluster.Accounts().Monitor)
		config.TLS = &tls.Config{RootCAs: roots, ServerName: b.node.Domain(), MinVersion: tls.VersionTLS12}
		var one int
		err = connect(t, config).QueryRowContext(t.Context(), "SELECT 1").Scan(&one)
		var invalid x509.CertificateInvalidError
		if !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
			t.Errorf("got %v, want an expired certificate", err)
		}
		if err := b.login(t, nil); err != nil {
			t.Errorf("without a look at the certificate: %v", err)
		}
	}},
	"name-lost": {0, func(t *testing.T, b bed) {
		var unknown *net.DNSError
		if got, err := b.cluster.Resolver().LookupHost(t.Context(), b.node.Domain()); !errors.As(err, &unknown) || !unknown.IsNotFound {
			t.Errorf("got %v, %v, want no such name", got, err)
		}
		other := b.cluster.Node(1)
		if got, err := b.cluster.Resolver().LookupHost(t.Context(), other.Domain()); err != nil || !slices.Equal(got, []string{other.Host()}) {
			t.Errorf("another node: got %v, %v", got, err)
		}
	}},
	"io-stopped": {1, func(t *testing.T, b bed) {
		if s := status(t, b.node); s.IO != "No" || s.SQL != "Yes" {
			t.Errorf("threads: %+v", s)
		}
	}},
	"sql-error": {1, func(t *testing.T, b bed) {
		if s := status(t, b.node); s.SQLErrno != 1062 || s.IO != "Yes" {
			t.Errorf("threads: %+v", s)
		}
	}},
	"behind": {1, func(t *testing.T, b bed) {
		count := func(n *sandbox.Node) (rows int) {
			if err := n.Root().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM app.ledger").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		before := count(b.node)
		if err := b.cluster.Node(0).Exec(t.Context(), another); err != nil {
			t.Fatal(err)
		}
		time.Sleep(short)
		if after := count(b.node); after != before {
			t.Errorf("%d rows, want %d: nothing is applied", after, before)
		}
		if s := status(t, b.node); s.IO != "Yes" || s.SQL != "Yes" {
			t.Errorf("threads: %+v", s)
		}
	}},
	"delayed": {1, func(t *testing.T, b bed) {
		if s := status(t, b.node); s.DelaySecs != 3600 || s.SQL != "Yes" {
			t.Errorf("threads: %+v", s)
		}
	}},
	"errant": {1, func(t *testing.T, b bed) {
		var rows int
		query := "SELECT COUNT(*) FROM app.ledger WHERE node='errant'"
		if err := b.node.Root().QueryRowContext(t.Context(), query).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows of its own, want 1 (error: %v)", rows, err)
		}
		if on, err := writable(t.Context(), b.node); err != nil || on {
			t.Errorf("the replica was left writable (error: %v)", err)
		}
	}},
	"disk-stall": {0, func(t *testing.T, b bed) {
		works(t, b.monitor, "DO 1")
		hangs(t, b.monitor, beat)
	}},
	"disk-slow": {0, func(t *testing.T, b bed) {
		works(t, b.monitor, "DO 1")
		hangs(t, b.monitor, beat)
	}},
	"disk-full": {0, func(t *testing.T, b bed) {
		for range 1000 { // until the binary log's last block is full
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := b.app.ExecContext(ctx, another)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				return
			}
			if err != nil {
				t.Fatalf("got %v, want no answer", err)
			}
		}
		t.Error("a full disk stops no write")
	}},
	"disk-read-only": {0, func(t *testing.T, b bed) {
		eventually(t, "the server ends at a write", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), short)
			defer cancel()
			_, _ = b.app.ExecContext(ctx, another) // whatever it says, the server is to go
			return b.node.Pid() == 0
		})
	}},
}

func writable(ctx context.Context, n *sandbox.Node) (on bool, err error) {
	err = n.Root().QueryRowContext(ctx, "SELECT NOT @@global.read_only").Scan(&on)
	return on, err
}

func TestEveryFaultHasAnEffectThatIsTested(t *testing.T) {
	for _, f := range sandbox.Faults() {
		if _, ok := effects[f.Name]; !ok {
			t.Errorf("fault %s: what shows is not tested", f.Name)
		}
		if found, err := sandbox.LookupFault(f.Name); err != nil || found.Doc == "" {
			t.Errorf("fault %s: %+v, %v", f.Name, found, err)
		}
	}
	if _, err := sandbox.LookupFault("meteorite"); err == nil {
		t.Error("an unknown fault was found")
	}
}

// TestFaults starts and heals every fault on one cluster, which must be as good
// as new after each.
func TestFaults(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f sandbox.Flavour) {
		o := sandbox.Options{Flavour: f, NetTimeout: 4 * time.Second, TLS: true, Names: true}
		if os.Getuid() == 0 {
			o.LoopBytes = 512 << 20
		}
		c := sandbox.ForTest(t, o)
		for _, fault := range sandbox.Faults() {
			t.Run(fault.Name, func(t *testing.T) {
				effect := effects[fault.Name]
				b := bed{cluster: c, node: c.Node(effect.node)}
				b.monitor = session(t, b.node.Config(c.Accounts().Monitor))
				b.app = session(t, b.node.Config(c.Accounts().App))

				active := sandbox.Break(t, fault.Name, b.node)
				effect.shows(t, b)
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
				defer cancel()
				if err := active.Heal(ctx); err != nil {
					t.Fatal(err)
				}
				if fault.Name == "disk-full" {
					// By itself the server looks again for space once a minute only.
					if err := errors.Join(b.node.Kill(ctx), b.node.Start(ctx)); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, "a login after healing", func() bool { return b.login(t, nil) == nil })
				if err := c.Node(0).Exec(ctx, beat); err != nil {
					t.Fatal(err)
				}
				// An abandoned statement may commit late, so a position stands only in the end.
				eventually(t, "all nodes at one position", func() bool {
					positions := map[string]bool{}
					for _, n := range c.Nodes() {
						position, err := n.Executed(ctx)
						if err != nil {
							t.Fatal(err)
						}
						positions[position] = true
					}
					return len(positions) == 1
				})
			})
		}
	})
}

// session opens a session that ends with the test.
func session(t *testing.T, config *mysql.Config) *sql.Conn {
	t.Helper()
	conn, err := connect(t, config).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
