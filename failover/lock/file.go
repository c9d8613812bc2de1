package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"failwise/failover/journal"
)

const fileName = "lock"

// acquireTries and acquirePause cover the moment in which somebody else only looks
// at the lock and, by looking, holds it.
const (
	acquireTries = 3
	acquirePause = 10 * time.Millisecond
)

// File is a lock on the file "lock" in a cluster's state directory.
type File struct {
	dir     *journal.Dir
	watcher string
}

var _ Locker = (*File)(nil)

// NewFile returns the lock in dir; watcher is the name given to others. It touches
// nothing.
func NewFile(dir *journal.Dir, watcher string) *File {
	return &File{dir: dir, watcher: watcher}
}

func (l *File) path() string { return filepath.Join(l.dir.Path(), fileName) }

func (l *File) unavailable(err error) error {
	return &UnavailableError{Lock: l.path(), Err: err}
}

// Acquire implements [Locker]. A lock that the disk grants only after ctx ended is
// given back.
func (l *File) Acquire(ctx context.Context) (Lease, error) {
	for try := 1; ; try++ {
		h, err := l.acquire(ctx)
		if err == nil {
			return newFileLease(l, h), nil
		}
		if !errors.Is(err, ErrHeld) || try == acquireTries {
			return nil, err
		}
		select {
		case <-time.After(acquirePause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// held is the lock's file while this process holds it.
type held struct {
	f     *os.File
	token Token
}

func (l *File) acquire(ctx context.Context) (*held, error) {
	var (
		mu        sync.Mutex
		got       *held
		abandoned bool
	)
	_, err := journal.Do(ctx, l.dir, "take the lock", func() (struct{}, error) {
		h, err := l.take()
		if err != nil {
			return struct{}{}, err
		}
		mu.Lock()
		defer mu.Unlock()
		if abandoned {
			return struct{}{}, h.f.Close()
		}
		got = h
		return struct{}{}, nil
	})
	mu.Lock()
	defer mu.Unlock()
	if got != nil {
		return got, nil
	}
	abandoned = true
	var other *HeldError
	if errors.As(err, &other) {
		return nil, other
	}
	return nil, l.unavailable(err)
}

// take takes the lock, draws the next token and says who holds it.
func (l *File) take() (_ *held, err error) {
	if err := journal.MakeDir(l.dir.Path()); err != nil {
		return nil, err
	}
	f, err := journal.OpenFile(l.path(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	switch err := flock(f, syscall.LOCK_EX); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, &HeldError{Holder: readHolder(f)}
	case err != nil:
		return nil, fmt.Errorf("flock %s: %w", l.path(), err)
	}
	if same, err := sameFile(f, l.path()); err != nil || !same {
		return nil, errors.Join(errors.New("the file was replaced meanwhile"), err)
	}
	token, err := nextToken(l.dir.Path(), readHolder(f).Token)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	h := Holder{Watcher: l.watcher, Host: host, PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Millisecond), Token: token}
	if err := writeHolder(f, h); err != nil {
		return nil, err
	}
	return &held{f: f, token: token}, nil
}

// Holder implements [Locker].
func (l *File) Holder(ctx context.Context) (Holder, bool, error) {
	type answer struct {
		holder Holder
		ok     bool
	}
	a, err := journal.Do(ctx, l.dir, "look at the lock", func() (answer, error) {
		f, err := os.Open(l.path())
		if errors.Is(err, os.ErrNotExist) {
			return answer{}, nil
		}
		if err != nil {
			return answer{}, err
		}
		defer func() { _ = f.Close() }()
		switch err := flock(f, syscall.LOCK_SH); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return answer{readHolder(f), true}, nil
		case err != nil:
			return answer{}, err
		}
		return answer{}, nil
	})
	if err != nil {
		return Holder{}, false, l.unavailable(err)
	}
	return a.holder, a.ok, nil
}

// flock takes a lock on f without waiting; it goes with the descriptor, which no
// child of this process inherits.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func sameFile(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}
