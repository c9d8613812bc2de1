package lock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"failwise/check/storage/loopdisk"
	"failwise/failover/journal"
)

func TestFrozenDiskNeitherLosesNorGrantsTheLock(t *testing.T) {
	disk := loopdisk.New(t, 16<<20)
	path := filepath.Join(disk.Dir, "c1")
	lease := acquire(t, NewFile(journal.NewDir(path), "w1"))
	thaw := disk.Freeze()

	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	// Looking is a read, which a frozen file system still answers.
	if err := lease.Check(short); err != nil && !errors.Is(err, ErrUnavailable) {
		t.Errorf("check: %v", err)
	}
	begin := time.Now()
	_, err := NewFile(journal.NewDir(path), "w2").Acquire(short)
	if !errors.Is(err, ErrHeld) && !errors.Is(err, ErrUnavailable) {
		t.Errorf("acquire: %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("acquire took %s", took)
	}
	if isLost(lease) {
		t.Error("lost by a frozen disk")
	}

	// Released on the frozen disk: a new lease must write its token first, so it
	// is not granted before the thaw.
	release, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := lease.Release(release); err != nil {
		t.Errorf("release: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	third := journal.NewDir(path)
	if _, err := NewFile(third, "w3").Acquire(late); !errors.Is(err, ErrUnavailable) || !errors.Is(err, journal.ErrStalled) {
		t.Errorf("acquire on the frozen disk: %v", err)
	}
	thaw()
	if next := acquire(t, NewFile(third, "w3")); next.Token() <= lease.Token() {
		t.Errorf("token %d after %d", next.Token(), lease.Token())
	} else if err := next.Release(soon(t)); err != nil {
		t.Error(err)
	}
}
