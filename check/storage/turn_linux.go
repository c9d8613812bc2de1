package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// turnPause is how often a child looks whether the one before it has come back.
const turnPause = 50 * time.Millisecond

// takeTurn lets one child at a time probe a path, so that a check that runs every
// minute leaves one stuck process on a disk that hangs for a day, not a thousand.
// The turn is a socket in the abstract namespace (unix(7)): it needs no disk and
// goes with the last thread of its process, not with the kill.
func (c *child) takeTurn(ctx context.Context) (net.Listener, error) {
	cwd, err := os.Readlink("/proc/self/cwd")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", os.Getuid(), cwd, c.req.Path))
	name := fmt.Sprintf("@failwise-storage-%x", sum[:12])
	var turn net.ListenConfig
	l, err := turn.Listen(ctx, "unix", name)
	if !errors.Is(err, unix.EADDRINUSE) {
		return l, err
	}
	c.send(report{Step: StepTurn, Begin: true, PID: listener(ctx, name)})
	for {
		time.Sleep(turnPause)
		l, err := turn.Listen(ctx, "unix", name)
		if !errors.Is(err, unix.EADDRINUSE) {
			c.send(report{Step: StepTurn})
			return l, err
		}
	}
}

// listener is the process that listens on the socket, 0 if that cannot be told.
func listener(ctx context.Context, name string) int {
	dialer := net.Dialer{Timeout: turnPause}
	conn, err := dialer.DialContext(ctx, "unix", name)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if err != nil {
		return 0
	}
	return pid
}
