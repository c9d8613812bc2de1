//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// runAs is the user the servers run as, always this process's own.
type runAs struct {
	uid, gid int
	change   bool
}

func serverUser() runAs { return runAs{uid: os.Getuid(), gid: os.Getgid()} }

// attributes keeps a terminal's SIGINT from a server: it is closed in order.
func (r runAs) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
