package rules

import "syscall"

// osError is one row of the table of the operating system's error numbers.
type osError struct {
	errno   syscall.Errno
	name    string
	outcome Outcome
	// upTo restricts the row to phases up to this one.
	upTo Phase
	// lost: after a good login the number says that the session ended.
	lost bool
}

// osErrors is in the catalogue's order. A connection that ends after a good login
// decides nothing; see [ByOSError].
var osErrors = []osError{
	{errno: syscall.ECONNREFUSED, name: "ECONNREFUSED", outcome: SocketIOError, upTo: PhaseLogin},
	{errno: syscall.ECONNRESET, name: "ECONNRESET", outcome: SocketIOError, upTo: PhaseLogin, lost: true},
	{errno: syscall.EPIPE, name: "EPIPE", outcome: SocketIOError, upTo: PhaseLogin, lost: true},
	{errno: syscall.ECONNABORTED, name: "ECONNABORTED", outcome: SocketIOError, upTo: PhaseLogin, lost: true},
	// The kernel gave up: on a connection in use it ends the session.
	{errno: syscall.ETIMEDOUT, name: "ETIMEDOUT", outcome: SocketConnectTimeout, upTo: PhaseConnect},
	{errno: syscall.ETIMEDOUT, name: "ETIMEDOUT", outcome: LoginResponseTimeout, upTo: PhaseLogin, lost: true},
	{errno: syscall.EHOSTUNREACH, name: "EHOSTUNREACH", outcome: NoRouteToHost, upTo: PhaseResults},
	{errno: syscall.EHOSTDOWN, name: "EHOSTDOWN", outcome: HostIsDown, upTo: PhaseResults},
	{errno: syscall.EMFILE, name: "EMFILE", outcome: OpenFileLimitError, upTo: PhaseResults},
	{errno: syscall.ENFILE, name: "ENFILE", outcome: OpenFileLimitError, upTo: PhaseResults},
	{errno: syscall.EADDRNOTAVAIL, name: "EADDRNOTAVAIL", outcome: OpenFileLimitError, upTo: PhaseResults},
	{errno: syscall.ENOBUFS, name: "ENOBUFS", outcome: OpenFileLimitError, upTo: PhaseResults},
	{errno: syscall.EIO, name: "EIO", outcome: SocketNoIO, upTo: PhaseResults},
	{errno: syscall.ENOTCONN, name: "ENOTCONN", outcome: SocketNoIO, upTo: PhaseResults},
	{errno: syscall.ENETUNREACH, name: "ENETUNREACH", outcome: NetworkUnreachable, upTo: PhaseResults},
	{errno: syscall.ENETDOWN, name: "ENETDOWN", outcome: NetworkUnreachable, upTo: PhaseResults},
	// From connect(2) these are a local policy: a `prohibit` route, an output
	// filter, a `blackhole` route.
	{errno: syscall.EACCES, name: "EACCES", outcome: NetworkUnreachable, upTo: PhaseConnect},
	{errno: syscall.EPERM, name: "EPERM", outcome: NetworkUnreachable, upTo: PhaseConnect},
	{errno: syscall.EINVAL, name: "EINVAL", outcome: NetworkUnreachable, upTo: PhaseConnect},
}

// unixErrors are the rows in which connecting to a unix socket differs.
var unixErrors = []osError{
	{errno: syscall.ECONNREFUSED, name: "ECONNREFUSED", outcome: SocketIOError},
	// The listener's backlog is full: a frozen server.
	{errno: syscall.EAGAIN, name: "EAGAIN", outcome: SocketConnectTimeout},
	{errno: syscall.EACCES, name: "EACCES", outcome: UnexpectedException},
	{errno: syscall.ENOENT, name: "ENOENT", outcome: UnknownHost},
}

// ByOSError returns the outcome of a probe over TCP that ended with an error
// number of the operating system in a phase. lost says that the session broke
// after a good login: the caller makes one new connection, and only if it cannot
// does the outcome count. A number that no row names is [UnexpectedException].
func ByOSError(errno syscall.Errno, phase Phase) (o Outcome, lost bool) {
	for _, e := range osErrors {
		if e.errno != errno {
			continue
		}
		if phase <= e.upTo {
			return e.outcome, false
		}
		if e.lost {
			return SocketNoIO, true
		}
	}
	return UnexpectedException, false
}

// ByUnixSocketError is [ByOSError] for connecting to a unix socket. answered says
// that this path has answered before: a missing socket is then a stopped server
// and otherwise a wrong path.
func ByUnixSocketError(errno syscall.Errno, answered bool) Outcome {
	if errno == syscall.ENOENT && answered {
		return SocketIOError
	}
	for _, e := range unixErrors {
		if e.errno == errno {
			return e.outcome
		}
	}
	o, _ := ByOSError(errno, PhaseConnect)
	return o
}

// ByErrno returns the outcome of an error number of the operating system given by
// its name, such as "ECONNREFUSED", in a phase. Its error is an [*UnknownError].
func ByErrno(name string, phase Phase) (Outcome, error) {
	errno, err := ParseErrno(name)
	if err != nil {
		return 0, err
	}
	o, _ := ByOSError(errno, phase)
	return o, nil
}

// ParseErrno returns the error number with a name like "ECONNREFUSED"; case does
// not matter. It knows the numbers that decide an outcome.
func ParseErrno(name string) (syscall.Errno, error) {
	var names []string
	var numbers []syscall.Errno
	for _, table := range [][]osError{osErrors, unixErrors} {
		for _, e := range table {
			names = append(names, e.name)
			numbers = append(numbers, e.errno)
		}
	}
	i, err := lookUp("error name", name, names, false)
	if err != nil {
		return 0, err
	}
	return numbers[i], nil
}

// ErrnoName returns the name of an error number that decides an outcome, or "".
func ErrnoName(errno syscall.Errno) string {
	for _, table := range [][]osError{osErrors, unixErrors} {
		for _, e := range table {
			if e.errno == errno {
				return e.name
			}
		}
	}
	return ""
}

// Errnos returns the names of the operating system's error numbers that lead to o
// over TCP.
func Errnos(o Outcome) []string {
	var names []string
	for _, e := range osErrors {
		if e.outcome == o {
			names = append(names, e.name)
		}
	}
	return names
}
