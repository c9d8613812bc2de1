//go:build linux

package realtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// authority signs certificates for a test.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes a CA whose files the servers' user can read.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := &authority{dir: dir}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "failwise test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = template, newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
}

// issue writes NAME.pem and NAME-key.pem, valid until the end.
func (a *authority) issue(t *testing.T, name string, end time.Time, dns ...string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: end.Add(-48 * time.Hour), NotAfter: end, DNSNames: dns,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range dns {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".pem", "CERTIFICATE", der)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+"-key.pem", "PRIVATE KEY", encoded)
}

func TestTLSOnRealServers(t *testing.T) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			ca, stranger := newAuthority(t), newAuthority(t)
			tomorrow := time.Now().Add(24 * time.Hour)
			ca.issue(t, "server", tomorrow, "127.0.0.11")
			ca.issue(t, "client", tomorrow)
			stranger.issue(t, "client", tomorrow)
			c := sandbox.ForTest(t, sandbox.Options{
				Flavour: flavour, Nodes: 1, MaxConnections: 20,
				Config: []string{
					"ssl_ca=" + ca.path("ca.pem"), "ssl_cert=" + ca.path("server.pem"), "ssl_key=" + ca.path("server-key.pem"),
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
					{}, {Mode: check.TLSRequired}, {CA: ca.path("ca.pem")},
					{Mode: check.TLSVerifyIdentity, CA: ca.path("ca.pem")},
					{Mode: check.TLSVerifyIdentity, CA: ca.path("ca.pem"), Cert: ca.path("client.pem"), Key: ca.path("client-key.pem")},
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
				expect(t, with(check.TLSOptions{CA: stranger.path("ca.pem")}), rules.TLSError, 0)
				expect(t, with(check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: stranger.path("ca.pem")}), rules.TLSError, 0)
			})
			t.Run("wrong name", func(t *testing.T) {
				o := check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: ca.path("ca.pem"), ServerName: "db1.example"}
				expect(t, with(o), rules.TLSError, 0)
				o.Mode = check.TLSVerifyCA
				expect(t, with(o), rules.OK, 0)
			})
			t.Run("client certificate of a stranger", func(t *testing.T) {
				o := check.TLSOptions{Mode: check.TLSRequired, Cert: stranger.path("client.pem"), Key: stranger.path("client-key.pem")}
				expect(t, with(o), rules.TLSError, 0)
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
				ca.issue(t, "server", end, "127.0.0.11")
				execute(t, b.primary, reload)
				time.Sleep(time.Until(end.Add(1100 * time.Millisecond)))
				expect(t, with(check.TLSOptions{CA: ca.path("ca.pem")}), rules.TLSError, 0)
				expect(t, with(check.TLSOptions{Mode: check.TLSVerifyIdentity, CA: ca.path("ca.pem")}), rules.TLSError, 0)
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
