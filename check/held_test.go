package check_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

// onceThen plays the scripts one after the other, one a connection, and the
// last for ever.
func onceThen(scripts ...fakeserver.Script) fakeserver.Script {
	n := 0
	return func(c *fakeserver.Session) error {
		s := scripts[min(n, len(scripts)-1)]
		n++
		return s(c)
	}
}

// healthy serves any number of SELECT 1.
func healthy(c *fakeserver.Session) error {
	if err := c.Login(); err != nil {
		return err
	}
	for {
		if _, _, err := c.Command(); err != nil {
			return err
		}
		if err := c.Rows(0, []string{"1"}, []string{"1"}); err != nil {
			return err
		}
	}
}

func TestLostSessionGetsOneNewConnection(t *testing.T) {
	lost := map[string]fakeserver.Script{
		"killed": func(c *fakeserver.Session) error {
			if err := c.Login(); err != nil {
				return err
			}
			_, _, err := c.Command()
			return err
		},
		"shut down": func(c *fakeserver.Session) error {
			if err := c.Login(); err != nil {
				return err
			}
			if _, _, err := c.Command(); err != nil {
				return err
			}
			return c.Fail(serverError(1053, "Server shutdown in progress"))
		},
		"closed before the greeting": func(*fakeserver.Session) error { return nil },
	}
	for name, script := range lost {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.NewScripted(onceThen(script, healthy))
				defer f.Close()
				p := prober(t, f, check.Connect, check.Options{})
				defer p.Close()
				r := p.Probe(t.Context())
				want(t, r, rules.OK, rules.PhaseResults, 0)
				if r.Retry == nil || f.Connections() != 2 {
					t.Errorf("retry %v, %d connections", r.Retry, f.Connections())
				}
			})
		})
	}
}

func TestRetryStaysWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.NewScripted(onceThen(func(c *fakeserver.Session) error {
			return c.Wait(3 * time.Second)
		}, func(c *fakeserver.Session) error {
			return c.Wait(fakeserver.Never)
		}))
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{})
		defer p.Close()
		r := p.Probe(t.Context())
		want(t, r, rules.LoginResponseTimeout, rules.PhaseGreeting, 5*time.Second)
	})
}

func TestHeldSessionIsUsedAgainAndReplacedOnceLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{})
		defer f.Close()
		p := prober(t, f, check.Select, check.Options{})
		for range 3 {
			want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 0)
			time.Sleep(10 * time.Second)
		}
		if f.Connections() != 1 || f.Statements() != 3 {
			t.Errorf("%d connections, %d statements, want 1 and 3", f.Connections(), f.Statements())
		}
		f.Disconnect()
		r := p.Probe(t.Context())
		want(t, r, rules.OK, rules.PhaseResults, 0)
		if r.Retry == nil || f.Connections() != 2 {
			t.Errorf("retry %v, %d connections", r.Retry, f.Connections())
		}
		f.Refuse(syscall.ECONNREFUSED)
		f.Disconnect()
		want(t, p.Probe(t.Context()), rules.SocketIOError, rules.PhaseConnect, 0)
		f.Refuse(nil)
		want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 0)
		p.Close()
		synctest.Wait()
		if f.Quits() != 1 {
			t.Errorf("%d sessions ended with COM_QUIT, want the last", f.Quits())
		}
	})
}

func TestConnectProbeEndsItsSessionWithQuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{})
		for range 3 {
			p.Probe(t.Context())
		}
		synctest.Wait()
		if f.Connections() != 3 || f.Quits() != 3 || f.Statements() != 3 {
			t.Errorf("%d connections, %d quits, %d statements, want 3 of each", f.Connections(), f.Quits(), f.Statements())
		}
	})
}

func TestOnePendingConnectionWhileTheGreetingIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := make(chan struct{})
		f := fakeserver.NewScripted(func(c *fakeserver.Session) error {
			<-frozen
			return healthy(c)
		})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{Limits: check.Limits{Total: 3 * time.Second}})
		defer p.Close()
		for i := range 5 {
			r := p.Probe(t.Context())
			want(t, r, rules.LoginResponseTimeout, rules.PhaseGreeting, 3*time.Second)
			if r.Pending != (i > 0) {
				t.Errorf("probe %d: pending is %v", i, r.Pending)
			}
		}
		if f.Connections() != 1 {
			t.Errorf("%d connections, want the one that is pending", f.Connections())
		}
		close(frozen)
		r := p.Probe(t.Context())
		want(t, r, rules.OK, rules.PhaseResults, 0)
		if f.Connections() != 1 || !r.Pending {
			t.Errorf("the pending connection was not used in the end: %d connections", f.Connections())
		}
	})
}

func TestPendingConnectionIsRefreshedWithDoublingPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{GreetingDelay: fakeserver.Never})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{Limits: check.Limits{Total: 2 * time.Second}})
		defer p.Close()
		for range 8 * 60 { // an hour and 20 minutes
			p.Probe(t.Context())
			time.Sleep(8 * time.Second)
		}
		// 30 s, 1, 2, 4 minutes, then every 8.
		if n := f.Connections(); n < 13 || n > 15 {
			t.Errorf("%d connections in 80 minutes, want about 14: 100 of them block this host", n)
		}
	})
}

