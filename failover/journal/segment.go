package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	segmentPrefix = "journal-"
	segmentSuffix = ".jsonl"
	segmentDigits = 8
)

// segmentName is the file name of segment n; names sort in the order of writing.
func segmentName(n uint64) string {
	return fmt.Sprintf("%s%0*d%s", segmentPrefix, segmentDigits, n, segmentSuffix)
}

func parseSegmentName(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, segmentPrefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, segmentSuffix); !ok || len(digits) < segmentDigits {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && segmentName(n) == name
}

// listSegments returns the numbers of the segments in dir, oldest first.
func listSegments(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ns []uint64
	for _, e := range entries {
		if n, ok := parseSegmentName(e.Name()); ok {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns, nil
}

// segments is the writing end: the current file and the bound on all of them. Two
// watchers of one host may write to the same directory: every write is whole lines
// with O_APPEND, nothing is truncated, and whoever finds the file full goes on to
// the next number, which the other then finds.
type segments struct {
	dir          string
	segmentBytes int64
	maxBytes     int64

	f *os.File
	n uint64
}

// open opens the newest segment, or the first.
func (s *segments) open() error {
	if err := MakeDir(s.dir); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	ns, err := listSegments(s.dir)
	if err != nil {
		return fmt.Errorf("list the journal: %w", err)
	}
	n := uint64(1)
	if len(ns) > 0 {
		n = ns[len(ns)-1]
	}
	return s.use(n)
}

// use makes segment n the current one. A last line without an end, left by a
// crash, is ended, so that the next record stands on its own.
func (s *segments) use(n uint64) error {
	f, err := OpenFile(filepath.Join(s.dir, segmentName(n)), os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	if err := endTornLine(f); err != nil {
		return errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	if s.f != nil {
		// Its content was written; only the descriptor can be lost here.
		_ = s.f.Close()
	}
	s.f, s.n = f, n
	return nil
}

func endTornLine(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], end-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// write appends buf, which is whole lines, to the current segment.
func (s *segments) write(buf []byte) error {
	if s.f == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	info, err := s.f.Stat()
	if err != nil {
		return s.fail(fmt.Errorf("measure the journal: %w", err))
	}
	if named, err := os.Stat(s.f.Name()); err != nil || !os.SameFile(info, named) {
		// Somebody removed the file or its directory: begin again by name.
		_ = s.close()
		if err := s.open(); err != nil {
			return err
		}
		if info, err = s.f.Stat(); err != nil {
			return s.fail(fmt.Errorf("measure the journal: %w", err))
		}
	}
	if size := info.Size(); size > 0 && size+int64(len(buf)) > s.segmentBytes {
		if err := s.rotate(); err != nil {
			return s.fail(err)
		}
	}
	if _, err := s.f.Write(buf); err != nil {
		// The next open ends the half line that a full disk may have left.
		return s.fail(fmt.Errorf("write the journal: %w", err))
	}
	return nil
}

// fail gives up the current file, so that the next write opens it afresh.
func (s *segments) fail(err error) error {
	_ = s.close()
	return err
}

// rotate goes on to a newer segment and deletes the oldest ones beyond the bound.
func (s *segments) rotate() error {
	if err := s.f.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	ns, err := listSegments(s.dir)
	if err != nil {
		return fmt.Errorf("list the journal: %w", err)
	}
	next := s.n + 1
	if len(ns) > 0 {
		// The other watcher may already have gone on.
		next = max(next, ns[len(ns)-1])
	}
	if err := s.use(next); err != nil {
		return err
	}
	return s.prune(ns)
}

// prune deletes the oldest of ns until the rest and one full current segment fit.
func (s *segments) prune(ns []uint64) error {
	sizes := make([]int64, len(ns))
	total := s.segmentBytes
	for i, n := range ns {
		if n == s.n {
			continue
		}
		info, err := os.Stat(filepath.Join(s.dir, segmentName(n)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("measure the journal: %w", err)
		}
		sizes[i] = info.Size()
		total += sizes[i]
	}
	for i, n := range ns {
		if total <= s.maxBytes {
			break
		}
		if n == s.n {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, segmentName(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete the oldest journal file: %w", err)
		}
		total -= sizes[i]
	}
	return nil
}

func (s *segments) sync() error {
	if s.f == nil {
		return nil
	}
	if err := s.f.Sync(); err != nil {
		return s.fail(fmt.Errorf("sync the journal: %w", err))
	}
	return nil
}

func (s *segments) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f = nil
	return err
}
