package check_test

import (
	"syscall"
	"testing"
	"testing/synctest"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

// offersTLS greets with TLS on offer and takes the request for it.
func offersTLS(c *fakeserver.Session) error {
	if err := c.Send(fakeserver.Greeting("8.4.3", c.ID, "mysql_native_password", fakeserver.CapabilitySSL)); err != nil {
		return err
	}
	_, err := c.Receive()
	return err
}

func TestResetInsideTheHandshakeIsNoDeadServer(t *testing.T) {
	reset := func(c *fakeserver.Session) error {
		if err := offersTLS(c); err != nil {
			return err
		}
		return c.Reset()
	}
	t.Run("twice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := fakeserver.NewScripted(reset)
			defer f.Close()
			p := prober(t, f, check.Connect, check.Options{})
			defer p.Close()
			r := p.Probe(t.Context())
			want(t, r, rules.TLSError, rules.PhaseLogin, 0)
			if r.Retry == nil || r.Errno == 0 {
				t.Errorf("retry %v, errno %v", r.Retry, r.Errno)
			}
		})
	})
	t.Run("once, then refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var f *fakeserver.Server
			f = fakeserver.NewScripted(func(c *fakeserver.Session) error {
				f.Refuse(syscall.ECONNREFUSED)
				return reset(c)
			})
			defer f.Close()
			p := prober(t, f, check.Connect, check.Options{})
			defer p.Close()
			want(t, p.Probe(t.Context()), rules.SocketIOError, rules.PhaseConnect, 0)
		})
	})
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := fakeserver.NewScripted(func(c *fakeserver.Session) error {
				if err := offersTLS(c); err != nil {
					return err
				}
				return c.Wait(fakeserver.Never)
			})
			defer f.Close()
			p := prober(t, f, check.Connect, check.Options{})
			defer p.Close()
			want(t, p.Probe(t.Context()), rules.LoginResponseTimeout, rules.PhaseLogin, check.DefaultTotal)
		})
	})
	t.Run("not TLS", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := fakeserver.NewScripted(func(c *fakeserver.Session) error {
				if err := offersTLS(c); err != nil {
					return err
				}
				if _, err := c.Conn.Read(make([]byte, 4096)); err != nil {
					return err
				}
				_, err := c.Conn.Write([]byte("no such thing here"))
				return err
			})
			defer f.Close()
			p := prober(t, f, check.Connect, check.Options{})
			defer p.Close()
			want(t, p.Probe(t.Context()), rules.TLSError, rules.PhaseLogin, 0)
		})
	})
}
