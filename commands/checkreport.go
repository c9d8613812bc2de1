package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"failwise/check"
	"failwise/check/storage"
)

// defaultTimeout bounds a check that was given no --timeout.
const defaultTimeout = 10 * time.Second

// grace is how long a check may outlive its timeout for work that is about to end
// by itself, such as a probe that classifies what timed out. It leaves half of the
// 100 ms that a check may be late for printing and for a loaded machine.
const grace = 50 * time.Millisecond

// checkReport is what a check found: one line, performance data, and more.
type checkReport struct {
	exit     Exit
	summary  string // after "OK - "
	perfdata []check.Perfdata
	lines    []string // one for each part of what was checked
	evidence []string // shown by -v
	details  any      // the JSON output's "details"
	// end, if not nil, ends what is still open, once the report is out.
	end func()
}

// checkJSON is the JSON output of every check.
type checkJSON struct {
	Status   string         `json:"status"`
	ExitCode int            `json:"exit_code"`
	Summary  string         `json:"summary"`
	Hints    []string       `json:"hints,omitempty"`
	Perfdata []perfdataJSON `json:"perfdata"`
	Details  any            `json:"details,omitempty"`
}

// perfdataJSON is one performance value; Value is null if it is not known.
type perfdataJSON struct {
	Label    string   `json:"label"`
	Value    *float64 `json:"value"`
	Unit     string   `json:"unit,omitempty"`
	Warning  string   `json:"warning,omitempty"`
	Critical string   `json:"critical,omitempty"`
}

// stage says what a running check is about to do, so that one which hangs can
// name it.
type stage struct {
	text  atomic.Value // string
	files atomic.Value // []string
}

func (s *stage) set(text string) { s.text.Store(text) }

// reads says which files are read next.
func (s *stage) reads(files []string) { s.files.Store(files) }

// String is what was begun, and the file that has not come.
func (s *stage) String() string {
	text, _ := s.text.Load().(string)     // nothing was begun
	files, _ := s.files.Load().([]string) // or read
	for _, f := range files {
		if f != "" && !storage.Cached(f) {
			return text + ", reading " + f
		}
	}
	return text
}

// checkTimeout is --timeout, or the default of checks.
func (in *invocation) checkTimeout() (time.Duration, error) {
	if !in.IsSet("timeout") {
		return defaultTimeout, nil
	}
	d := in.duration("timeout")
	if d <= 0 {
		return 0, usagef("%s: --timeout must be longer than 0", in.command.line())
	}
	return d, nil
}

// runCheck runs a check's body and prints its report. The body's context ends at
// the timeout; a body that does not return then is left behind, and the report
// says what it hung in. An error of the body is UNKNOWN.
func (in *invocation) runCheck(ctx context.Context, body func(context.Context, *stage) (checkReport, error)) error {
	timeout, err := in.checkTimeout()
	if err != nil {
		return err
	}
	began, asked := time.Now(), ctx
	limit, end := in.beginAside(timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		report checkReport
		err    error
		fault  any
	}
	answers := make(chan answer, 1)
	at := &stage{}
	at.set("start")
	go func() {
		var a answer
		defer func() {
			a.fault = recover()
			answers <- a
		}()
		if a.err = in.awaitTurn(ctx, at); a.err == nil {
			a.report, a.err = body(ctx, at)
		}
	}()
	late := time.NewTimer(limit + grace)
	defer late.Stop()
	var a answer
	select {
	case a = <-answers:
	case <-late.C:
		select {
		case a = <-answers: // both came at once
		default:
			a.report = checkReport{exit: ExitUnknown, summary: fmt.Sprintf("no answer in %s, hung in: %s", timeout, at)}
		}
	}
	if a.fault != nil {
		panic(a.fault)
	}
	if e, ok := errors.AsType[*asideError](a.err); ok {
		return in.runAside(asked, e.path, timeout, limit-time.Since(began), late.C)
	}
	if a.err != nil {
		err = in.printCheckError(ctx, a.err, at, timeout)
	} else {
		err = in.printCheck(a.report, nil)
	}
	end(err)
	if a.report.end != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.report.end()
		}()
		select {
		case <-ended:
		case <-late.C:
		}
	}
	return err
}

// printCheckError reports that the check got no evidence.
func (in *invocation) printCheckError(ctx context.Context, err error, at *stage, timeout time.Duration) error {
	_, lines := verdict(err)
	summary := strings.TrimPrefix(lines[0], "failwise: ")
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		summary = fmt.Sprintf("no answer in %s, hung in: %s", timeout, at)
	case errors.Is(err, context.Canceled):
		summary = "interrupted in: " + at.String()
	}
	var hints []string
	for _, l := range lines[1:] {
		hints = append(hints, strings.TrimPrefix(l, "hint: "))
	}
	return in.printCheck(checkReport{exit: ExitUnknown, summary: summary}, hints)
}

func (in *invocation) printCheck(r checkReport, hints []string) error {
	if in.JSON() {
		out := checkJSON{
			Status: r.exit.Word(), ExitCode: int(r.exit), Summary: oneLine(r.summary), Hints: hints,
			Perfdata: []perfdataJSON{}, Details: r.details,
		}
		for _, p := range r.perfdata {
			out.Perfdata = append(out.Perfdata, asJSON(p))
		}
		if err := in.printJSON(out); err != nil {
			return err
		}
		return exitWith(r.exit)
	}
	paint := in.paint(Stdout)
	line := paint.exit(r.exit, r.exit.Word()) + " - " + withoutBar(r.summary)
	if len(r.perfdata) > 0 {
		line += " | " + check.JoinPerfdata(r.perfdata)
	}
	fmt.Fprintln(in.Out, line)
	for _, l := range r.lines {
		fmt.Fprintln(in.Out, withoutBar(l))
	}
	if in.Verbosity() > 0 {
		for _, l := range r.evidence {
			fmt.Fprintln(in.Out, withoutBar(l))
		}
	}
	for _, h := range hints {
		fmt.Fprintln(in.Err, "hint: "+h)
	}
	return exitWith(r.exit)
}

func asJSON(p check.Perfdata) perfdataJSON {
	out := perfdataJSON{Label: p.Label, Unit: string(p.Unit), Warning: p.Warn.String(), Critical: p.Crit.String()}
	if v := p.Value; v == v && v-v == 0 { // neither NaN nor infinite, which JSON cannot hold
		out.Value = &v
	}
	return out
}

// withoutBar keeps a text from being read as performance data.
func withoutBar(s string) string { return strings.ReplaceAll(trimLine(s), "|", "/") }

// trimLine is oneLine that keeps an indent.
func trimLine(s string) string {
	text := strings.TrimLeft(s, " ")
	return s[:len(s)-len(text)] + oneLine(text)
}

// worse is the more serious of two verdicts: CRITICAL before UNKNOWN before
// WARNING before OK, so that what is known to be broken is not hidden by what is
// not known.
func worse(a, b Exit) Exit {
	order := [...]int{ExitOK: 0, ExitWarning: 1, ExitUnknown: 2, ExitCritical: 3}
	if order[b] > order[a] {
		return b
	}
	return a
}
