package check_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

func TestDriverConfigLeavesTimeToTheCaller(t *testing.T) {
	s := fakeNode()
	s.AdminPort, s.Database = 33062, "failwise"
	admin, ok := s.Admin()
	if !ok {
		t.Fatal("no admin port")
	}
	c, err := admin.DriverConfig()
	if err != nil {
		t.Fatal(err)
	}
	if c.Timeout != 0 || c.ReadTimeout != 0 || c.WriteTimeout != 0 {
		t.Errorf("limits %s, %s, %s: the driver's own hide their cause", c.Timeout, c.ReadTimeout, c.WriteTimeout)
	}
	if c.Net != "tcp" || c.Addr != "192.0.2.1:33062" || c.User != "monitor" || c.Passwd != "hunter2" || c.DBName != "failwise" {
		t.Errorf("logs in to %s %s as %s", c.Net, c.Addr, c.User)
	}
	if c.ConnectionAttributes != "program_name:failwise" || c.DialFunc == nil || c.Logger == nil || !c.AllowFallbackToPlaintext {
		t.Errorf("attributes %q, dialer set %v, fallback %v", c.ConnectionAttributes, c.DialFunc != nil, c.AllowFallbackToPlaintext)
	}
	if _, ok := fakeNode().Admin(); ok {
		t.Error("an admin port out of nowhere")
	}
	if _, err := (check.Server{}).DriverConfig(); !errors.Is(err, check.ErrAddress) {
		t.Errorf("a server without an address: %v", err)
	}
}

func TestDriverConfigFallsBackToPlainTextInManySessions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := fakeserver.New(fakeserver.Behaviour{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Serve(l)
	}()
	defer func() {
		_ = l.Close()
		<-done
		f.Close()
	}()
	a, err := check.ParseAddress(l.Addr().String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := check.Server{Address: a, User: "monitor"}.DriverConfig()
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var one int
			if err := db.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil || one != 1 {
				t.Errorf("got %d, %v", one, err)
			}
		})
	}
	wg.Wait()
}

func TestTLSFilesThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := check.ParseAddress("unix:/run/s", 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]check.Server{
		"missing CA":        {Address: fakeNode().Address, TLS: check.TLSOptions{CA: "/nowhere/ca.pem"}},
		"CA without PEM":    {Address: fakeNode().Address, TLS: check.TLSOptions{CA: empty}},
		"certificate alone": {Address: fakeNode().Address, TLS: check.TLSOptions{Cert: empty}},
		"missing pair":      {Address: fakeNode().Address, TLS: check.TLSOptions{Cert: empty, Key: empty}},
		"socket's identity": {Address: socket, TLS: check.TLSOptions{Mode: check.TLSVerifyIdentity}},
		"unknown mode":      {Address: fakeNode().Address, TLS: check.TLSOptions{Mode: 99}},
	} {
		_, err := check.NewProber(s, check.Connect, check.Options{})
		if !errors.Is(err, check.ErrTLSFiles) || !errors.Is(err, check.ErrProber) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := check.NewProber(fakeNode(), 0, check.Options{}); !errors.Is(err, check.ErrProber) {
		t.Errorf("no type: %v", err)
	}
}

func TestResultAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{Version: "5.5.5-10.11.19-MariaDB", WriteDelay: fakeserver.Never, State: "Waiting"})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		text, err := json.Marshal(p.Probe(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Node, Address, Type, Ran, Outcome, Phase, Time, Flavour, Remote, Message string
			Seconds                                                                  float64
			Phases                                                                   map[string]float64
			Version                                                                  string `json:"server_version"`
			State                                                                    string `json:"session_state"`
			Role                                                                     *struct {
				ReadOnly bool `json:"read_only"`
			}
			Attempts []struct{ Address, Outcome string }
			Trace    []struct {
				Seconds float64
				Text    string
			}
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if got.Node != "db1" || got.Address != "192.0.2.1:3306" || got.Type != "insert" || got.Ran != "insert" ||
			got.Outcome != "write_timeout" || got.Phase != "execute" || got.Seconds != 4.5 || got.Phases["execute"] != 4.5 ||
			got.Version != "10.11.19-MariaDB" || got.Flavour != "mariadb" || got.State != "Waiting" || got.Role == nil ||
			got.Remote != "192.0.2.1:3306" || len(got.Attempts) != 1 || got.Attempts[0].Outcome != "ok" || len(got.Trace) == 0 {
			t.Errorf("%s", text)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z07:00", got.Time); err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), "hunter2") {
			t.Errorf("the password shows in %s", text)
		}
	})
}

// broken is a connection whose reads or writes fail.
type broken struct {
	net.Conn
	read, write error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.read != nil {
		return 0, &net.OpError{Op: "read", Err: os.NewSyscallError("read", b.read)}
	}
	return b.Conn.Read(p)
}

func (b *broken) Write(p []byte) (int, error) {
	if b.write != nil {
		return 0, &net.OpError{Op: "write", Err: os.NewSyscallError("write", b.write)}
	}
	return b.Conn.Write(p)
}

func TestErrorsOfAStandingConnection(t *testing.T) {
	tests := []struct {
		name        string
		read, write error
		outcome     rules.Outcome
		phase       rules.Phase
	}{
		{"EIO while reading", syscall.EIO, nil, rules.SocketNoIO, rules.PhaseGreeting},
		{"ENOTCONN while reading", syscall.ENOTCONN, nil, rules.SocketNoIO, rules.PhaseGreeting},
		{"another number", syscall.EBADMSG, nil, rules.SocketNoIO, rules.PhaseGreeting},
		{"EHOSTUNREACH while reading", syscall.EHOSTUNREACH, nil, rules.NoRouteToHost, rules.PhaseGreeting},
		{"ETIMEDOUT of the kernel", syscall.ETIMEDOUT, nil, rules.LoginResponseTimeout, rules.PhaseGreeting},
		{"EPIPE while writing", nil, syscall.EPIPE, rules.SocketIOError, rules.PhaseLogin},
		{"EIO while writing", nil, syscall.EIO, rules.SocketNoIO, rules.PhaseLogin},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(fakeserver.Behaviour{})
				defer f.Close()
				p := prober(t, f, check.Connect, check.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := f.Dial(ctx, network, address)
					return &broken{Conn: c, read: tt.read, write: tt.write}, err
				}})
				defer p.Close()
				want(t, p.Probe(t.Context()), tt.outcome, tt.phase, 0)
			})
		})
	}
}

func TestConnectionThatStandsTooLateIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{
			Limits: check.Limits{Connect: time.Second},
			Dial: func(_ context.Context, network, address string) (net.Conn, error) {
				time.Sleep(1500 * time.Millisecond) // deaf to its context
				return f.Dial(context.Background(), network, address)
			},
		})
		defer p.Close()
		want(t, p.Probe(t.Context()), rules.SocketConnectTimeout, rules.PhaseConnect, 1500*time.Millisecond)
	})
}
