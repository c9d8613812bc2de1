//go:build linux

package realtest

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

func testReadOnly(t *testing.T, b bed) {
	p := b.prober(t, b.primary, check.Insert, check.Options{})
	expect(t, p.Probe(t.Context()), rules.OK, 0)
	t.Run("read_only", func(t *testing.T) {
		execute(t, b.primary, "SET GLOBAL read_only=ON")
		r := p.Probe(t.Context())
		execute(t, b.primary, "SET GLOBAL read_only=OFF")
		expect(t, r, rules.ReadOnly, 0)
		if r.Role == nil || !r.Role.ReadOnly || r.Role.Replica {
			t.Errorf("role %+v", r.Role)
		}
		expect(t, p.Probe(t.Context()), rules.OK, 0)
	})
	t.Run("transactions are read-only", func(t *testing.T) {
		name := "transaction_read_only"
		if b.Flavour() == sandbox.MariaDB {
			name = "tx_read_only"
		}
		execute(t, b.primary, "SET GLOBAL "+name+"=ON")
		undo(t, b.primary, "SET GLOBAL "+name+"=OFF")
		number(t, b.prober(t, b.primary, check.Insert, check.Options{}).Probe(t.Context()), rules.ReadOnly, 1792)
	})
	if b.Flavour() == sandbox.MySQL {
		t.Run("schema is read-only", func(t *testing.T) {
			execute(t, b.primary, "ALTER SCHEMA failwise READ ONLY=1")
			undo(t, b.primary, "ALTER SCHEMA failwise READ ONLY=0")
			number(t, p.Probe(t.Context()), rules.ReadOnly, 3989)
		})
	}
	t.Run("an account that writes through read_only does not", func(t *testing.T) {
		act := b.Accounts().Act
		privileged := b.prober(t, b.primary, check.Insert, check.Options{}, func(s *check.Server) { s.User, s.Secret = act.User, check.NewSecret(act.Password) })
		expect(t, privileged.Probe(t.Context()), rules.OK, 0)
		before, err := b.primary.Executed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		execute(t, b.primary, "SET GLOBAL read_only=ON")
		r := privileged.Probe(t.Context())
		execute(t, b.primary, "SET GLOBAL read_only=OFF")
		expect(t, r, rules.ReadOnly, 0)
		if after, err := b.primary.Executed(t.Context()); err != nil || after != before {
			t.Errorf("it wrote: %s, then %s, %v", before, after, err)
		}
	})
}

func testRoleChange(t *testing.T, b bed) {
	p := b.prober(t, b.replica, check.Insert, check.Options{})
	if r := p.Probe(t.Context()); r.Ran != check.Select || r.Outcome != rules.OK {
		t.Fatalf("ran %s: %s", r.Ran, r.Message)
	}
	stop, start := "STOP SLAVE", "START SLAVE"
	if b.Flavour() == sandbox.MySQL {
		stop, start = "STOP REPLICA", "START REPLICA"
		execute(t, b.replica, "SET GLOBAL super_read_only=OFF")
	}
	// Stopped and writable it is still a replica.
	execute(t, b.replica, stop, "SET GLOBAL read_only=OFF")
	r := p.Probe(t.Context())
	if r.Ran != check.Select || r.Role == nil || r.Role.ReadOnly || !r.Role.Replica {
		t.Errorf("ran %s, role %+v, want a writable replica that is only read", r.Ran, r.Role)
	}
	execute(t, b.replica, "SET GLOBAL read_only=ON", start)
	if b.Flavour() == sandbox.MySQL {
		execute(t, b.replica, "SET GLOBAL super_read_only=ON")
	}
}

func testLocks(t *testing.T, b bed) {
	for _, tt := range []struct{ fault, state string }{{"locked", "lock"}, {"locked-heartbeat", "metadata lock"}} {
		t.Run(tt.fault, func(t *testing.T) {
			p := b.prober(t, b.primary, check.Insert, check.Options{Limits: check.Limits{Total: 2 * time.Second}})
			expect(t, p.Probe(t.Context()), rules.OK, 0)
			a := sandbox.Break(t, tt.fault, b.primary)
			r := inTime(t, 2*time.Second, func() check.Result { return p.Probe(t.Context()) })
			expect(t, r, rules.WriteTimeout, 0)
			if !strings.Contains(r.SessionState, tt.state) {
				t.Errorf("state %q, want one with %q", r.SessionState, tt.state)
			}
			expect(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.OK, 0)
			heal(t, b, a)
			recovers(t, p)
		})
	}
}

// recovers waits until a prober sees its node online again.
func recovers(t *testing.T, p *check.Prober) {
	t.Helper()
	deadline := time.Now().Add(70 * time.Second)
	for {
		r := p.Probe(t.Context())
		if r.Outcome == rules.OK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s: %s", r.Outcome, r.Message)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func testNetworkFaults(t *testing.T, b bed) {
	limits := check.Options{Limits: check.Limits{Total: time.Second}}
	tests := []struct {
		fault   string
		outcome rules.Outcome
		errno   syscall.Errno
	}{
		{"refuse", rules.SocketIOError, syscall.ECONNREFUSED},
		{"refuse-new", rules.SocketIOError, syscall.ECONNREFUSED},
		{"drop", rules.SocketConnectTimeout, 0},
		{"drop-in", rules.SocketConnectTimeout, 0},
		{"drop-out", rules.SocketConnectTimeout, 0},
		{"drop-watcher", rules.SocketConnectTimeout, 0},
		{"kill", rules.SocketIOError, syscall.ECONNREFUSED},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			held := b.prober(t, b.primary, check.Select, limits)
			expect(t, held.Probe(t.Context()), rules.OK, 0)
			a := sandbox.Break(t, tt.fault, b.primary)
			r := inTime(t, time.Second, func() check.Result {
				return b.prober(t, b.primary, check.Connect, limits).Probe(t.Context())
			})
			first := held.Probe(t.Context())
			second := held.Probe(t.Context())
			expect(t, r, tt.outcome, tt.errno)
			if tt.fault == "refuse-new" {
				expect(t, first, rules.OK, 0)
			} else {
				// The held session times out in its statement at most once.
				expect(t, second, tt.outcome, tt.errno)
			}
			heal(t, b, a)
		})
	}
}

