//go:build linux

package realtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// bed is one running cluster: a primary and a replica.
type bed struct {
	*sandbox.Cluster
	primary, replica *sandbox.Node
}

// login is the server for a node's account.
func (b bed) login(t *testing.T, n *sandbox.Node, a sandbox.Account) check.Server {
	t.Helper()
	return check.Server{Name: n.Name(), Address: parse(t, n.Address()), User: a.User, Secret: check.NewSecret(a.Password)}
}

// probe makes a prober for the monitoring account, changed by tweaks.
func (b bed) prober(t *testing.T, n *sandbox.Node, typ check.Type, o check.Options, tweaks ...func(*check.Server)) *check.Prober {
	t.Helper()
	s := b.login(t, n, b.Accounts().Monitor)
	for _, tweak := range tweaks {
		tweak(&s)
	}
	o.Watcher = 7
	p, err := check.NewProber(s, typ, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// number checks a result by its server's error number.
func number(t *testing.T, r check.Result, o rules.Outcome, numbers ...uint16) {
	t.Helper()
	expect(t, r, o, 0)
	if !slices.Contains(numbers, r.ServerErrno) {
		t.Errorf("server error %d, want one of %d: %s", r.ServerErrno, numbers, r.Message)
	}
}

// execute runs statements as root, outside the binary log.
func execute(t *testing.T, n *sandbox.Node, statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := n.Root().Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range append([]string{"SET SESSION sql_log_bin=0"}, append(statements, "SET SESSION sql_log_bin=1")...) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// undo runs statements at the end of the test.
func undo(t *testing.T, n *sandbox.Node, statements ...string) {
	t.Cleanup(func() { execute(t, n, statements...) })
}

// hold keeps a session of an account open until the end of the test.
func hold(t *testing.T, n *sandbox.Node, a sandbox.Account) {
	t.Helper()
	connector, err := mysql.NewConnector(n.Config(a))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// fill takes every connection of the primary until empty is called.
func fill(t *testing.T, b bed) (empty func()) {
	t.Helper()
	connector, err := mysql.NewConnector(b.primary.Config(b.Accounts().App))
	if err != nil {
		t.Fatal(err)
	}
	var held []driver.Conn
	empty = func() {
		for _, c := range held {
			_ = c.Close()
		}
		held = nil
	}
	t.Cleanup(empty)
	// Sessions of earlier tests may still be ending.
	for refused := 0; refused < 10; {
		c, err := connector.Connect(t.Context())
		if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == 1040 {
			refused++
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		refused = 0
		held = append(held, c)
	}
	return empty
}

// heal ends a fault and waits until the monitoring account gets in.
func heal(t *testing.T, b bed, a *sandbox.Active) {
	t.Helper()
	if err := a.Heal(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	p := b.prober(t, a.Node, check.Connect, check.Options{})
	deadline := time.Now().Add(30 * time.Second)
	for {
		r := p.Probe(t.Context())
		if r.Outcome == rules.OK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not healed: %s: %s", r.Outcome, r.Message)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestCausesOnRealServers(t *testing.T) {
	causes := []struct {
		name string
		run  func(*testing.T, bed)
	}{
		{"healthy", testHealthy},
		{"account", testAccounts},
		{"limits of connections", testConnectionLimits},
		{"host not allowed", testHostNotAllowed},
		{"plugin that the client lacks", testPlugins},
		{"admin port", testAdminPort},
		{"kill", testKill},
		{"offline mode", testOfflineMode},
		{"idle timeout", testIdleTimeout},
		{"statement limits", testStatementLimits},
		{"slow and large answers", testLargeAnswers},
		{"unix socket", testRealUnixSocket},
		{"read only", testReadOnly},
		{"role change", testRoleChange},
		{"locks", testLocks},
		{"network", testNetworkFaults},
		{"freeze", testFreeze},
		{"shutdown", testShutdown},
		{"disk", testDisk},
	}
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			size := int64(128 << 20)
			if flavour == sandbox.MySQL {
				size = 384 << 20
			}
			c := sandbox.ForTest(t, sandbox.Options{
				Flavour: flavour, Nodes: 2, MaxConnections: 20, AdminPort: true, LoopBytes: size,
			})
			b := bed{Cluster: c, primary: c.Node(0), replica: c.Node(1)}
			for _, cause := range causes {
				t.Run(cause.name, func(t *testing.T) { cause.run(t, b) })
			}
		})
	}
}

func testHealthy(t *testing.T, b bed) {
	for _, typ := range []check.Type{check.Connect, check.Select, check.Insert} {
		p := b.prober(t, b.primary, typ, check.Options{})
		for range 3 {
			r := p.Probe(t.Context())
			expect(t, r, rules.OK, 0)
			if r.Flavour.String() != b.Flavour().String() || !strings.HasPrefix(r.ServerVersion, b.Version()) {
				t.Errorf("flavour %s, version %q, want %s %s", r.Flavour, r.ServerVersion, b.Flavour(), b.Version())
			}
			if r.Ran != typ {
				t.Errorf("ran %s, want %s", r.Ran, typ)
			}
		}
	}
	var written int
	if err := b.primary.Root().QueryRow("SELECT COUNT(*) FROM failwise.heartbeat WHERE id=7 AND ts > UTC_TIMESTAMP() - INTERVAL 60 SECOND").Scan(&written); err != nil || written != 1 {
		t.Errorf("%d fresh heartbeats, %v", written, err)
	}
	p := b.prober(t, b.replica, check.Insert, check.Options{})
	before := caughtUp(t, b)
	r := p.Probe(t.Context())
	expect(t, r, rules.OK, 0)
	if r.Ran != check.Select || r.Role == nil || !r.Role.Replica || !r.Role.ReadOnly || r.Role.Source != b.primary.Address() {
		t.Errorf("ran %s, role %+v: a replica must not be written to", r.Ran, r.Role)
	}
	if after, err := b.replica.Executed(t.Context()); err != nil || after != before {
		t.Errorf("the replica's position went from %s to %s, %v", before, after, err)
	}
	if b.Flavour() == sandbox.MySQL {
		held := b.prober(t, b.primary, check.Select, check.Options{})
		held.Probe(t.Context())
		var named int
		err := b.primary.Root().QueryRow("SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE ATTR_NAME='program_name' AND ATTR_VALUE='failwise'").Scan(&named)
		if err != nil || named == 0 {
			t.Errorf("%d sessions name themselves failwise, %v", named, err)
		}
	}
}

// caughtUp waits until the replica has what the primary has, and returns that.
func caughtUp(t *testing.T, b bed) string {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		want, err := b.primary.Executed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		has, err := b.replica.Executed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if has == want {
			return has
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica has %s, the primary %s", has, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func testAccounts(t *testing.T, b bed) {
	tests := []struct {
		fault   string
		numbers []uint16
	}{
		{"wrong-password", []uint16{1045}},
		{"expired-account", []uint16{1820, 1862}},
		{"locked-account", []uint16{3118, 4151}},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			a := sandbox.Break(t, tt.fault, b.primary)
			number(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.WrongCredentials, tt.numbers...)
			heal(t, b, a)
		})
	}
	t.Run("no such database", func(t *testing.T) {
		r := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.Database = "mysql" }).Probe(t.Context())
		number(t, r, rules.WrongCredentials, 1044)
	})
	t.Run("caching_sha2_password without TLS", func(t *testing.T) {
		if b.Flavour() != sandbox.MySQL {
			t.Skip("MariaDB has no such plugin")
		}
		execute(t, b.primary, "FLUSH PRIVILEGES") // forgets who has logged in
		p := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.TLS.Mode = check.TLSDisabled })
		for range 2 { // cold and warm
			r := p.Probe(t.Context())
			expect(t, r, rules.OK, 0)
			if r.TLS != "" {
				t.Errorf("used %s", r.TLS)
			}
		}
	})
}

