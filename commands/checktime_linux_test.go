package commands

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"failwise/check/fakeserver"
	"failwise/check/storage/loopdisk"
)

// TestChecksEndInTime holds every kind of hang to the timeout, from the start of the
// process to its end.
func TestChecksEndInTime(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	hang := filepath.Join(dir, "hang.yaml")
	if err := os.WriteFile(hang, []byte("defaults: {password_command: [sleep, \"60\"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stubborn := filepath.Join(dir, "stubborn.yaml")
	if err := os.WriteFile(stubborn, []byte("defaults: {password_command: [sh, -c, \"trap '' TERM INT HUP; sleep 60 & sleep 60\"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, line, want string }{
		{"accepts and is silent", "connect " + backlog(t, 64), "login_response_timeout"},
		{"no room for a connection", "connect " + full(t), "socket_connect_timeout"},
		{"silent in the login", "connect " + fake(t, fakeserver.Behaviour{LoginDelay: fakeserver.Never}), "login_response_timeout"},
		{"no answer to the statement", "connect " + fake(t, fakeserver.Behaviour{ExecuteDelay: fakeserver.Never}), "query_exec_timeout"},
		{"no answer to the insert", "insert " + fake(t, fakeserver.Behaviour{ExecuteDelay: fakeserver.Never}), "query_exec_timeout"},
		{"replica that is silent", "replica " + backlog(t, 64), "login_response_timeout"},
		{"cluster that is silent", "cluster -H " + backlog(t, 64) + " -H " + backlog(t, 64), "login_response_timeout"},
		{"password command", "connect 127.0.0.1:1 --config " + hang, "hung in: the password"},
		{"password command that ignores signals", "connect 127.0.0.1:1 --config " + stubborn, "hung in: the password"},
		{"password file without a writer", "connect 127.0.0.1:1 --password-file " + fifo, "hung in: the password"},
		{"option file without a writer", "connect 127.0.0.1:1 --defaults-file " + fifo, "hung in: the password"},
		{"authority without a writer", "connect 127.0.0.1:1 --ssl-ca " + fifo, "hung in: the TLS files"},
		{"configuration without a writer", "connect 127.0.0.1:1 --config " + fifo, "hung in: the configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endsInTime(t, "check "+tt.line+" --user monitor", tt.want)
		})
	}
}

// TestStorageChecksEndInTime freezes the disk for good.
func TestStorageChecksEndInTime(t *testing.T) {
	disk := loopdisk.New(t, 4<<20)
	defer disk.Freeze()()
	endsInTime(t, "check storage "+disk.Dir, "stalled")
}

func endsInTime(t *testing.T, line, want string) {
	t.Helper()
	const timeout = time.Second
	punctual(t, timeout, func() time.Duration {
		code, out, took := program(t, strings.Fields(line+" -t "+timeout.String())...)
		if code != int(ExitCritical) && code != int(ExitUnknown) || !strings.Contains(out, want) {
			t.Errorf("exit code %d: %s", code, out)
		}
		return took
	})
}

// fake answers like a server.
func fake(t *testing.T, b fakeserver.Behaviour) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := fakeserver.New(b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		f.Close()
	})
	return l.Addr().String()
}

// backlog listens and accepts nothing: the kernel does, as long as there is room.
func backlog(t *testing.T, room int) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, room); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
}

// full is an address whose backlog has no room left: packets to it are dropped.
func full(t *testing.T) string {
	t.Helper()
	address := backlog(t, 0)
	for range 4 {
		c, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return address
}
