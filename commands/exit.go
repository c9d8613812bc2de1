package commands

import (
	"context"
	"errors"
	"fmt"
)

// Exit is the exit code of the process. The check commands use the codes of the
// Monitoring Plugins guidelines, all others the second block.
type Exit int

// Exit codes of the check commands.
const (
	ExitOK       Exit = 0
	ExitWarning  Exit = 1
	ExitCritical Exit = 2
	ExitUnknown  Exit = 3
)

// Exit codes of every other command.
const (
	ExitDone     Exit = 0 // done
	ExitRefused  Exit = 1 // refused or failed with a stated reason
	ExitUsage    Exit = 2 // wrong usage or configuration
	ExitInternal Exit = 3 // a fault of failwise itself

	ExitFailedOver      Exit = 10 // watch --once after a failover
	ExitPromotionFailed Exit = 11 // watch --once after a failed promotion
)

var checkWords = [...]string{ExitOK: "OK", ExitWarning: "WARNING", ExitCritical: "CRITICAL", ExitUnknown: "UNKNOWN"}

// Word is the exit code as the first word of a check's line.
func (e Exit) Word() string {
	if e >= 0 && int(e) < len(checkWords) {
		return checkWords[e]
	}
	return fmt.Sprintf("EXIT %d", int(e))
}

// failure is an error that knows its exit code and what to try next. Its text is
// one line in lower case: what failed, on what, and why.
type failure struct {
	exit  Exit
	err   error
	hints []string
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// usagef reports that the command line is wrong; it becomes exit code 2 (3 under
// check).
func usagef(format string, args ...any) *failure {
	return &failure{exit: ExitUsage, err: fmt.Errorf(format, args...)}
}

// misconfigured reports that the configuration, or a file it names, is wrong.
func misconfigured(err error, hints ...string) *failure {
	return &failure{exit: ExitUsage, err: err, hints: hints}
}

// refused reports that the command could not do its work.
func refused(err error, hints ...string) *failure {
	return &failure{exit: ExitRefused, err: err, hints: hints}
}

// hint adds a line that says what to try next.
func (f *failure) hint(format string, args ...any) *failure {
	f.hints = append(f.hints, fmt.Sprintf(format, args...))
	return f
}

// exitWith ends a command that has already said everything with the given code.
func exitWith(code Exit) error {
	if code == ExitDone {
		return nil
	}
	return silent(code)
}

// silent is an exit code without a message.
type silent Exit

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// Hinter is implemented by errors of other packages that can say what to try
// next, one suggestion a line.
type Hinter interface{ Hints() []string }

// verdict turns the error of a command into the exit code and the lines for
// standard error. It is the only place that does.
func verdict(err error) (Exit, []string) {
	if err == nil {
		return ExitDone, nil
	}
	var quiet silent
	if errors.As(err, &quiet) {
		return Exit(quiet), nil
	}
	code := ExitRefused
	var hints []string
	var f *failure
	if errors.As(err, &f) {
		code = f.exit
		hints = append(hints, f.hints...)
	}
	var h Hinter
	if errors.As(err, &h) {
		hints = append(hints, h.Hints()...)
	}
	text := oneLine(err.Error())
	if f == nil && errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	lines := []string{"failwise: " + text}
	for _, hint := range hints {
		lines = append(lines, "hint: "+oneLine(hint))
	}
	return code, lines
}
