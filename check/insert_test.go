package check_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

func TestHungInsertIsKeptAndReportedEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := fakeserver.Behaviour{WriteDelay: 60 * time.Second, State: "Waiting for global read lock"}
		f := fakeserver.New(hang)
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		r := p.Probe(t.Context())
		want(t, r, rules.WriteTimeout, rules.PhaseExecute, 4500*time.Millisecond)
		for range 5 {
			if r.SessionState != "Waiting for global read lock" || !strings.Contains(r.Message, r.SessionState) {
				t.Errorf("state %q, message %q", r.SessionState, r.Message)
			}
			time.Sleep(5 * time.Second)
			r = p.Probe(t.Context())
			want(t, r, rules.WriteTimeout, rules.PhaseExecute, 0)
		}
		if f.Writes() != 1 {
			t.Errorf("%d inserts were sent, want 1 until it returns", f.Writes())
		}
		f.Set(fakeserver.Behaviour{})
		time.Sleep(60 * time.Second)
		before := f.Connections()
		want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 0)
		if f.Writes() != 2 || f.Connections() != before {
			t.Errorf("%d inserts, %d new connections, want a second insert on the same session", f.Writes(), f.Connections()-before)
		}
	})
}

func TestHungInsertDoesNotHideThatTheServerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{WriteDelay: fakeserver.Never})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		want(t, p.Probe(t.Context()), rules.WriteTimeout, rules.PhaseExecute, 4500*time.Millisecond)
		f.Set(fakeserver.Behaviour{GreetingDelay: fakeserver.Never})
		want(t, p.Probe(t.Context()), rules.LoginResponseTimeout, rules.PhaseGreeting, 5*time.Second)
		f.Set(fakeserver.Behaviour{GreetingError: &fakeserver.Error{Number: 1040}})
		f.Refuse(syscall.ECONNREFUSED)
		f.Disconnect()
		want(t, p.Probe(t.Context()), rules.SocketIOError, rules.PhaseConnect, 0)
	})
}

func TestHungInsertWithoutASecondSessionIsStillAWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{WriteDelay: fakeserver.Never})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		p.Probe(t.Context())
		f.Set(fakeserver.Behaviour{GreetingError: &fakeserver.Error{Number: 1040, Message: "Too many connections"}})
		r := p.Probe(t.Context())
		want(t, r, rules.WriteTimeout, rules.PhaseExecute, 0)
		if !strings.Contains(r.Note, "1040") {
			t.Errorf("note %q does not say why the state is not known", r.Note)
		}
	})
}

func TestInsertNeverWritesToAReplicaAndNoticesRoleChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{})
		defer f.Close()
		replica := false
		p := prober(t, f, check.Insert, check.Options{Replica: func() bool { return replica }})
		defer p.Close()
		steps := []struct {
			name    string
			b       fakeserver.Behaviour
			told    bool
			outcome rules.Outcome
			ran     check.Type
			writes  int
		}{
			{name: "primary", outcome: rules.OK, ran: check.Insert, writes: 1},
			{name: "writable replica", b: fakeserver.Behaviour{Source: "db2:3306"}, outcome: rules.OK, ran: check.Select, writes: 1},
			{name: "replica", b: fakeserver.Behaviour{Source: "db2:3306", ReadOnly: "1"}, outcome: rules.OK, ran: check.Select, writes: 1},
			{name: "fenced primary", b: fakeserver.Behaviour{ReadOnly: "ON"}, outcome: rules.ReadOnly, ran: check.Insert, writes: 1},
			{name: "known as a replica", told: true, outcome: rules.OK, ran: check.Select, writes: 1},
			{name: "primary again", outcome: rules.OK, ran: check.Insert, writes: 2},
		}
		for _, s := range steps {
			f.Set(s.b)
			replica = s.told
			r := p.Probe(t.Context())
			want(t, r, s.outcome, rules.PhaseResults, 0)
			if r.Ran != s.ran || f.Writes() != s.writes || r.Role == nil {
				t.Errorf("%s: ran %s, %d writes, role %v", s.name, r.Ran, f.Writes(), r.Role)
			}
			if s.b.Source != "" && !strings.Contains(r.Note, s.b.Source) {
				t.Errorf("%s: note %q does not name the source", s.name, r.Note)
			}
		}
		if f.Connections() != 1 {
			t.Errorf("%d connections, want the held session throughout", f.Connections())
		}
	})
}

func TestInsertWithoutTheGrantToReadTheRoleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.NewScripted(func(c *fakeserver.Session) error {
			if err := c.Login(); err != nil {
				return err
			}
			for {
				_, text, err := c.Command()
				if err != nil {
					return err
				}
				switch {
				case strings.HasPrefix(text, "SHOW"):
					err = c.Fail(serverError(1227, "Access denied; you need REPLICATION CLIENT"))
				case strings.HasPrefix(text, "SET"):
					err = c.OK()
				case strings.HasPrefix(text, "INSERT"):
					t.Error("it wrote without knowing the role")
					err = c.OK()
				case strings.Contains(text, "read_only"):
					err = c.Rows(0, []string{"a", "b"}, []string{"0", "0"})
				default:
					err = c.Rows(0, []string{"1"}, []string{"1"})
				}
				if err != nil {
					return err
				}
			}
		})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		r := p.Probe(t.Context())
		want(t, r, rules.OK, rules.PhaseResults, 0)
		if r.Ran != check.Select || !strings.Contains(r.Note, "grant REPLICATION CLIENT to monitor") {
			t.Errorf("ran %s, note %q", r.Ran, r.Note)
		}
	})
}

func TestExecuteLimitOfAWriteKeepsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{WriteDelay: 3 * time.Second})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{Limits: check.Limits{Execute: time.Second}})
		defer p.Close()
		want(t, p.Probe(t.Context()), rules.WriteTimeout, rules.PhaseExecute, time.Second)
		want(t, p.Probe(t.Context()), rules.WriteTimeout, rules.PhaseExecute, 0)
		f.Set(fakeserver.Behaviour{})
		time.Sleep(3 * time.Second)
		before := f.Connections()
		want(t, p.Probe(t.Context()), rules.OK, rules.PhaseResults, 0)
		if f.Connections() != before || f.Writes() != 2 {
			t.Errorf("%d new connections, %d writes: the session of the late insert was lost", f.Connections()-before, f.Writes())
		}
	})
}

func TestReserveOfAWriteCountsFromTheContextsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeserver.New(fakeserver.Behaviour{WriteDelay: fakeserver.Never, State: "Waiting"})
		defer f.Close()
		p := prober(t, f, check.Insert, check.Options{})
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r := p.Probe(ctx)
		want(t, r, rules.WriteTimeout, rules.PhaseExecute, 1500*time.Millisecond)
		if r.SessionState != "Waiting" {
			t.Errorf("state %q", r.SessionState)
		}
	})
}