func TestEndOfThePendingConnectionDecidesNothing(t *testing.T) {
	silent := func(c *fakeserver.Session) error { return c.Wait(3500 * time.Millisecond) }
	silentThenReset := func(c *fakeserver.Session) error {
		if err := c.Wait(3500 * time.Millisecond); err != nil {
			return err
		}
		return c.Reset()
	}
	greetsThenResets := func(c *fakeserver.Session) error {
		if err := c.Wait(3500 * time.Millisecond); err != nil {
			return err
		}
		if err := c.Greet("", ""); err != nil {
			return err
		}
		return c.Reset()
	}
	refuses := func(c *fakeserver.Session) error {
		if err := c.Wait(3500 * time.Millisecond); err != nil {
			return err
		}
		return c.Fail(&fakeserver.Error{Number: 1040})
	}
	for name, script := range map[string]fakeserver.Script{
		"closed": silent, "reset": silentThenReset, "greeted and reset": greetsThenResets, "1040": refuses,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.NewScripted(onceThen(script, healthy))
				defer f.Close()
				p := prober(t, f, check.Connect, check.Options{Limits: check.Limits{Total: 3 * time.Second}})
				defer p.Close()
				want(t, p.Probe(t.Context()), rules.LoginResponseTimeout, rules.PhaseGreeting, 3*time.Second)
				time.Sleep(7 * time.Second)
				r := p.Probe(t.Context())
				want(t, r, rules.OK, rules.PhaseResults, 0)
				if r.Retry != nil {
					t.Errorf("the one retry was spent on the pending connection: %v", r.Retry)
				}
			})
		})
	}
}

func TestCancelledProbeHasNoOutcome(t *testing.T) {
	behaviours := map[string]fakeserver.Behaviour{
		"greeting": {GreetingDelay: fakeserver.Never}, "login": {LoginDelay: fakeserver.Never},
		"execute": {ExecuteDelay: fakeserver.Never}, "results": {ResultsDelay: fakeserver.Never}, "write": {WriteDelay: fakeserver.Never},
	}
	for name, b := range behaviours {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(b)
				defer f.Close()
				p := prober(t, f, check.Insert, check.Options{})
				defer p.Close()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				if r := p.Probe(ctx); r.Outcome != rules.Undefined || r.Elapsed != time.Second {
					t.Errorf("got %s after %s: %s", r.Outcome, r.Elapsed, r.Message)
				}
			})
		})
	}
}

func TestDeadlineOfTheContextIsTheBudgetsEnd(t *testing.T) {
	phases := map[rules.Phase]fakeserver.Behaviour{
		rules.PhaseGreeting: {GreetingDelay: fakeserver.Never}, rules.PhaseLogin: {LoginDelay: fakeserver.Never},
		rules.PhaseExecute: {ExecuteDelay: fakeserver.Never}, rules.PhaseResults: {ResultsDelay: fakeserver.Never},
	}
	for phase, b := range phases {
		t.Run(phase.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fakeserver.New(b)
				defer f.Close()
				p := prober(t, f, check.Connect, check.Options{})
				defer p.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				want(t, p.Probe(ctx), rules.TimeoutOf(phase, false), phase, 2*time.Second)
			})
		})
	}
}

func TestCancelledProbeKeepsThePendingConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{GreetingDelay: 4 * time.Second})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{})
		defer p.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		p.Probe(ctx)
		want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 3*time.Second)
		if f.Connections() != 1 {
			t.Errorf("%d connections, want the pending one", f.Connections())
		}
	})
}

func TestFarewellToADeafServerIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.NewScripted(func(c *fakeserver.Session) error {
			if err := c.Login(); err != nil {
				return err
			}
			if _, _, err := c.Command(); err != nil {
				return err
			}
			if err := c.Rows(0, []string{"1"}, []string{"1"}); err != nil {
				return err
			}
			return c.Wait(fakeserver.Never)
		})
		defer f.Close()
		p := prober(t, f, check.Connect, check.Options{})
		defer p.Close()
		start := time.Now()
		r := p.Probe(t.Context())
		if r.Outcome != rules.OK || time.Since(start) > 50*time.Millisecond {
			t.Errorf("%s, returned after %s", r.Outcome, time.Since(start))
		}
	})
}

func TestRouteLostInMidStatementGetsOneNewConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{})
		defer f.Close()
		var first *broken
		p := prober(t, f, check.Select, check.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := f.Dial(ctx, network, address)
			if first == nil {
				first = &broken{Conn: c}
				return first, err
			}
			return c, err
		}})
		defer p.Close()
		want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 0)
		first.read = syscall.EHOSTUNREACH
		r := p.Probe(t.Context())
		want(t, r, rules.OK, rules.PhaseResults, 0)
		if r.Retry == nil || r.Retry.Errno != syscall.EHOSTUNREACH {
			t.Errorf("retry %+v", r.Retry)
		}
	})
}
