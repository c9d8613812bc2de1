package loopdisk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The parts of the protocol of FUSE (linux/fuse.h, version 7.31) that it takes to
// mount a file system.
const (
	fuseInit       = 26
	fuseHeadIn     = 40 // bytes before the body of a request
	fuseHeadOut    = 16 // bytes before the body of an answer
	fuseInitAnswer = 64
)

// Silent mounts a file system whose server has taken every request and answers none,
// as that of a file server that is gone, until the end of the test. Who touches it
// waits uninterruptibly.
func Silent(t testing.TB) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		unable(t, "mounting a file system needs root")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		unable(t, "open /dev/fuse: "+err.Error())
	}
	dir = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("silent", dir, "fuse", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		_ = unix.Close(fd) // nothing was written
		unable(t, "mount: "+err.Error())
	}
	server := os.NewFile(uintptr(fd), "/dev/fuse") // before the mount it cannot be polled
	done := make(chan error, 1)
	go func() { done <- listenAndIgnore(server) }()
	t.Cleanup(func() {
		// Closing the device ends every request, and with it who waits.
		if err := errors.Join(server.Close(), <-done, unix.Unmount(dir, unix.MNT_DETACH)); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// listenAndIgnore answers the first request, without which all others wait
// interruptibly, and takes the rest.
func listenAndIgnore(server *os.File) error {
	request := make([]byte, 1<<17)
	for {
		n, err := server.Read(request)
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return err
		case n < fuseHeadIn || binary.NativeEndian.Uint32(request[4:]) != fuseInit:
			continue
		}
		answer := make([]byte, fuseHeadOut+fuseInitAnswer)
		binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
		copy(answer[8:16], request[8:16]) // the request's number
		body := answer[fuseHeadOut:]
		binary.NativeEndian.PutUint32(body, 7)
		binary.NativeEndian.PutUint32(body[4:], 31)
		binary.NativeEndian.PutUint32(body[20:], 4096) // the largest write
		if _, err := server.Write(answer); err != nil {
			return err
		}
	}
}
