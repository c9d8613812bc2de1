package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Looking for a file to read is bounded: so many entries are looked at, and so
// many of the largest files tried.
const (
	pickEntries = 2000
	pickTries   = 20
)

// readFile reads one block of file, or of a large file in dir or one level below
// it, past the page cache. It reports whether there was one to read.
func (c *child) readFile(dir, file string, dev uint64) bool {
	files := []string{file}
	if file == "" {
		if err := c.step(StepPick, func(*report) (err error) {
			files, err = largest(dir, dev)
			return err
		}); err != nil {
			return true // reported; the directory cannot even be listed
		}
	}
	for _, name := range files {
		err := c.step(StepRead, func(r *report) error {
			r.File = name
			return c.readOne(name, r)
		})
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// largest lists files of at least one block on device dev, the largest first.
func largest(dir string, dev uint64) ([]string, error) {
	type candidate struct {
		name   string
		blocks int64
	}
	var found []candidate
	left := pickEntries
	dirs := []string{dir}
	for depth := 0; depth < 2; depth++ {
		var below []string
		for _, d := range dirs {
			f, err := os.Open(d)
			if err != nil {
				if depth == 0 {
					return nil, err
				}
				continue // one that others own
			}
			entries, err := f.ReadDir(left)
			_ = f.Close()
			if err != nil && len(entries) == 0 && depth == 0 && left > 0 && !isEOF(err) {
				return nil, err
			}
			for _, e := range entries {
				name := filepath.Join(d, e.Name())
				var st unix.Stat_t
				switch {
				case e.IsDir():
					below = append(below, name)
				case e.Type().IsRegular() && unix.Lstat(name, &st) == nil && st.Dev == dev && st.Size >= blockSize && st.Blocks > 0:
					found = append(found, candidate{name, st.Blocks})
				}
			}
			if left -= len(entries); left <= 0 {
				depth = 2
				break
			}
		}
		dirs = below
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range found[:min(len(found), pickTries)] {
		names = append(names, f.name)
	}
	return names, nil
}

// readOne reads one block at random of one file.
func (c *child) readOne(name string, r *report) error {
	fd, direct, err := openRead(name)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	offset := dataOffset(fd, st.Size)
	b, err := block()
	if err != nil {
		return err
	}
	if !direct {
		// A clean cached page goes; one that stays makes the read too fast, which
		// the note below owns up to.
		_ = unix.Fadvise(fd, offset, blockSize, unix.FADV_DONTNEED)
		r.Note = fmt.Sprintf("read of %s went through the page cache: this file system refuses O_DIRECT", name)
	}
	r.Direct = direct
	r.Seconds, err = timed(func() error { return readBlock(fd, b, offset) })
	return err
}

// openRead opens a file for reading past the page cache, where the file system
// allows it, without marking it as accessed, where we are allowed to.
func openRead(name string) (fd int, direct bool, err error) {
	for _, flags := range []int{unix.O_DIRECT | unix.O_NOATIME, unix.O_DIRECT, unix.O_NOATIME, 0} {
		fd, err = retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|flags, 0) })
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return fd, flags&unix.O_DIRECT != 0, err
		}
	}
	return fd, false, err
}

// dataOffset is a random block of the file that is no hole: a hole is read without
// the disk.
func dataOffset(fd int, size int64) int64 {
	const seekData = 3 // SEEK_DATA, lseek(2)
	blocks := size / blockSize
	if blocks < 2 {
		return 0
	}
	for _, from := range []int64{rand.Int64N(blocks) * blockSize, 0} {
		at, err := unix.Seek(fd, from, seekData)
		if err == nil {
			return min(at/blockSize, blocks-1) * blockSize
		}
	}
	return 0
}
