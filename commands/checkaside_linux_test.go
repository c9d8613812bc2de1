package commands

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"failwise/check/storage/loopdisk"
)

// lateness is how much longer than its timeout a check may take.
const lateness = 100 * time.Millisecond

// program runs failwise as a process of its own and tells how long it took less
// what the start of the program took just before.
func program(t *testing.T, args ...string) (code int, out string, took time.Duration) {
	t.Helper()
	run := func(args ...string) (int, string, time.Duration) {
		t.Helper()
		var out bytes.Buffer
		cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"failwise"}, args...), Env: []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}, Stdout: &out, Stderr: &out}
		begin := time.Now()
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), time.Since(begin)
	}
	_, _, start := run("version")
	code, out, took = run(args...)
	return code, out, took - start
}

// punctual holds a check to its timeout. A machine that does something else may
// delay one try, not each of three.
func punctual(t *testing.T, timeout time.Duration, try func() time.Duration) {
	t.Helper()
	var best time.Duration
	for i := range 3 {
		if took := try(); i == 0 || took < best {
			best = took
		}
		if best <= timeout+lateness {
			return
		}
	}
	t.Errorf("took %s of a timeout of %s at best", best, timeout)
}

// TestCheckWhoseFilesNeverCome asks for files on a file system that does not answer:
// a thread that reads them cannot be stopped.
func TestCheckWhoseFilesNeverCome(t *testing.T) {
	silent, dir := loopdisk.Silent(t), t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cluster := "clusters: {shop: {nodes: [127.0.0.1:1]}}\n"
	tests := []struct{ name, line, file string }{
		{"configuration", "check connect 127.0.0.1:1 --config SILENT/c.yaml", "c.yaml"},
		{"password file", "check connect 127.0.0.1:1 --password-file SILENT/p", "p"},
		{"option file", "check connect 127.0.0.1:1 --defaults-file SILENT/my.cnf", "my.cnf"},
		{"authority", "check connect 127.0.0.1:1 --ssl-ca SILENT/ca.pem", "ca.pem"},
		{"authority of an option file", "check connect 127.0.0.1:1 --defaults-file " + write("my.cnf", "[client]\nssl-ca="+silent+"/ca2.pem\n"), "ca2.pem"},
		{"statemap", "check cluster --config " + write("s.yaml", "defaults: {statemap: SILENT/map}\n"+cluster), "map"},
		{"password file of a replica's check", "check replica 127.0.0.1:1 --password-file SILENT/p2", "p2"},
		{"state directory", "check watch --config " + write("w.yaml", "state_dir: SILENT/state\n"+cluster), "state"},
		{"state directory of a cluster's check", "check cluster --json --config " + filepath.Join(dir, "w.yaml"), "state"},
	}
	for _, file := range []string{"s.yaml", "w.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		write(file, strings.ReplaceAll(string(text), "SILENT", silent))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words := strings.Fields(strings.ReplaceAll(tt.line, "SILENT", silent) + " -t 1s")
			punctual(t, time.Second, func() time.Duration {
				code, out, took := program(t, words...)
				if code != int(ExitUnknown) || !strings.Contains(out, "no answer ") || !strings.Contains(out, silent+"/"+tt.file) {
					t.Fatalf("exit code %d: %s", code, out)
				}
				return took
			})
		})
	}
}

// TestCheckWhoseFilesAreOnDiskOnly reads a configuration that is not in memory.
func TestCheckWhoseFilesAreOnDiskOnly(t *testing.T) {
	disk := loopdisk.New(t, 4<<20)
	file := filepath.Join(disk.Dir, "failwise.yaml")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	if err := os.WriteFile(file, []byte("clusters: {shop: {nodes: [{name: db1, address: "+address+"}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	forget(t, file)
	for _, where := range []string{"disk", "memory"} {
		code, out, _ := program(t, "check", "connect", "db1", "--config", file, "-v")
		if code != int(ExitCritical) || !strings.HasPrefix(out, "CRITICAL - db1 ("+address+") stopped: socket_io_error: ") || !strings.Contains(out, "\nphase: connect\n") {
			t.Errorf("from %s: exit code %d: %s", where, code, out)
		}
	}
	forget(t, file)
	if code, out, _ := program(t, "check", "connect", "db1", "--config", file, "--json", "-t", "junk"); code != int(ExitUnknown) {
		t.Errorf("wrong usage: exit code %d: %s", code, out)
	}
	// A damaged file is told as in one process, its hint on standard error.
	if err := os.WriteFile(file, []byte("clusters: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, direct, _ := program(t, "check", "connect", "db1", "--config", file)
	forget(t, file)
	if code, out, _ := program(t, "check", "connect", "db1", "--config", file); code != int(ExitUnknown) || out != direct {
		t.Errorf("a damaged file: exit code %d: %s, in memory: %s", code, out, direct)
	}
}

// forget drops what the kernel keeps of a file's content.
func forget(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
}

// TestChecksOfOneFileThatNeverComesWaitForEachOther leaves one process stuck,
// however many checks are made.
func TestChecksOfOneFileThatNeverComesWaitForEachOther(t *testing.T) {
	file := filepath.Join(loopdisk.Silent(t), "failwise.yaml")
	for i := range 3 {
		code, out, _ := program(t, "check", "connect", "127.0.0.1:1", "--config", file, "-t", "1s")
		if code != int(ExitUnknown) || !strings.Contains(out, "reading "+file) {
			t.Errorf("check %d: exit code %d: %s", i, code, out)
		}
	}
	// Those that waited for their turn were ended and go in a moment.
	stuck := waiting(t)
	for limit := time.Now().Add(5 * time.Second); stuck != 1 && time.Now().Before(limit); stuck = waiting(t) {
		time.Sleep(20 * time.Millisecond)
	}
	if stuck != 1 {
		t.Errorf("%d processes are stuck, want one", stuck)
	}
}

// waiting counts the processes of this test's process group that it is not itself
// and that have not ended.
func waiting(t *testing.T) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent group …; the name may hold anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[2] == strconv.Itoa(unix.Getpgrp()) && filepath.Base(filepath.Dir(file)) != strconv.Itoa(os.Getpid()) {
			exe, err := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
			self, selfErr := os.Readlink("/proc/self/exe")
			if err != nil || selfErr != nil || exe == self {
				n++
			}
		}
	}
	return n
}
