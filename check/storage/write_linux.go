package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tempPrefix begins the name of the file that is written where files without a
// name are not supported. It has that name only for a moment.
const tempPrefix = ".failwise-probe-"

// tempAge is the age at which such a file is the remains of a killed probe.
const tempAge = time.Hour

// writeAndSync writes blocks to a file of its own and syncs each. Where nothing
// else could be read, and readBack says so, it reads the last one back.
func (c *child) writeAndSync(dir string, readBack func() bool) {
	var (
		fd     int
		direct bool
	)
	if err := c.step(StepCreate, func(r *report) (err error) {
		fd, direct, r.Note, err = openTemp(dir)
		return err
	}); err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	b, err := block()
	if err != nil {
		c.send(report{Step: StepWrite, Text: err.Error()})
		return
	}
	copy(b, "failwise check storage\n")
	for i := range c.req.Writes {
		var wrote float64
		if err := c.step(StepWrite, func(r *report) (err error) {
			r.Direct = direct
			r.Seconds, err = timed(func() error { return writeBlock(fd, b, int64(i)*blockSize) })
			if errors.Is(err, unix.EINVAL) && direct {
				// A device with sectors larger than our block.
				direct, r.Direct = false, false
				r.Note = "written through the page cache and synced: the device refuses O_DIRECT with blocks of 4 KiB"
				if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_DSYNC); err != nil {
					return err
				}
				r.Seconds, err = timed(func() error { return writeBlock(fd, b, int64(i)*blockSize) })
			}
			wrote = r.Seconds
			return err
		}); err != nil {
			return
		}
		if err := c.step(StepSync, func(r *report) (err error) {
			r.Direct = direct
			r.Seconds, err = timed(func() error {
				_, err := retry(func() (struct{}, error) { return struct{}{}, unix.Fsync(fd) })
				return err
			})
			r.Seconds += wrote
			return err
		}); err != nil {
			return
		}
	}
	if readBack() {
		_ = c.step(StepRead, func(r *report) (err error) {
			r.Direct = direct
			r.Note = "no file of at least 4 KiB that may be read: read back the block just written"
			if !direct {
				_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
			}
			r.Seconds, err = timed(func() error { return readBlock(fd, b, 0) })
			return err
		})
	}
}

func writeBlock(fd int, b []byte, offset int64) error {
	n, err := retry(func() (int, error) { return unix.Pwrite(fd, b, offset) })
	if err == nil && n != len(b) {
		return io.ErrShortWrite
	}
	return err
}

// openTemp opens a file that vanishes with its descriptor, for writing past the
// page cache where the file system allows it. note says what was not possible.
func openTemp(dir string) (fd int, direct bool, note string, err error) {
	const flags = unix.O_RDWR | unix.O_CLOEXEC | unix.O_DSYNC
	open := func(extra int) (int, error) {
		return retry(func() (int, error) { return unix.Open(dir, flags|unix.O_TMPFILE|extra, 0o600) })
	}
	fd, err = open(unix.O_DIRECT)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		name := filepath.Join(dir, fmt.Sprintf("%s%d", tempPrefix, os.Getpid()))
		removeOldTemps(dir)
		open = func(extra int) (int, error) {
			fd, err := retry(func() (int, error) { return unix.Open(name, flags|unix.O_CREAT|unix.O_EXCL|extra, 0o600) })
			// Some file systems create the file and then refuse the flags.
			if rm := unix.Unlink(name); rm != nil && err == nil {
				return -1, errors.Join(rm, unix.Close(fd))
			}
			return fd, err
		}
		fd, err = open(unix.O_DIRECT)
	}
	if !errors.Is(err, unix.EINVAL) {
		return fd, err == nil, "", err
	}
	fd, err = open(0)
	return fd, false, "written through the page cache and synced: this file system refuses O_DIRECT", err
}

func removeOldTemps(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(pickEntries)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > tempAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func timed(do func() error) (float64, error) {
	begin := time.Now()
	err := do()
	return time.Since(begin).Seconds(), err
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
