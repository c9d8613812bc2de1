package watch

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/rules"
)

// mute is a server that takes connections and never says anything; accepted, if
// not nil, is called for each.
func mute(t *testing.T, accepted func()) check.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			if accepted != nil {
				accepted()
			}
		}
	}()
	return serverAt(t, l)
}

// muteConfig watches one server that says nothing.
func muteConfig(t *testing.T, s check.Server) Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	return Config{
		Cluster: "c", Name: "watcher", ID: 1, Version: "test", Timings: rules.Tungsten.Timings(), Dir: dir,
		Locker: lock.NewFile(journal.NewDir(dir), "watcher"),
		Nodes:  []Node{{Name: "db1", Monitor: s, Manage: s}},
	}
}

func TestStopWhileTheClusterIsStillSilentEndsTheWatcher(t *testing.T) {
	for range 8 {
		ctx, cancel := context.WithCancel(context.Background())
		w, err := New(muteConfig(t, mute(t, cancel)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		ask, done := context.WithTimeout(context.Background(), 5*time.Second)
		if _, err := w.Snapshot(ask); err == nil || ask.Err() != nil {
			t.Errorf("a snapshot of an ended watcher: %v, %v", err, ask.Err())
		}
		done()
		cancel()
	}
}

// refusing is a server that is not there.
func refusing(t *testing.T) check.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return serverAt(t, l)
}

func serverAt(t *testing.T, l net.Listener) check.Server {
	t.Helper()
	a, err := check.ParseAddress(l.Addr().String(), 3306)
	if err != nil {
		t.Fatal(err)
	}
	return check.Server{Name: "db1", Address: a, User: "monitor", Secret: check.NewSecret("x")}
}
