package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"failwise/rules"
)

// firstServerError is where the numbers of server errors begin, but for a few of
// their file layer (mysys), such as 3.
const firstServerError = 1000

// ByNumber finds the outcome of an error number: a server's, like "1040", one with
// the operating system's number in its message, like "1030/28", or one of the
// operating system by name or number, like "ECONNREFUSED" or "111". phase is where it arrived,
// rules.PhaseNone if that is not known. via says in words what was looked up.
//
// Numbers that only the insert probe's statement can give are taken to be its.
func ByNumber(number string, phase rules.Phase) (o rules.Outcome, via string, err error) {
	first, second, both := strings.Cut(strings.TrimSpace(number), "/")
	if first == "" || strings.Trim(first, "0123456789") != "" {
		return byErrno(number, phase)
	}
	n, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return 0, "", fmt.Errorf("server error numbers end at 65535, not %s", first)
	}
	code, os := uint16(n), 0
	if errno := syscall.Errno(n); !both && n < firstServerError && rules.ServerErrorName(code) == "" && rules.ErrnoName(errno) != "" {
		return byErrno(rules.ErrnoName(errno), phase)
	}
	via = "server error " + first
	if name := rules.ServerErrorName(code); name != "" {
		via += " (" + name + ")"
	}
	if both {
		if os, err = strconv.Atoi(second); err != nil {
			return 0, "", fmt.Errorf("%q is no error number of the operating system; write 1030/28", second)
		}
		via += fmt.Sprintf(" with OS error %d", os)
	}
	if phase != rules.PhaseNone {
		return rules.ByServerError(code, os, phase, true), via + ", in phase " + phase.String() + lostNote(rules.LostSession(code)), nil
	}
	// Without a phase a number is looked up in answer to the statement, where all
	// of them can arrive, and then before it.
	if o = rules.ByServerError(code, os, rules.PhaseExecute, true); o == rules.QueryExecutionFailed {
		o = rules.ByServerError(code, os, rules.PhaseLogin, true)
		if rules.LostSession(code) || len(rules.ServerErrorName(code)) > 0 && !slices.Contains(rules.ServerErrors(o), code) {
			o = rules.QueryExecutionFailed
		}
	}
	via += lostNote(rules.LostSession(code))
	if rules.ServerErrorName(code) == "" {
		via += "; in answer to the statement it is query_execution_failed"
	}
	if !both && slices.Contains(rules.ServerErrors(rules.StorageError), code) && o == rules.QueryExecutionFailed {
		via += fmt.Sprintf("; with OS error 28 or 122 in its message it is disk_full, with 5 or 30 storage_error: ask for %d/28", code)
	}
	return o, via, nil
}

// lostNote is said of numbers that only end a session.
func lostNote(lost bool) string {
	if !lost {
		return ""
	}
	return ", which ends a session: the probe tries once more at once, and this counts only if it cannot"
}

func byErrno(name string, phase rules.Phase) (rules.Outcome, string, error) {
	errno, err := rules.ParseErrno(name)
	if err != nil {
		return 0, "", err
	}
	via := fmt.Sprintf("%s (%d, %s)", rules.ErrnoName(errno), int(errno), errno.Error())
	if phase != rules.PhaseNone {
		via += ", in phase " + phase.String()
	}
	o, lost := rules.ByOSError(errno, phase)
	via += lostNote(lost)
	if o == rules.UnexpectedException && phase == rules.PhaseNone {
		if u := rules.ByUnixSocketError(errno, false); u != o {
			return u, via + ", on a unix socket", nil
		}
	}
	return o, via, nil
}

// ByPhase finds the outcome of a probe whose time was over in a phase.
func ByPhase(phase rules.Phase) (o rules.Outcome, via string) {
	return rules.TimeoutOf(phase, false), "time over in phase " + phase.String()
}
