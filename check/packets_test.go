package check_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"failwise/check"
	"failwise/check/fakeserver"
)

// FuzzServersPackets lets a server send anything, in the pieces that a split
// byte cuts it into, at each of the moments where it may speak. Whatever comes,
// the probe ends in an outcome within its budget.
func FuzzServersPackets(f *testing.F) {
	greeting := fakeserver.Greeting("8.4.3", 7, "mysql_native_password", 0)
	f.Add(byte(0), packet(0, greeting))
	f.Add(byte(0), packet(0, []byte{0xff, 0x10, 0x04, 'T'}))
	f.Add(byte(0), packet(0, []byte{10, '8', 0}))
	f.Add(byte(1), packet(2, []byte{0, 0, 0, 2, 0, 0, 0}))
	f.Add(byte(1), packet(2, []byte{0xfe, 'm', 'y', 's', 'q', 'l', '_', 'n', 'a', 't', 'i', 'v', 'e', '_', 'p', 'a', 's', 's', 'w', 'o', 'r', 'd', 0, 'x'}))
	f.Add(byte(1), packet(2, []byte("\xfecaching_sha2_password\x0012345678901234567890\x00")))
	f.Add(byte(1), packet(2, []byte{1, 4}))
	f.Add(byte(1), packet(2, []byte{0xff, 0x15, 0x04, '#'}))
	f.Add(byte(2), append(packet(1, []byte{1}), packet(2, []byte{3, 'd', 'e', 'f'})...))
	f.Add(byte(2), packet(1, []byte{0xfc, 0xff, 0xff}))
	f.Add(byte(2), packet(1, []byte{0xfb, 'x'}))
	f.Add(byte(2), packet(1, []byte{0xff, 0x25, 0x05, '#', '7', '0', '1', '0', '0', 'Q'}))
	f.Add(byte(3), append(packet(4, []byte{1, '1'}), packet(5, []byte{0xfe, 0, 0, 2, 0})...))
	f.Fuzz(func(t *testing.T, moment byte, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := fakeserver.NewScripted(func(c *fakeserver.Session) error { return speak(c, moment%4, data) })
			defer s.Close()
			p := prober(t, s, check.Connect, check.Options{})
			defer p.Close()
			r := p.Probe(t.Context())
			if !r.Outcome.Valid() || r.Message == "" || r.Elapsed > check.DefaultTotal {
				t.Errorf("outcome %v after %s: %q", r.Outcome, r.Elapsed, r.Message)
			}
			if _, err := r.MarshalJSON(); err != nil {
				t.Error(err)
			}
		})
	})
}

// packet frames a body.
func packet(seq byte, body []byte) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), seq}, body...)
}

// speak behaves well until the moment, then sends data and closes.
func speak(c *fakeserver.Session, moment byte, data []byte) error {
	say := func() error {
		_, err := c.Conn.Write(data)
		return err
	}
	if moment == 0 {
		return say()
	}
	if err := c.Greet("", ""); err != nil {
		return err
	}
	if _, err := c.Receive(); err != nil {
		return err
	}
	if moment == 1 {
		if err := say(); err != nil {
			return err
		}
		// A server that asks for more reads what it gets.
		_, err := c.Receive()
		return err
	}
	if err := c.OK(); err != nil {
		return err
	}
	if _, _, err := c.Command(); err != nil {
		return err
	}
	if moment == 3 {
		if err := c.Columns([]string{"1"}); err != nil {
			return err
		}
	}
	return say()
}

func TestProbesLeaveNoGoroutineBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, b := range []fakeserver.Behaviour{
		{}, {GreetingDelay: fakeserver.Never}, {LoginDelay: fakeserver.Never}, {ExecuteDelay: fakeserver.Never},
		{ResultsDelay: fakeserver.Never}, {WriteDelay: fakeserver.Never}, {LoginError: &fakeserver.Error{Number: 1045}},
	} {
		for _, typ := range []check.Type{check.Connect, check.Select, check.Insert} {
			f := fakeserver.New(b)
			p := prober(t, f, typ, check.Options{Limits: check.Limits{Total: 20 * time.Millisecond}})
			for range 3 {
				p.Probe(context.Background())
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			f.Close()
		}
	}
}

// BenchmarkHealthyProbe measures a whole probe against a server in the same
// process over loopback: what failwise and the driver cost.
func BenchmarkHealthyProbe(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
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
	address, err := check.ParseAddress(l.Addr().String(), 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, typ := range []check.Type{check.Connect, check.Select, check.Insert} {
		b.Run(typ.String(), func(b *testing.B) {
			p, err := check.NewProber(check.Server{Address: address, User: "monitor"}, typ, check.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			b.ReportAllocs()
			for b.Loop() {
				if r := p.Probe(b.Context()); r.Message == "" || r.Errno != 0 {
					b.Fatal(r.Message)
				}
			}
		})
	}
}
