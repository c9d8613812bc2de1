package commands

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// Build says which build of failwise runs. The linker sets it for a release;
// empty fields are filled from the information the Go toolchain embeds.
type Build struct {
	Version string
	Commit  string
	Date    string
}

// Stream is one of the three standard streams of a process.
type Stream int

// The standard streams.
const (
	Stdin Stream = iota
	Stdout
	Stderr
)

// Process is everything that a command may learn from, or say to, the process
// it runs in. [OS] gives the real one; a test builds its own. Every function
// but Again must be set.
type Process struct {
	Build Build

	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Getenv returns the value of an environment variable, "" if unset.
	Getenv func(name string) string
	// Environ lists the environment as "name=value".
	Environ func() []string
	// IsTerminal reports whether the stream is a terminal.
	IsTerminal func(Stream) bool
	// Width is the stream's width in columns, 0 if it is not a terminal.
	Width func(Stream) int
	// ReadPassword reads one line from the terminal without echo. It is called
	// only if Stdin is a terminal.
	ReadPassword func() ([]byte, error)
	// Again returns this program with this command line, to be started once more by
	// a check whose files have to be read from a disk. It may be nil: then the check
	// reads them itself.
	Again func() *exec.Cmd
	// Notify sends the given signals to c until stop is called.
	Notify func(c chan<- os.Signal, signals ...os.Signal) (stop func())
}

// OS is the process the program runs in.
func OS(build Build) Process {
	return Process{
		Build:      build.complete(),
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Getenv:     os.Getenv,
		Environ:    os.Environ,
		IsTerminal: func(s Stream) bool { return isatty.IsTerminal(s.file().Fd()) },
		Width: func(s Stream) int {
			width, _, err := term.GetSize(int(s.file().Fd()))
			if err != nil {
				return 0
			}
			return width
		},
		Again:        func() *exec.Cmd { return &exec.Cmd{Path: "/proc/self/exe", Args: os.Args} },
		ReadPassword: func() ([]byte, error) { return term.ReadPassword(int(os.Stdin.Fd())) },
		Notify: func(c chan<- os.Signal, signals ...os.Signal) func() {
			signal.Notify(c, signals...)
			return func() { signal.Stop(c) }
		},
	}
}

func (s Stream) file() *os.File {
	switch s {
	case Stdin:
		return os.Stdin
	case Stderr:
		return os.Stderr
	default:
		return os.Stdout
	}
}

// complete fills what the linker left empty from the toolchain's own record.
func (b Build) complete() Build {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && b.Commit == "":
				b.Commit = s.Value
			case s.Key == "vcs.time" && b.Date == "":
				b.Date = s.Value
			}
		}
		if v := info.Main.Version; b.Version == "" && v != "" && v != "(devel)" {
			b.Version = v
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// String is the line that `failwise version` prints.
func (b Build) String() string {
	s := "failwise " + b.Version
	if b.Commit != "" {
		s += ", commit " + b.Commit
	}
	if b.Date != "" {
		s += ", " + b.Date
	}
	return s + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
