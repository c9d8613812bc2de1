//go:build linux

package realtest

import (
	"context"
	"net"
	"runtime"

	"golang.org/x/sys/unix"

	"failwise/check"
)

func lockThread() { runtime.LockOSThread() }

// nobody is the user without rights.
const nobody = 65534

// asNobody dials with the file permissions of the user nobody.
func asNobody(ctx context.Context, network, address string) (net.Conn, error) {
	return dialIn(func() error {
		// Only this thread: setfsuid(2). It also drops the capabilities that
		// pass permissions.
		_, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})(ctx, network, address)
}

// inNamespace dials inside a named network namespace.
func inNamespace(name string) check.DialFunc {
	return dialIn(func() error {
		fd, err := unix.Open("/run/netns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Setns(fd, unix.CLONE_NEWNET)
	})
}

// listenIn listens inside a named network namespace.
func listenIn(name, address string) (net.Listener, error) {
	type result struct {
		l   net.Listener
		err error
	}
	done := make(chan result)
	go func() {
		lockThread()
		fd, err := unix.Open("/run/netns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(fd)
			err = unix.Setns(fd, unix.CLONE_NEWNET)
		}
		if err != nil {
			done <- result{err: err}
			return
		}
		l, err := net.Listen("tcp", address)
		done <- result{l, err}
	}()
	r := <-done
	return r.l, r.err
}
