package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"failwise/rules"
)

// statemap reads the user's rule file again when it changes. A file that does
// not parse leaves the last good rules in force.
type statemap struct {
	path string
	base *rules.Map

	stamp  stamp
	source []byte
	now    *rules.Map
}

// stamp is what is compared each second before the content is.
type stamp struct {
	size    int64
	changed int64 // modification time, nanoseconds
	inode   uint64
	there   bool
}

// reading is what one look at the file gave.
type reading struct {
	rules    *rules.Map
	changes  []rules.Change
	warnings []rules.Problem
	// err is set when the file was rejected: the rules before it stay.
	err error
}

func newStatemap(path string, base *rules.Map) *statemap {
	return &statemap{path: path, base: base, now: base}
}

// load reads the file whatever its stamp says. It returns false when there is
// nothing new.
func (s *statemap) load() (reading, bool) {
	if s.path == "" {
		return reading{}, false
	}
	s.stamp = stampOf(s.path)
	source, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.take(nil, s.base, nil)
	}
	if err != nil {
		return reading{rules: s.now, err: fmt.Errorf("read statemap: %w", err)}, true
	}
	if s.source != nil && bytes.Equal(source, s.source) {
		return reading{}, false
	}
	next, warnings, err := rules.Parse(s.path, source, s.base)
	if err != nil {
		s.source = source
		return reading{rules: s.now, warnings: warnings, err: err}, true
	}
	return s.take(source, next, warnings)
}

// loadWithin is load for who waits for the disk no longer than ctx; after its error
// s is of no use.
func (s *statemap) loadWithin(ctx context.Context) (reading, bool) {
	type look struct {
		reading
		fresh bool
	}
	done := make(chan look, 1)
	go func() {
		r, fresh := s.load()
		done <- look{r, fresh}
	}()
	select {
	case l := <-done:
		return l.reading, l.fresh
	case <-ctx.Done():
		return reading{err: fmt.Errorf("read statemap %s: %w", s.path, ctx.Err())}, false
	}
}

func (s *statemap) take(source []byte, next *rules.Map, warnings []rules.Problem) (reading, bool) {
	changes := s.now.Diff(next)
	fresh := (s.source == nil) != (source == nil) || len(changes) > 0 || !bytes.Equal(s.source, source)
	s.source, s.now = source, next
	return reading{rules: next, changes: changes, warnings: warnings}, fresh
}

// poll looks whether size, time or inode have changed, and loads if so.
func (s *statemap) poll() (reading, bool) {
	if s.path == "" || stampOf(s.path) == s.stamp {
		return reading{}, false
	}
	return s.load()
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{size: info.Size(), changed: info.ModTime().UnixNano(), inode: inodeOf(info), there: true}
}
