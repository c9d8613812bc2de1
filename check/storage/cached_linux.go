package storage

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// resolveCached is RESOLVE_CACHED of openat2(2).
const resolveCached = 0x20

// Cached reports whether the file at path can be read, or be seen to be missing,
// from memory: without asking a disk or a file server, which may not answer, and
// without waiting. A thread that waits for one cannot be stopped, and no process
// ends before all its threads. What is no regular file (a pipe, a terminal) counts
// as cached, since waiting for it can be stopped; so does everything where the
// kernel cannot tell (Linux before 5.12).
func Cached(path string) bool {
	// The kernel's own, and names of this process's own files, such as /dev/fd/63.
	if strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/") {
		return true
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveCached}
	at, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false
	case err != nil:
		return true // it is missing or forbidden, or the kernel knows no such call
	}
	defer unix.Close(at) //nolint:errcheck // nothing was written
	var st unix.Statx_t
	// What the file's own server says of it is not asked for.
	err = unix.Statx(at, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	switch {
	case err != nil:
		return false
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return true
	}
	if st.Dev_major == 0 {
		switch kind := unnumbered(strconv.Itoa(int(st.Dev_minor))); {
		case slices.Contains([]string{"tmpfs", "ramfs", "devtmpfs", "proc", "sysfs", "overlay"}, kind):
			return true // an overlay's own disk cannot be asked this way
		case kind != "btrfs":
			return false
		}
	}
	return resident(at)
}

// unnumbered is the type of the mounted file system without a block device whose
// number is 0:minor, "" if there is none.
func unnumbered(minor string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	mounts, err := readMounts(f)
	if err != nil {
		return ""
	}
	for i := range mounts {
		if mounts[i].dev == "0:"+minor {
			return mounts[i].Type
		}
	}
	return ""
}

// resident reports whether all of a file's content is in memory.
func resident(at int) bool {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(at), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return true // forbidden: reading it fails at once
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	b := make([]byte, 16<<10)
	for offset := int64(0); ; {
		n, err := retry(func() (int, error) { return unix.Preadv2(fd, [][]byte{b}, offset, unix.RWF_NOWAIT) })
		switch {
		case err != nil:
			return false
		case n == 0:
			return true
		}
		offset += int64(n)
	}
}
