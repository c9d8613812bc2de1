package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"failwise/failover/journal"
	"failwise/failover/lock"
)

// A watcher that cannot read what an earlier one has left half-done does not act.
func TestUnreadablePromotionLogsKeepTheLockFromBeingUsed(t *testing.T) {
	dir := t.TempDir()
	w := &Watcher{
		cfg: Config{Locker: lock.NewFile(journal.NewDir(dir), "second")}, dir: journal.NewDir(dir),
		inbox: make(chan input, inboxSize), done: make(chan struct{}), leased: make(chan lock.Lease, 1),
	}
	// A directory where a log's file should be cannot be read as one.
	log, err := journal.BeginOperation(t.Context(), w.dir, journal.Operation{Kind: journal.OpFailover, Time: time.Now(), OldPrimary: "db1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(logs) == 0 {
		if logs, err = filepath.Glob(filepath.Join(dir, "*"+log.Operation().ID+"*")); err != nil || len(logs) == 0 {
			t.Fatalf("no promotion log in %s", dir)
		}
	}
	for _, name := range logs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := journal.Unfinished(t.Context(), w.dir); err == nil {
		t.Fatal("the journal passes over a log that is a directory: the test proves nothing")
	}
	w.journal, err = journal.Open(journal.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.journal.Close(t.Context()) }()
	w.pollLock(t.Context())
	(<-w.inbox)()
	if w.lease != nil || w.lockNote == "" {
		t.Errorf("the lock is used: lease %v, note %q", w.lease, w.lockNote)
	}
	if _, held, err := w.cfg.Locker.Holder(t.Context()); err != nil || held {
		t.Errorf("the lock is kept: held %v, %v", held, err)
	}
}
