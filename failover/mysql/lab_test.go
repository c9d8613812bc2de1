package mysql

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
)

// lab is a running cluster with what the cases of one test need.
type lab struct {
	*sandbox.Cluster
}

// onBothFlavours runs the cases one after the other on one cluster a flavour.
// Each case leaves the cluster as it found it.
func onBothFlavours(t *testing.T, o sandbox.Options, cases map[string]func(*testing.T, lab)) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(flavour.String(), func(t *testing.T) {
			o.Flavour = flavour
			l := lab{sandbox.ForTest(t, o)}
			for name, run := range cases {
				t.Run(name, func(t *testing.T) { run(t, l) })
				if t.Failed() {
					return // the cluster may be left in any state
				}
			}
		})
	}
}

func (l lab) isMariaDB() bool { return l.Flavour() == sandbox.MariaDB }

// server is how an account reaches a node.
func (l lab) server(t *testing.T, n *sandbox.Node, a sandbox.Account) check.Server {
	t.Helper()
	address, err := check.ParseAddress(n.Address(), 3306)
	if err != nil {
		t.Fatal(err)
	}
	return check.Server{Name: n.Name(), Address: address, User: a.User, Secret: check.NewSecret(a.Password)}
}

// act is an acting session that ends with the test.
func (l lab) act(t *testing.T, i int) *Session {
	t.Helper()
	return l.open(t, l.server(t, l.Node(i), l.Accounts().Act))
}

func (l lab) open(t *testing.T, server check.Server) *Session {
	t.Helper()
	s, err := Open(within(t, 5*time.Second), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// root runs statements as root on a node.
func (l lab) root(t *testing.T, i int, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := l.Node(i).Root().ExecContext(within(t, 20*time.Second), statement); err != nil {
			t.Fatalf("%s: %s: %v", l.Node(i).Name(), statement, err)
		}
	}
}

// hold runs statements as root on a connection of their own and keeps it.
func (l lab) hold(t *testing.T, i int, statements ...string) (conn *sql.Conn, release func()) {
	t.Helper()
	conn, err := l.Node(i).Root().Conn(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(within(t, 10*time.Second), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	released := false
	release = func() {
		if !released {
			released = true
			_ = conn.Raw(func(any) error { return errors.New("close it") })
			_, _ = conn.ExecContext(context.Background(), "UNLOCK TABLES")
			_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
			_ = conn.Close()
		}
	}
	t.Cleanup(release)
	return conn, release
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), d)
	t.Cleanup(cancel)
	return ctx
}

func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// await polls until done, failing after 20 s.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

func (l lab) channel(t *testing.T, s *Session) Channel {
	t.Helper()
	c, err := s.channel(within(t, 5*time.Second), "test", "")
	ok(t, "read channel", err)
	return c
}

func (l lab) status(t *testing.T, s *Session) Status {
	t.Helper()
	st, err := s.Status(within(t, 5*time.Second))
	ok(t, "read status", err)
	if len(st.Unknown) > 0 {
		t.Fatalf("unknown facts: %v", st.Unknown)
	}
	return st
}

// running waits until both threads of the replica run.
func (l lab) running(t *testing.T, s *Session) {
	t.Helper()
	await(t, "both threads run", func() bool {
		c := l.channel(t, s)
		return c.IO == ThreadYes && c.SQL == ThreadYes
	})
}
