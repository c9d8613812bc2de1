package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"failwise/failover/journal"
)

// CheckEvery is how often a held file lock looks whether its file is still there.
const CheckEvery = time.Second

// fileLease is a held [File]. The kernel keeps it as long as this process lives;
// what can take it away is somebody who removes the file, after which another
// watcher could lock a new one of that name.
type fileLease struct {
	lock *File
	held *held
	lost chan struct{}
	stop context.CancelFunc

	mu   sync.Mutex
	gone bool
}

func newFileLease(l *File, h *held) *fileLease {
	ctx, stop := context.WithCancel(context.Background())
	e := &fileLease{lock: l, held: h, lost: make(chan struct{}), stop: stop}
	go e.watch(ctx)
	return e
}

func (e *fileLease) Token() Token { return e.held.token }

func (e *fileLease) Lost() <-chan struct{} { return e.lost }

func (e *fileLease) Check(ctx context.Context) error {
	if e.isGone() {
		return ErrLost
	}
	same, err := journal.Do(ctx, e.lock.dir, "check the lock", func() (bool, error) {
		return sameFile(e.held.f, e.lock.path())
	})
	switch {
	case e.isGone():
		return ErrLost
	case err != nil:
		return e.lock.unavailable(err)
	case !same:
		if e.end() {
			go func() { _ = e.held.f.Close() }()
		}
		return ErrLost
	}
	return nil
}

func (e *fileLease) Release(ctx context.Context) error {
	if !e.end() {
		return nil
	}
	// Not through the directory's queue: a stalled operation before it must not
	// keep the lock.
	done := make(chan error, 1)
	go func() { done <- e.held.f.Close() }()
	select {
	case err := <-done:
		if err != nil {
			return e.lock.unavailable(fmt.Errorf("release: %w", err))
		}
		return nil
	case <-ctx.Done():
		return e.lock.unavailable(fmt.Errorf("release: %w", ctx.Err()))
	}
}

func (e *fileLease) isGone() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone
}

// end marks the lease as gone and reports whether it was not before.
func (e *fileLease) end() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return false
	}
	e.gone = true
	close(e.lost)
	e.stop()
	return true
}

func (e *fileLease) watch(ctx context.Context) {
	tick := time.NewTicker(CheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		check, cancel := context.WithTimeout(ctx, CheckEvery)
		err := e.Check(check)
		cancel()
		if errors.Is(err, ErrLost) {
			return
		}
	}
}
