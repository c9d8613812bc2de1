//go:build linux

package realtest

import (
	"context"
	"net"
	"testing"
	"time"

	"failwise/check"
	"failwise/rules"
)

// nameServer answers questions over UDP on loopback.
type nameServer struct {
	conn *net.UDPConn
	// answer returns the addresses of a name, or false to stay silent.
	answer func(name string, ipv6 bool) ([]net.IP, bool)
}

func startNameServer(t *testing.T, answer func(name string, ipv6 bool) ([]net.IP, bool)) *net.Resolver {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, answer: answer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFromUDP(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			_, _ = s.conn.WriteToUDP(reply, from)
		}
	}
}

// reply builds an answer to a message with one question (RFC 1035, 4.1).
func (s *nameServer) reply(q []byte) []byte {
	if len(q) < 17 {
		return nil
	}
	var name string
	i := 12
	for q[i] != 0 {
		name += string(q[i+1:i+1+int(q[i])]) + "."
		i += 1 + int(q[i])
	}
	end := i + 5
	ipv6 := q[i+2] == 28
	ips, ok := s.answer(name, ipv6)
	if !ok {
		return nil
	}
	out := append([]byte{}, q[:end]...)
	out[2], out[3] = 0x84, 0 // answer, authoritative
	if ips == nil {
		out[3] = 3 // NXDOMAIN
	}
	out[7], out[9], out[11] = 0, 0, 0
	for _, ip := range ips {
		if v4 := ip.To4(); v4 != nil {
			ip = v4
		}
		if (len(ip) == 16) != ipv6 {
			continue
		}
		out[7]++
		out = append(out, 0xc0, 12, 0, q[i+2], 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
		out = append(out, ip...)
	}
	return out
}

func TestNames(t *testing.T) {
	l, _ := serve(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	resolver := startNameServer(t, func(name string, _ bool) ([]net.IP, bool) {
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
			began := time.Now()
			r := prober(t, tt.host+":"+port, check.Connect, o).Probe(t.Context())
			expect(t, r, tt.outcome, 0)
			if r.Phase != tt.phase {
				t.Errorf("ended in %s, want %s", r.Phase, tt.phase)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("took %s, the budget is 2 s", took)
			}
			if r.Times[rules.PhaseResolve] == 0 {
				t.Error("no time was counted for the name")
			}
		})
	}
}
