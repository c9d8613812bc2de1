package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// runPasswordCommand runs a program and returns what it wrote to standard output.
// The program gets no standard input and none of our passwords. When ctx ends it
// is killed with all it started.
func runPasswordCommand(ctx context.Context, argv, environ []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the user's own program
	cmd.Env = slices.DeleteFunc(slices.Clone(environ), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "MYSQL_PWD" || (strings.HasPrefix(name, "FAILWISE_") && strings.HasSuffix(name, "PASSWORD"))
	})
	out := &bounded{limit: maxSecret}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Millisecond
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, errors.New(exit.String())
	case errors.Is(err, exec.ErrWaitDelay):
		// It left a child that holds the pipe; what it said itself is complete.
	case err != nil:
		return nil, err
	case out.full:
		return nil, fmt.Errorf("it wrote more than %d bytes", maxSecret)
	}
	if out.Len() == 0 {
		return nil, errors.New("it wrote nothing")
	}
	return out.Bytes(), nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	limit int
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.limit - b.Len(); len(p) > room {
		b.full = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
