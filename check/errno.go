package check

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errnoOf finds the operating system's error number in err; 0 is none.
func errnoOf(err error) syscall.Errno {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	// net.Pipe and a socket closed under a write have no number of their own.
	if errors.Is(err, io.ErrClosedPipe) {
		return syscall.EPIPE
	}
	return 0
}

// errnoName is the number's C name, such as ECONNREFUSED; "" for 0.
func errnoName(e syscall.Errno) string {
	if e == 0 {
		return ""
	}
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}

// isTimeout reports whether err says that a time limit of ours was over. For
// one and the same fault Go returns now a context's error and now a deadline's.
// The kernel's own ETIMEDOUT has a number and is judged by it.
func isTimeout(err error) bool {
	if errnoOf(err) != 0 {
		return false
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// osErrno finds the operating system's error number in a server's message. The
// servers write "errno: 28", "Errcode: 28", "OS errno 28" and "Got error 28
// from storage engine"; the words around the number are translated, the number
// is not.
func osErrno(message string) int {
	lower := strings.ToLower(message)
	for _, mark := range []string{"errno", "errcode", "error"} {
		rest := lower
		for {
			i := strings.Index(rest, mark)
			if i < 0 {
				break
			}
			rest = rest[i+len(mark):]
			number := strings.TrimLeft(rest, ":= ")
			end := 0
			for end < len(number) && number[end] >= '0' && number[end] <= '9' {
				end++
			}
			if n, err := strconv.Atoi(number[:end]); err == nil {
				return n
			}
		}
	}
	return 0
}
