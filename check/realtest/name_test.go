//go:build linux

package realtest

import (
	"net"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

func startNameServer(t *testing.T, answer func(name string) ([]net.IP, bool)) *net.Resolver {
	t.Helper()
	s, err := sandbox.StartNameServer(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Resolver()
}

func TestNames(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	resolver := startNameServer(t, func(name string) ([]net.IP, bool) {
		switch name {
		case "db.failwise.test.":
			return []net.IP{net.IPv4(127, 0, 0, 1)}, true
		case "slow.failwise.test.":
			time.Sleep(200 * time.Millisecond)
			return []net.IP{net.IPv4(127, 0, 0, 1)}, true
		case "two.failwise.test.":
			return []net.IP{net.IPv4(127, 0, 0, 99), net.IPv4(127, 0, 0, 1)}, true
		case "silent.failwise.test.":
			return nil, false
		}
		return nil, true
	})
	tests := []struct {
		host    string
		outcome rules.Outcome
		phase   rules.Phase
	}{
		{"db.failwise.test.", rules.OK, rules.PhaseResults},
		{"slow.failwise.test.", rules.OK, rules.PhaseResults},
		{"two.failwise.test.", rules.OK, rules.PhaseResults},
		{"missing.failwise.test.", rules.UnknownHost, rules.PhaseResolve},
		{"silent.failwise.test.", rules.UnknownHost, rules.PhaseResolve},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			o := check.Options{Resolver: resolver, Limits: check.Limits{Total: 2 * time.Second}}
			p := prober(t, tt.host+":"+port, check.Connect, o)
			r := inTime(t, o.Limits.Total, func() check.Result { return p.Probe(t.Context()) })
			expect(t, r, tt.outcome, 0)
			if r.Phase != tt.phase {
				t.Errorf("ended in %s, want %s", r.Phase, tt.phase)
			}
			if r.Times[rules.PhaseResolve] == 0 {
				t.Error("no time was counted for the name")
			}
		})
	}
}