func testConnectionLimits(t *testing.T, b bed) {
	t.Run("1040", func(t *testing.T) {
		empty := fill(t, b)
		// Not the monitoring account: here it has SERVICE_CONNECTION_ADMIN for
		// the admin port, with which MySQL gives it the one extra connection.
		app := b.Accounts().App
		p := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.User, s.Secret = app.User, check.NewSecret(app.Password) })
		number(t, p.Probe(t.Context()), rules.TooManyConnections, 1040)
		empty()
	})
	t.Run("1226", func(t *testing.T) {
		limited := sandbox.Account{User: "fw_limited", Password: "x1-Limited"}
		execute(t, b.primary, "CREATE USER 'fw_limited'@'%' IDENTIFIED BY 'x1-Limited' WITH MAX_USER_CONNECTIONS 1")
		undo(t, b.primary, "DROP USER 'fw_limited'@'%'")
		hold(t, b.primary, limited)
		p := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.User, s.Secret = limited.User, check.NewSecret(limited.Password) })
		number(t, p.Probe(t.Context()), rules.TooManyConnections, 1226)
	})
	t.Run("1203", func(t *testing.T) {
		// MariaDB lets the variable be changed only where it was not 0 at the
		// start (error 1290).
		if b.Flavour() == sandbox.MariaDB {
			t.Skip("MariaDB takes max_user_connections at its start only: see TestTLSOnRealServers, whose servers have it")
		}
		execute(t, b.primary, "SET GLOBAL max_user_connections=1")
		undo(t, b.primary, "SET GLOBAL max_user_connections=0")
		hold(t, b.primary, b.Accounts().Monitor)
		number(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.TooManyConnections, 1203)
	})
	t.Run("1129", func(t *testing.T) {
		a := sandbox.Break(t, "blocked-host", b.primary)
		o := check.Options{Dial: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(sandbox.BlockedSource)}}).DialContext}
		number(t, b.prober(t, b.primary, check.Connect, o).Probe(t.Context()), rules.MySQLError, 1129)
		heal(t, b, a)
	})
}

