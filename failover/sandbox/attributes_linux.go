package sandbox

import (
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// runAs is the user the servers run as. A server run by root gives up its rights
// itself, but only to a user who can read its plugins, which may lie in root's
// home; so it is started as that user, with the one capability to read any file.
type runAs struct {
	uid, gid int
	change   bool // false: as the user of this process
}

// serverUser picks the user: this one unless it is root; then mysql, or nobody.
func serverUser() runAs {
	same := runAs{uid: os.Getuid(), gid: os.Getgid()}
	if same.uid != 0 || !mayGive(unix.CAP_DAC_READ_SEARCH) || !mayGive(unix.CAP_SETUID) {
		return same
	}
	for _, name := range []string{"mysql", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil {
			return runAs{uid: uid, gid: gid, change: true}
		}
	}
	return same
}

// mayGive tells whether a capability is in this process's bounding set.
func mayGive(capability uintptr) bool {
	set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0)
	return err == nil && set == 1
}

// attributes ties a server's life to the starting thread's and sets its user.
// Its own process group keeps a terminal's SIGINT from it: it is closed in order.
func (r runAs) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if r.change {
		attr.Credential = &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.gid)}
		attr.AmbientCaps = []uintptr{unix.CAP_DAC_READ_SEARCH}
	}
	return attr
}
