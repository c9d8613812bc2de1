package watch

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// lab is a watcher on a sandbox's servers.
type lab struct {
	t       *testing.T
	cluster *sandbox.Cluster
	watcher *Watcher
	cancel  context.CancelFunc
	ended   chan Ended
	dir     string

	mu      sync.Mutex
	notices []Notice
	wake    chan struct{}
}

// labConfig is a watcher's configuration for a sandbox's servers.
func labConfig(t testing.TB, c *sandbox.Cluster, dir string) Config {
	t.Helper()
	accounts := c.Accounts()
	timings := rules.Tungsten.Timings()
	timings.ProbeInterval = time.Second
	cfg := Config{
		Cluster: "lab", Name: "watcher", ID: 4242, Version: "test", Timings: timings, Policy: failover.Automatic,
		Account: promote.Account{User: accounts.Repl.User, Secret: check.NewSecret(accounts.Repl.Password)}, EnforceReadOnly: true,
		Dir: dir,
	}
	cfg.Locker = lock.NewFile(journal.NewDir(dir), cfg.Name)
	for _, n := range c.Nodes() {
		a, err := check.ParseAddress(n.Address(), 3306)
		if err != nil {
			t.Fatal(err)
		}
		server := func(acc sandbox.Account) check.Server {
			return check.Server{Name: n.Name(), Address: a, User: acc.User, Secret: check.NewSecret(acc.Password)}
		}
		cfg.Nodes = append(cfg.Nodes, Node{Name: n.Name(), Monitor: server(accounts.Monitor), Manage: server(accounts.Act)})
	}
	return cfg
}

// watchLab starts a watcher on a cluster and waits until it has greeted.
func watchLab(t *testing.T, c *sandbox.Cluster, change func(*Config)) *lab {
	t.Helper()
	cfg := labConfig(t, c, filepath.Join(t.TempDir(), "lab"))
	if change != nil {
		change(&cfg)
	}
	return startLab(t, c, cfg)
}

func startLab(t *testing.T, c *sandbox.Cluster, cfg Config) *lab {
	t.Helper()
	l := &lab{t: t, cluster: c, dir: cfg.Dir, ended: make(chan Ended, 1), wake: make(chan struct{}, 1)}
	cfg.Notify = l.notify
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.watcher = w
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ended, err := w.Run(ctx)
		if err != nil {
			t.Errorf("watch: %v", err)
		}
		l.ended <- ended
	}()
	t.Cleanup(func() { cancel(); <-finished })
	l.await(20*time.Second, "the lock", func(n Notice) bool { return n.Kind == "start" })
	return l
}

func (l *lab) notify(n Notice) {
	l.mu.Lock()
	l.notices = append(l.notices, n)
	l.mu.Unlock()
	l.t.Logf("%s %-9s %-4s %s", n.Time.Format("05.000"), n.Kind, n.Node, n.Text)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// heard returns all notices so far.
func (l *lab) heard() []Notice {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}

// await waits for a notice, also one that has come already.
func (l *lab) await(limit time.Duration, what string, is func(Notice) bool) Notice {
	l.t.Helper()
	deadline := time.After(limit)
	for {
		for _, n := range l.heard() {
			if is(n) {
				return n
			}
		}
		select {
		case <-l.wake:
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			l.t.Fatalf("no %s within %s", what, limit)
		}
	}
}

func event(kind failover.Kind) func(Notice) bool {
	return func(n Notice) bool { return n.Event != nil && n.Event.Kind == kind }
}
