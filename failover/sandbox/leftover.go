package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process identifies a process beyond the reuse of its pid.
type process struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // ticks since boot, proc(5) stat field 22; 0 where the system has no /proc
}

// identify reads the start time of a running process.
func identify(pid int) process { return process{Pid: pid, Start: startTime(pid)} }

// startTime returns 0 for a process that is gone.
func startTime(pid int) uint64 {
	fields := statFields(pid)
	if len(fields) < 20 {
		return 0
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return start
}

// statFields returns the fields of proc(5) stat from the third, the state, on.
func statFields(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The second field is the program's name in parentheses and may hold anything.
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

// kill ends the process if it is still the one that was started, and waits up to 5 s for it to go.
func (p process) kill() {
	if p.Start == 0 || startTime(p.Pid) != p.Start {
		return
	}
	for range 500 {
		if startTime(p.Pid) != p.Start || unix.Kill(p.Pid, unix.SIGKILL) != nil {
			return
		}
		if gone(p.Pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// gone tells whether a process has ended, though somebody else may have to reap it.
func gone(pid int) bool {
	fields := statFields(pid)
	return len(fields) == 0 || fields[0] == "Z"
}

// remove takes away all the record names, in the order in which one thing holds
// the next: a frozen file system keeps a killed server from ending, a server
// keeps its mount busy, a mount keeps the directory.
func (r record) remove() error {
	var errs []error
	for _, table := range r.Tables {
		errs = append(errs, deleteTable(table))
	}
	for _, mount := range r.Mounts {
		thaw(mount)
	}
	for _, p := range r.Processes {
		p.kill()
	}
	for _, group := range r.Groups {
		errs = append(errs, removeGroup(group))
	}
	for _, mount := range r.Mounts {
		errs = append(errs, unmount(mount))
	}
	if r.Dir != "" && strings.HasPrefix(filepath.Base(r.Dir), dirPrefix) {
		if err := os.RemoveAll(r.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove the sandbox's directory: %w", err))
		}
	}
	return errors.Join(errs...)
}
