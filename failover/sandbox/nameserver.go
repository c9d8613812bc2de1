package sandbox

import (
	"context"
	"fmt"
	"net"
)

// NameServer answers questions about names over UDP on loopback.
type NameServer struct {
	conn   *net.UDPConn
	answer func(name string) ([]net.IP, bool)
	done   chan struct{}
}

// StartNameServer starts a server that knows what answer returns for a name, which
// ends with a dot: its addresses, none for a name that does not exist, or false to
// stay silent. The caller's duty is to call Close.
func StartNameServer(answer func(name string) ([]net.IP, bool)) (*NameServer, error) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("start a name server: %w", err)
	}
	s := &NameServer{conn: conn, answer: answer, done: make(chan struct{})}
	go s.serve()
	return s, nil
}

// Resolver asks this server alone.
func (s *NameServer) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// Close ends the server.
func (s *NameServer) Close() error {
	err := s.conn.Close()
	<-s.done
	return err
}

func (s *NameServer) serve() {
	defer close(s.done)
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFromUDP(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			_, _ = s.conn.WriteToUDP(reply, from) // who asked asks again
		}
	}
}

// reply builds an answer to a message with one question (RFC 1035, 4.1).
func (s *NameServer) reply(q []byte) []byte {
	const header, tail = 12, 4 // before the name; type and class after it
	var name string
	end := header
	for end < len(q) && q[end] != 0 {
		label := end + 1 + int(q[end])
		if label > len(q) {
			return nil
		}
		name += string(q[end+1:label]) + "."
		end = label
	}
	if end += 1 + tail; end > len(q) {
		return nil
	}
	kind := q[end-tail+1]
	ips, ok := s.answer(name)
	if !ok {
		return nil
	}
	out := append([]byte{}, q[:end]...)
	out[2], out[3] = 0x84, 0 // answer, authoritative
	if len(ips) == 0 {
		out[3] = 3 // NXDOMAIN
	}
	out[7], out[9], out[11] = 0, 0, 0
	for _, ip := range ips {
		if v4 := ip.To4(); v4 != nil {
			ip = v4
		}
		const a, aaaa = 1, 28
		if (len(ip) == net.IPv4len && kind != a) || (len(ip) == net.IPv6len && kind != aaaa) {
			continue
		}
		out[7]++
		out = append(out, 0xc0, header, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
		out = append(out, ip...)
	}
	return out
}
