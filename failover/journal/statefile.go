package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	stateName     = "state.json"
	stateLockName = "state.lock"
)

// StateFile is the state of one cluster on disk. Every method waits for the disk
// only as long as its context allows.
type StateFile struct {
	dir *Dir
}

// NewStateFile returns the state file in dir. It touches nothing.
func NewStateFile(dir *Dir) *StateFile { return &StateFile{dir: dir} }

// Version identifies one content of the file; its zero value is no file.
type Version struct {
	ino     uint64
	size    int64
	modNano int64
}

// Load reads the state; a file that does not exist is the zero State.
func (s *StateFile) Load(ctx context.Context) (State, Version, error) {
	type loaded struct {
		state   State
		version Version
	}
	l, err := Do(ctx, s.dir, "read state", func() (loaded, error) {
		state, version, err := readState(s.name())
		return loaded{state, version}, err
	})
	return l.state, l.version, err
}

// Changed reports whether the file is no longer the given version: another process
// has updated it. It is cheap enough for every second.
func (s *StateFile) Changed(ctx context.Context, v Version) (bool, error) {
	now, err := Do(ctx, s.dir, "look at state", func() (Version, error) {
		info, err := os.Stat(s.name())
		if errors.Is(err, fs.ErrNotExist) {
			return Version{}, nil
		}
		if err != nil {
			return Version{}, err
		}
		return versionOf(info), nil
	})
	return err == nil && now != v, err
}

// ErrStateLocked means that another process was changing the state all the time;
// nothing was changed here.
var ErrStateLocked = errors.New("another process holds " + stateLockName)

// lockPause is how long to wait before asking again for the lock between
// processes.
const lockPause = 5 * time.Millisecond

// lockMargin is left of the caller's time when the lock is asked for no more: an
// attempt that the deadline cuts off could not tell whether it took effect.
const lockMargin = 100 * time.Millisecond

// Update changes the state under a lock between processes: it reads the file,
// applies change and replaces the file atomically, synced. An error of change
// leaves the file as it was. change must touch nothing but its argument, since it
// runs on the disk's goroutine, and may run again when its result was not kept.
// After an [ErrStalled] that is not [StalledError.Behind] the change may still take
// effect; after [ErrStateLocked] it does not.
func (s *StateFile) Update(ctx context.Context, change func(*State) error) (State, Version, error) {
	type updated struct {
		state   State
		version Version
	}
	for {
		u, err := Do(ctx, s.dir, "update state", func() (updated, error) {
			state, version, err := s.update(change)
			return updated{state, version}, err
		})
		if !errors.Is(err, ErrStateLocked) {
			return u.state, u.version, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < lockMargin {
			return State{}, Version{}, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return State{}, Version{}, err
		}
	}
}

func (s *StateFile) update(change func(*State) error) (State, Version, error) {
	unlock, err := lockState(filepath.Join(s.dir.Path(), stateLockName))
	if err != nil {
		return State{}, Version{}, err
	}
	defer unlock()
	state, _, err := readState(s.name())
	if err != nil {
		return State{}, Version{}, err
	}
	if err := change(&state); err != nil {
		return State{}, Version{}, err
	}
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return State{}, Version{}, err
	}
	if err := ReplaceFile(s.name(), append(data, '\n')); err != nil {
		return State{}, Version{}, err
	}
	info, err := os.Stat(s.name())
	if err != nil {
		return State{}, Version{}, err
	}
	return state, versionOf(info), nil
}

func (s *StateFile) name() string { return filepath.Join(s.dir.Path(), stateName) }

// StateError is a state file that cannot be understood. Nobody overwrites it: it
// may hold the only word on a policy or a quota.
type StateError struct {
	File string
	Err  error
}

func (e *StateError) Error() string {
	return fmt.Sprintf("state file %s is damaged: %v; repair it, or move it away to begin with no policy, quota or shunned node remembered", e.File, e.Err)
}

func (e *StateError) Unwrap() error { return e.Err }

func readState(name string) (State, Version, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, Version{}, nil
	}
	if err != nil {
		return State{}, Version{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return State{}, Version{}, err
	}
	var state State
	if err := json.NewDecoder(f).Decode(&state); err != nil {
		return State{}, Version{}, &StateError{File: name, Err: err}
	}
	return state, versionOf(info), nil
}

func versionOf(info fs.FileInfo) Version {
	v := Version{size: info.Size(), modNano: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		v.ino = st.Ino
	}
	return v
}

// lockState keeps two processes from losing each other's update.
func lockState(name string) (unlock func(), err error) {
	if err := MakeDir(filepath.Dir(name)); err != nil {
		return nil, err
	}
	f, err := OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(ErrStateLocked, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