func testFreeze(t *testing.T, b bed) {
	o := check.Options{Limits: check.Limits{Total: time.Second}}
	connect := b.prober(t, b.primary, check.Connect, o)
	insert := b.prober(t, b.primary, check.Insert, o)
	expect(t, insert.Probe(t.Context()), rules.OK, 0)
	a := sandbox.Break(t, "freeze", b.primary)
	for range 3 {
		r := inTime(t, time.Second, func() check.Result { return connect.Probe(t.Context()) })
		expect(t, r, rules.LoginResponseTimeout, 0)
		if r.Phase != rules.PhaseGreeting {
			t.Errorf("ended in %s", r.Phase)
		}
	}
	insert.Probe(t.Context()) // the held session's statement hangs
	expect(t, insert.Probe(t.Context()), rules.LoginResponseTimeout, 0)
	heal(t, b, a)
	expect(t, connect.Probe(t.Context()), rules.OK, 0)
	recovers(t, insert)
}

func testShutdown(t *testing.T, b bed) {
	held := b.prober(t, b.primary, check.Select, check.Options{})
	connect := b.prober(t, b.primary, check.Connect, check.Options{})
	expect(t, held.Probe(t.Context()), rules.OK, 0)
	stopped := make(chan *sandbox.Active)
	go func() { stopped <- sandbox.Break(t, "shutdown", b.primary) }()
	// While it stops both see a healthy server, or one that is not: closed,
	// reset, refused, or told so. Never a hang and never a wrong word.
	seen := map[rules.Outcome]int{}
	deadline := time.Now().Add(30 * time.Second)
	for {
		a, b := held.Probe(t.Context()), connect.Probe(t.Context())
		seen[a.Outcome]++
		seen[b.Outcome]++
		if a.Errno == syscall.ECONNREFUSED && b.Errno == syscall.ECONNREFUSED {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not stopped: %v", seen)
		}
		time.Sleep(2 * time.Millisecond)
	}
	for o := range seen {
		switch o {
		case rules.OK, rules.SocketIOError, rules.MySQLPrematureEOF, rules.MySQLError, rules.SocketNoIO:
		default:
			t.Errorf("saw %s while the server stopped: %v", o, seen)
		}
	}
	a := <-stopped
	expect(t, connect.Probe(t.Context()), rules.SocketIOError, syscall.ECONNREFUSED)
	heal(t, b, a)
	recovers(t, held)
}

func testDisk(t *testing.T, b bed) {
	o := check.Options{Limits: check.Limits{Total: 2 * time.Second}}
	t.Run("stall", func(t *testing.T) {
		p := b.prober(t, b.primary, check.Insert, o)
		expect(t, p.Probe(t.Context()), rules.OK, 0)
		a := sandbox.Break(t, "disk-stall", b.primary)
		for range 2 {
			expect(t, inTime(t, 2*time.Second, func() check.Result { return p.Probe(t.Context()) }), rules.WriteTimeout, 0)
		}
		expect(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.OK, 0)
		heal(t, b, a)
		recovers(t, p)
	})
	t.Run("full", func(t *testing.T) {
		p := b.prober(t, b.primary, check.Insert, o)
		expect(t, p.Probe(t.Context()), rules.OK, 0)
		a := sandbox.Break(t, "disk-full", b.primary)
		// Writes go on until the binary log's last block is full.
		var r check.Result
		for range 200 {
			if r = p.Probe(t.Context()); r.Outcome != rules.OK {
				break
			}
		}
		if r.Outcome != rules.WriteTimeout && r.Outcome != rules.DiskFull {
			t.Errorf("got %s: %s", r.Outcome, r.Message)
		}
		t.Logf("%s: %s", r.Outcome, r.Message)
		heal(t, b, a)
		recovers(t, p) // the server looks again each minute
	})
	t.Run("read-only", func(t *testing.T) {
		p := b.prober(t, b.primary, check.Insert, o)
		expect(t, p.Probe(t.Context()), rules.OK, 0)
		a := sandbox.Break(t, "disk-read-only", b.primary)
		// The server aborts at its next write.
		seen := map[rules.Outcome]int{}
		deadline := time.Now().Add(20 * time.Second)
		for seen[rules.SocketIOError] == 0 && time.Now().Before(deadline) {
			r := p.Probe(t.Context())
			if seen[r.Outcome]++; seen[r.Outcome] == 1 {
				t.Logf("%s: %s", r.Outcome, r.Message)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if seen[rules.SocketIOError] == 0 {
			t.Errorf("never refused: %v", seen)
		}
		heal(t, b, a)
	})
}
