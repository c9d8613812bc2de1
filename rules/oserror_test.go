package rules

import (
	"syscall"
	"testing"
)

func TestByOSError(t *testing.T) {
	for _, tc := range []struct {
		errno syscall.Errno
		phase Phase
		want  Outcome
		lost  bool
	}{
		{syscall.ECONNREFUSED, PhaseConnect, SocketIOError, false},
		{syscall.ECONNRESET, PhaseConnect, SocketIOError, false},
		{syscall.ECONNRESET, PhaseGreeting, SocketIOError, false},
		{syscall.EPIPE, PhaseLogin, SocketIOError, false},
		{syscall.ECONNRESET, PhaseExecute, SocketNoIO, true},
		{syscall.EPIPE, PhaseSend, SocketNoIO, true},
		{syscall.ETIMEDOUT, PhaseConnect, SocketConnectTimeout, false},
		{syscall.ETIMEDOUT, PhaseGreeting, LoginResponseTimeout, false},
		{syscall.ETIMEDOUT, PhaseExecute, SocketNoIO, true},
		{syscall.EHOSTUNREACH, PhaseConnect, NoRouteToHost, false},
		{syscall.EHOSTUNREACH, PhaseExecute, NoRouteToHost, false},
		{syscall.EHOSTDOWN, PhaseConnect, HostIsDown, false},
		{syscall.ENETUNREACH, PhaseConnect, NetworkUnreachable, false},
		{syscall.ENETDOWN, PhaseConnect, NetworkUnreachable, false},
		{syscall.EACCES, PhaseConnect, NetworkUnreachable, false},
		{syscall.EPERM, PhaseConnect, NetworkUnreachable, false},
		{syscall.EINVAL, PhaseConnect, NetworkUnreachable, false},
		{syscall.EINVAL, PhaseExecute, UnexpectedException, false},
		{syscall.EMFILE, PhaseConnect, OpenFileLimitError, false},
		{syscall.ENFILE, PhaseResolve, OpenFileLimitError, false},
		{syscall.EADDRNOTAVAIL, PhaseConnect, OpenFileLimitError, false},
		{syscall.ENOBUFS, PhaseSend, OpenFileLimitError, false},
		{syscall.EIO, PhaseExecute, SocketNoIO, false},
		{syscall.ENOTCONN, PhaseLogin, SocketNoIO, false},
		{syscall.ENOSYS, PhaseConnect, UnexpectedException, false},
		{0, PhaseConnect, UnexpectedException, false},
	} {
		got, lost := ByOSError(tc.errno, tc.phase)
		if got != tc.want || lost != tc.lost {
			t.Errorf("ByOSError(%v, %s) = %s, %v; want %s, %v", tc.errno, tc.phase, got, lost, tc.want, tc.lost)
		}
	}
}

func TestByUnixSocketError(t *testing.T) {
	for _, tc := range []struct {
		errno    syscall.Errno
		answered bool
		want     Outcome
	}{
		{syscall.ECONNREFUSED, false, SocketIOError},
		{syscall.ENOENT, true, SocketIOError},
		{syscall.ENOENT, false, UnknownHost},
		{syscall.EAGAIN, true, SocketConnectTimeout},
		{syscall.EACCES, true, UnexpectedException},
		{syscall.EMFILE, true, OpenFileLimitError},
	} {
		if got := ByUnixSocketError(tc.errno, tc.answered); got != tc.want {
			t.Errorf("ByUnixSocketError(%v, %v) = %s, want %s", tc.errno, tc.answered, got, tc.want)
		}
	}
}

func TestByErrno(t *testing.T) {
	for name, want := range map[string]Outcome{
		"ECONNREFUSED": SocketIOError, "econnreset": SocketIOError, " EHOSTUNREACH ": NoRouteToHost, "EMFILE": OpenFileLimitError,
	} {
		if got, err := ByErrno(name, PhaseNone); err != nil || got != want {
			t.Errorf("ByErrno(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	_, err := ByErrno("ECONREFUSED", PhaseNone)
	if err == nil || err.Error() != `unknown error name "ECONREFUSED"; did you mean ECONNREFUSED?` {
		t.Errorf("err = %v", err)
	}
}

func TestTimeoutOf(t *testing.T) {
	for phase, want := range map[Phase][2]Outcome{
		PhaseNone:     {Undefined, Undefined},
		PhaseResolve:  {UnknownHost, UnknownHost},
		PhaseConnect:  {SocketConnectTimeout, SocketConnectTimeout},
		PhaseGreeting: {LoginResponseTimeout, LoginResponseTimeout},
		PhaseLogin:    {LoginResponseTimeout, LoginResponseTimeout},
		PhaseSend:     {SendQueryTimeout, WriteTimeout},
		PhaseExecute:  {QueryExecTimeout, WriteTimeout},
		PhaseResults:  {QueryResultsTimeout, WriteTimeout},
	} {
		if got := TimeoutOf(phase, false); got != want[0] {
			t.Errorf("TimeoutOf(%s, false) = %s, want %s", phase, got, want[0])
		}
		if got := TimeoutOf(phase, true); got != want[1] {
			t.Errorf("TimeoutOf(%s, true) = %s, want %s", phase, got, want[1])
		}
	}
}
