//go:build linux

package realtest

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// newAuthority makes a CA whose files the servers' user can read.
func newAuthority(t *testing.T) *sandbox.Authority {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := sandbox.NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *sandbox.Authority, name string, end time.Time, hosts ...string) {
	t.Helper()
	if err := a.Issue(name, end, hosts...); err != nil {
		t.Fatal(err)
	}
}

func TestTLSOnRealServers(t *testing.T) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			ca, stranger := newAuthority(t), newAuthority(t)
			tomorrow := time.Now().Add(24 * time.Hour)
			issue(t, ca, "server", tomorrow, "127.0.0.11")
			issue(t, ca, "client", tomorrow)
			issue(t, stranger, "client", tomorrow)
			c := sandbox.ForTest(t, sandbox.Options{
				Flavour: flavour, Nodes: 1, MaxConnections: 20,
				Config: []string{
					"ssl_ca=" + ca.CA(), "ssl_cert=" + ca.Cert("server"), "ssl_key=" + ca.Key("server"),
					"max_user_connections=1000", // MariaDB: what is 0 at the start cannot be changed
				},
			})
			b := bed{Cluster: c, primary: c.Node(0)}
			with := func(o check.TLSOptions) check.Result {
				return b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) { s.TLS = o }).Probe(t.Context())
			}
			reload := "FLUSH SSL"
			if flavour == sandbox.MySQL {
				reload = "ALTER INSTANCE RELOAD TLS"
			}

			t.Run("good", func(t *testing.T) {
				for _, o := range []check.TLSOptions{
					{}, {Mode: check.TLSRequired}, {CA: ca.CA()},
					{Mode: check.TLSVerifyIdentity, CA: ca.CA()},
					{Mode: check.TLSVerifyIdentity, CA: ca.CA(), Cert: ca.Cert("client"), Key: ca.Key("client")},
				} {
					r := with(o)
					expect(t, r, rules.OK, 0)
					if r.TLS == "" {
						t.Errorf("%+v: no TLS", o)
					}
				}
				r := with(check.TLSOptions{Mode: check.TLSDisabled})
				expect(t, r, rules.OK, 0)
				if r.TLS != "" {
					t.Errorf("DISABLED used %s", r.TLS)
				}
			})
			t.Run("unknown authority", func(t *testing.T) {
				expect(t, with(check.TLSOptions{CA: stranger.CA()}), rules.TLSError, 0)
				expect(t, with(check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: stranger.CA()}), rules.TLSError, 0)
			})
			t.Run("wrong name", func(t *testing.T) {
				o := check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: ca.CA(), ServerName: "db1.example"}
				expect(t, with(o), rules.TLSError, 0)
				o.Mode = check.TLSVerifyCA
				expect(t, with(o), rules.OK, 0)
			})
			t.Run("client certificate of a stranger", func(t *testing.T) {
				o := check.TLSOptions{Mode: check.TLSRequired, Cert: stranger.Cert("client"), Key: stranger.Key("client")}
				// The server closes the connection at once: its alert comes, or a reset or a
				// broken pipe overtakes it.
				r := with(o)
				if !slices.Contains([]syscall.Errno{0, syscall.EPIPE, syscall.ECONNRESET}, r.Errno) {
					t.Errorf("errno %d: %s", r.Errno, r.Message)
				}
				expect(t, r, rules.TLSError, r.Errno)
			})
			t.Run("demanded by the server", func(t *testing.T) {
				execute(t, b.primary, "SET GLOBAL require_secure_transport=ON")
				r := with(check.TLSOptions{Mode: check.TLSDisabled})
				execute(t, b.primary, "SET GLOBAL require_secure_transport=OFF")
				if flavour == sandbox.MySQL {
					number(t, r, rules.TLSError, 3159)
				} else {
					number(t, r, rules.WrongCredentials, 1045)
					if r.Note == "" {
						t.Error("no hint that the server may demand TLS")
					}
				}
			})
			t.Run("demanded by the account", func(t *testing.T) {
				execute(t, b.primary, "CREATE USER 'fw_tls'@'%' IDENTIFIED BY 'x1-Tls' REQUIRE SSL")
				undo(t, b.primary, "DROP USER 'fw_tls'@'%'")
				as := func(mode check.TLSMode) check.Result {
					return b.prober(t, b.primary, check.Connect, check.Options{}, func(s *check.Server) {
						s.User, s.Secret, s.TLS.Mode = "fw_tls", check.NewSecret("x1-Tls"), mode
					}).Probe(t.Context())
				}
				number(t, as(check.TLSDisabled), rules.WrongCredentials, 1045)
				expect(t, as(check.TLSRequired), rules.OK, 0)
			})
			t.Run("1203", func(t *testing.T) {
				execute(t, b.primary, "SET GLOBAL max_user_connections=1")
				undo(t, b.primary, "SET GLOBAL max_user_connections=1000")
				hold(t, b.primary, b.Accounts().Monitor)
				number(t, with(check.TLSOptions{}), rules.TooManyConnections, 1203)
			})
			t.Run("expired", func(t *testing.T) {
				// MySQL does not load one that has expired already (error 3888).
				end := time.Now().Add(3 * time.Second)
				issue(t, ca, "server", end, "127.0.0.11")
				execute(t, b.primary, reload)
				time.Sleep(time.Until(end.Add(1100 * time.Millisecond)))
				expect(t, with(check.TLSOptions{CA: ca.CA()}), rules.TLSError, 0)
				expect(t, with(check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: ca.CA()}), rules.TLSError, 0)
				expect(t, with(check.TLSOptions{Mode: check.TLSRequired}), rules.OK, 0)
			})
		})
	}
}

func TestTLSThatTheServerDoesNotOffer(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	s := check.Server{Address: parse(t, l.Addr().String()), User: "monitor"}
	for mode, outcome := range map[check.TLSMode]rules.Outcome{
		check.TLSRequired: rules.TLSError, check.TLSVerifyCA: rules.TLSError, check.TLSVerifyIdentity: rules.TLSError,
		check.TLSPreferred: rules.OK, check.TLSAuto: rules.OK, check.TLSDisabled: rules.OK,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			s.TLS.Mode = mode
			p, err := check.NewProber(s, check.Connect, check.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			expect(t, p.Probe(t.Context()), outcome, 0)
		})
	}
}