func testHostNotAllowed(t *testing.T, b bed) {
	// Everybody may come from one address only, so that another is a stranger.
	users := []string{"fw_monitor", "fw_act", "repl", "fw_app"}
	var away, back []string
	for _, u := range users {
		away = append(away, fmt.Sprintf("RENAME USER '%s'@'%%' TO '%s'@'127.0.0.250'", u, u))
		back = append(back, fmt.Sprintf("RENAME USER '%s'@'127.0.0.250' TO '%s'@'%%'", u, u))
	}
	// MySQL keeps a list of allowed hosts that only FLUSH PRIVILEGES makes anew.
	execute(t, b.primary, append(away, "FLUSH PRIVILEGES")...)
	undo(t, b.primary, append(back, "FLUSH PRIVILEGES")...)
	o := check.Options{Dial: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 29)}}).DialContext}
	number(t, b.prober(t, b.primary, check.Connect, o).Probe(t.Context()), rules.MySQLError, 1130)
}

func testPlugins(t *testing.T, b bed) {
	if b.Flavour() == sandbox.MariaDB {
		if err := b.primary.Exec(t.Context(), "INSTALL SONAME 'auth_pam'"); err != nil {
			lacking(t, fmt.Sprintf("the server cannot load auth_pam: %v", err))
		}
		undo(t, b.primary, "DROP USER 'fw_pam'@'%'", "UNINSTALL SONAME 'auth_pam'")
		execute(t, b.primary, "CREATE USER 'fw_pam'@'%' IDENTIFIED VIA pam")
		p := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.User = "fw_pam" })
		number(t, p.Probe(t.Context()), rules.WrongCredentials, 0)
		return
	}
	// An account from before an upgrade that dropped its plugin.
	execute(t, b.primary, "CREATE USER 'fw_old'@'%' IDENTIFIED BY 'x1-Old'",
		"UPDATE mysql.user SET plugin='mysql_native_password', authentication_string='*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19' WHERE user='fw_old'", "FLUSH PRIVILEGES")
	undo(t, b.primary, "DROP USER 'fw_old'@'%'")
	p := b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.User = "fw_old" })
	number(t, p.Probe(t.Context()), rules.WrongCredentials, 1524, 1045)
}

