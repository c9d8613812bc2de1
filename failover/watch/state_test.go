package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
)

// running starts a watcher on servers that are not there, and stops it at the end.
func running(t *testing.T, change func(*Config)) *Watcher {
	t.Helper()
	cfg := muteConfig(t, refusing(t))
	if change != nil {
		change(&cfg)
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return w
}

// until waits until f is true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

func coordinates(t *testing.T, w *Watcher) func() bool {
	return func() bool {
		s, err := w.Snapshot(t.Context())
		return err == nil && s.Engine.Coordinator
	}
}

func TestALookThatOurOwnWriteHasOvertakenTakesNothingBack(t *testing.T) {
	w := idle(t)
	state := journal.State{Shunned: map[string]journal.ShunState{"db1": {FailedOverTo: "db2"}}}
	written, version, err := w.state.Update(t.Context(), func(s *journal.State) error { *s = state; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.makeEngine(written); err != nil {
		t.Fatal(err)
	}
	w.kept.state, w.kept.version = written, version
	w.takeLook(journal.Version{}, journal.State{}, journal.Version{})
	if _, shunned := w.engine.State(w.now).Shunned["db1"]; !shunned {
		t.Error("an old look at the state file ended the shunning of an old primary")
	}
	w.takeLook(version, journal.State{}, journal.Version{})
	if _, shunned := w.engine.State(w.now).Shunned["db1"]; shunned {
		t.Error("what another process wrote was not taken in")
	}
}

func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	w := running(t, func(c *Config) {
		second := c.Nodes[0]
		second.Name = "db2"
		c.Nodes = append(c.Nodes, second)
	})
	until(t, "the watcher acts", coordinates(t, w))
	obstacle := filepath.Join(w.cfg.Dir, "state.lock")
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	w.send(func() {
		w.tell(failover.NodesAre(w.engineNodes("db1")))
		w.tell(failover.PromotedTo("db2"))
	})
	until(t, "a write fails", func() bool {
		failed := false
		w.ask(t.Context(), func() { failed = w.kept.stalled })
		return failed
	})
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	until(t, "the failover is on disk", func() bool {
		s, _, err := w.state.Load(t.Context())
		return err == nil && s.Shunned["db1"].FailedOverTo == "db2" && !s.LastFailover.Time.IsZero()
	})
}

func TestOwedSemiSyncOutlivesTheWatcher(t *testing.T) {
	w := running(t, nil)
	until(t, "the watcher acts", coordinates(t, w))
	w.send(func() { w.semiSyncOwed = true })
	until(t, "it is on disk", func() bool {
		s, _, err := w.state.Load(t.Context())
		return err == nil && s.SemiSyncOwed
	})
	next := idle(t)
	s, _, err := w.state.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := next.makeEngine(s); err != nil {
		t.Fatal(err)
	}
	if !next.semiSyncOwed {
		t.Error("the next watcher does not know that semi-sync is owed")
	}
	w.send(func() { w.semiSyncOwed = false })
	until(t, "it is on disk no more", func() bool {
		s, _, err := w.state.Load(t.Context())
		return err == nil && !s.SemiSyncOwed
	})
}

// unsure is a lock that is held and cannot always be asked.
type unsure struct {
	lost   chan struct{}
	unable atomic.Bool
}

func (u *unsure) Acquire(context.Context) (lock.Lease, error) { return u, nil }

func (u *unsure) Holder(context.Context) (lock.Holder, bool, error) {
	return lock.Holder{}, false, nil
}

func (u *unsure) Token() lock.Token { return 1 }

func (u *unsure) Lost() <-chan struct{} { return u.lost }

func (u *unsure) Check(context.Context) error {
	if u.unable.Load() {
		return &lock.UnavailableError{Lock: "lock", Err: errors.New("the disk does not answer")}
	}
	return nil
}

func (u *unsure) Release(context.Context) error { return nil }

func TestALockThatCouldNotBeAskedIsAskedAgain(t *testing.T) {
	u := &unsure{lost: make(chan struct{})}
	w := running(t, func(c *Config) { c.Locker = u })
	until(t, "the watcher acts", coordinates(t, w))
	u.unable.Store(true)
	w.send(func() { w.askLock(context.Background()) })
	until(t, "the watcher only observes", func() bool { return !coordinates(t, w)() })
	u.unable.Store(false)
	until(t, "the watcher acts again", coordinates(t, w))
}

// Times in the state file are the wall clock's, which may be set: what lies in the future
// then has just been, and what is limited ends no later than it says.
func TestStateAfterTheClockWasSet(t *testing.T) {
	now := time.Now()
	for step, want := range map[time.Duration]time.Duration{-24 * time.Hour: 0, -time.Minute: 0, 0: 0, time.Hour: time.Hour} {
		kept := journal.State{LastFailover: journal.FailoverState{Time: now, OldPrimary: "db1", NewPrimary: "db2"}}
		s, err := restored(kept, now.Add(step))
		if err != nil || s.LastFailoverAge == nil || *s.LastFailoverAge != want {
			t.Errorf("the clock was set by %s: the last failover was %v ago, want %s (%v)", step, s.LastFailoverAge, want, err)
		}
	}
	policy := journal.PolicyState{Mode: "manual", Since: now, Until: now.Add(time.Hour), Then: "automatic"}
	for step, want := range map[time.Duration]failover.PolicyState{
		-time.Hour:       {Policy: failover.Manual, Left: 2 * time.Hour, Then: failover.Automatic},
		30 * time.Minute: {Policy: failover.Manual, Left: 30 * time.Minute, Then: failover.Automatic},
		2 * time.Hour:    {Policy: failover.Automatic},
	} {
		s, err := restored(journal.State{Policy: policy}, now.Add(step))
		if err != nil || s.Policy == nil {
			t.Fatalf("the clock was set by %s: no policy (%v)", step, err)
		}
		if got := *s.Policy; got.Policy != want.Policy || got.Left != want.Left || got.Then != want.Then {
			t.Errorf("the clock was set by %s: %+v, want %+v", step, got, want)
		}
	}
}
