package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

const (
	// killAfter is the time between TERM and KILL.
	killAfter = 2 * time.Second
	// outputLimit is how much of a command's output is kept, in bytes.
	outputLimit = 16 << 10
)

type process struct {
	argv  []string
	env   []string
	stdin []byte
	limit time.Duration
}

// run starts the command in a process group of its own and waits for it. At the
// limit, or at the end of ctx, the group gets TERM and then KILL. A grandchild
// that keeps the output open does not keep run from returning.
func run(ctx context.Context, p process) (status int, output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	var out tail
	cmd := exec.Command(p.argv[0], p.argv[1:]...) //nolint:noctx // the group is ended by hand, TERM first
	cmd.Env = p.env
	cmd.Stdin = bytes.NewReader(p.stdin)
	cmd.Stdout = &out
	cmd.Stderr = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 500 * time.Millisecond
	if err := cmd.Start(); err != nil {
		return -1, "", fmt.Errorf("start: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var waitErr error
	select {
	case waitErr = <-done:
	case <-ctx.Done():
		_ = end(cmd, done) // its own limit says more than how it ended
		return exitStatus(cmd), out.String(), fmt.Errorf("%w of %v", ErrTimeout, p.limit)
	}
	var exit *exec.ExitError
	switch {
	case waitErr == nil, errors.As(waitErr, &exit), errors.Is(waitErr, exec.ErrWaitDelay):
	case errors.Is(waitErr, syscall.EPIPE):
		// The command did not read its standard input; its status still counts.
	default:
		return -1, out.String(), fmt.Errorf("wait: %w", waitErr)
	}
	if exit != nil && exitStatus(cmd) < 0 {
		return -1, out.String(), fmt.Errorf("ended by %s", exit.ProcessState)
	}
	return exitStatus(cmd), out.String(), nil
}

// end stops the command's process group: TERM, a moment, KILL.
func end(cmd *exec.Cmd, done <-chan error) error {
	group := -cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case err := <-done:
		// The leader is gone; what it left behind in its group goes too.
		_ = syscall.Kill(group, syscall.SIGKILL)
		return err
	case <-timer.C:
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	return <-done
}

func exitStatus(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// tail keeps the last outputLimit bytes written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if excess := len(t.kept) - outputLimit; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