func testAdminPort(t *testing.T, b bed) {
	at := func(s *check.Server) { s.Address = parse(t, b.primary.AdminAddress()) }
	empty := fill(t, b)
	expect(t, b.prober(t, b.primary, check.Connect, check.Options{}, at).Probe(t.Context()), rules.OK, 0)
	empty()
	if b.Flavour() == sandbox.MySQL {
		app := b.Accounts().App
		p := b.prober(t, b.primary, check.Connect, check.Options{}, at, func(s *check.Server) { s.User, s.Secret = app.User, check.NewSecret(app.Password) })
		number(t, p.Probe(t.Context()), rules.WrongCredentials, 1227)
	}
}

// sessions are the ids of the monitoring account's sessions.
func sessions(t *testing.T, n *sandbox.Node) []string {
	t.Helper()
	rows, err := n.Root().Query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='fw_monitor'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func killAll(t *testing.T, n *sandbox.Node, how string) {
	t.Helper()
	ids := sessions(t, n)
	if len(ids) == 0 {
		t.Error("no session to kill")
	}
	for _, id := range ids {
		if err := n.Exec(t.Context(), how+" "+id); err != nil {
			t.Logf("kill: %v", err)
		}
	}
}

func testKill(t *testing.T, b bed) {
	t.Run("of an idle held session", func(t *testing.T) {
		p := b.prober(t, b.primary, check.Select, check.Options{})
		expect(t, p.Probe(t.Context()), rules.OK, 0)
		killAll(t, b.primary, "KILL")
		time.Sleep(100 * time.Millisecond)
		r := p.Probe(t.Context())
		expect(t, r, rules.OK, 0)
		if r.Retry == nil {
			t.Error("the session was not lost")
		}
	})
	for _, how := range []string{"KILL", "KILL QUERY"} {
		t.Run(how+" in mid-statement", func(t *testing.T) {
			p := b.prober(t, b.primary, check.Connect, check.Options{Query: "SELECT SLEEP(1.5), 1 FROM (SELECT 1) t"})
			done := make(chan check.Result)
			go func() { done <- p.Probe(t.Context()) }()
			time.Sleep(500 * time.Millisecond)
			killAll(t, b.primary, how)
			r := <-done
			expect(t, r, rules.OK, 0)
			// MySQL answers a killed SLEEP with a row.
			if r.Retry == nil && (how == "KILL" || r.Elapsed >= time.Second) {
				t.Errorf("no retry after %s", r.Elapsed)
			}
		})
	}
}

func testIdleTimeout(t *testing.T, b bed) {
	execute(t, b.primary, "SET GLOBAL wait_timeout=1")
	undo(t, b.primary, "SET GLOBAL wait_timeout=28800")
	p := b.prober(t, b.primary, check.Select, check.Options{})
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	time.Sleep(2500 * time.Millisecond)
	r := p.Probe(t.Context())
	expect(t, r, rules.OK, 0)
	if r.Retry == nil {
		t.Error("the session was not lost")
	}
}

func testRealUnixSocket(t *testing.T, b bed) {
	at := func(s *check.Server) { s.Address = parse(t, "unix:"+b.replica.Socket()) }
	p := b.prober(t, b.replica, check.Connect, check.Options{}, at)
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	a := sandbox.Break(t, "shutdown", b.replica)
	expect(t, p.Probe(t.Context()), rules.SocketIOError, syscall.ENOENT)
	expect(t, b.prober(t, b.replica, check.Connect, check.Options{}, at).Probe(t.Context()), rules.UnknownHost, syscall.ENOENT)
	heal(t, b, a)
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	a = sandbox.Break(t, "kill", b.replica)
	expect(t, p.Probe(t.Context()), rules.SocketIOError, syscall.ECONNREFUSED)
	heal(t, b, a)
}
