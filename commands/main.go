package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"failwise/check/storage"
)

// Main runs one command line, args[0] being the program, and returns the exit
// code of the process. Results go to p.Out; progress, logs and errors to p.Err.
func Main(args []string, p Process) (code int) {
	if handled, code := storage.RunChild(args); handled {
		return code
	}
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(p.Err, "failwise: internal error: %s at %s\n", oneLine(fmt.Sprint(fault)), faultSite())
			fmt.Fprintf(p.Err, "hint: please report this line to the project's issue tracker, with the command line and: %s\n", p.Build)
			code = int(ExitInternal)
		}
	}()
	exit, lines := verdict(dispatch(args[1:], p))
	for _, line := range lines {
		fmt.Fprintln(p.Err, line)
	}
	return int(exit)
}

// interruptible is a context that the first SIGINT or SIGTERM cancels; a second
// one ends the process the system's way.
func interruptible(p Process) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	stop := p.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
			stop()
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-done
		stop()
	}
}

// dispatch finds the command and runs it.
func dispatch(args []string, p Process) error {
	root := tree()
	a, err := parseArguments(root, args)
	if err != nil {
		return asCheck(a.command, err)
	}
	switch {
	case a.help:
		return writeHelp(p, a.command)
	case a.version:
		_, err := fmt.Fprintln(p.Out, p.Build)
		return err
	case a.command.run == nil:
		return asCheck(a.command, needsSubcommand(a.command))
	}
	in, err := a.invocation(p, root)
	if err != nil {
		return asCheck(a.command, err)
	}
	ctx := context.Background()
	if !a.command.brief {
		var stop func()
		ctx, stop = interruptible(p)
		defer stop()
	}
	return asCheck(a.command, a.command.run(ctx, in))
}

// asCheck makes a usage or configuration error of a check UNKNOWN.
func asCheck(c *command, err error) error {
	if f, ok := err.(*failure); ok && c.check { //nolint:errorlint // the outermost error carries the exit code
		f.exit = ExitUnknown
	}
	return err
}

func needsSubcommand(c *command) error {
	var names []string
	for _, s := range c.subcommands() {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	return usagef("%s needs a command: %s", c.line(), strings.Join(names, ", ")).hint("%s --help", c.line())
}

// faultSite is the file and line of the panic being recovered, which tells a
// maintainer more than its text.
func faultSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
