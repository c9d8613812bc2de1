package sandbox

import (
	"context"
	"syscall"
	"time"
)

// flapCycle is how long a flapping node is frozen, and then runs.
const flapCycle = time.Second

// processFaults are done with signals and starts.
func processFaults() []Fault {
	return []Fault{
		{
			Name: "kill", Doc: "SIGKILL; healed by a start",
			start: func(ctx context.Context, n *Node) (injury, error) {
				return injury{heal: n.Start}, n.Kill(ctx)
			},
		},
		{
			Name: "freeze", Doc: "SIGSTOP; the kernel still accepts connections for it",
			start: func(_ context.Context, n *Node) (injury, error) {
				return injury{heal: func(context.Context) error { return n.Signal(syscall.SIGCONT) }}, n.Signal(syscall.SIGSTOP)
			},
		},
		{
			Name: "shutdown", Doc: "a clean shutdown; healed by a start",
			start: func(ctx context.Context, n *Node) (injury, error) {
				return injury{heal: n.Start}, n.Stop(ctx)
			},
		},
		{
			Name: "restart", Doc: "a clean shutdown and a start at once",
			start: func(ctx context.Context, n *Node) (injury, error) {
				if err := n.Stop(ctx); err != nil {
					return injury{}, err
				}
				return injury{}, n.Start(ctx)
			},
		},
		{
			Name: "flapping", Doc: "frozen for a second, running for a second, and so on",
			start: flap,
		},
	}
}

func flap(_ context.Context, n *Node) (injury, error) {
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		return injury{}, err
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(flapCycle)
		defer tick.Stop()
		next := syscall.SIGCONT
		for {
			select {
			case <-stop:
				done <- n.Signal(syscall.SIGCONT)
				return
			case <-tick.C:
			}
			if err := n.Signal(next); err != nil {
				done <- err
				return
			}
			if next == syscall.SIGCONT {
				next = syscall.SIGSTOP
			} else {
				next = syscall.SIGCONT
			}
		}
	}()
	end := func() error {
		close(stop)
		return <-done
	}
	return injury{
		heal:    func(context.Context) error { return end() },
		abandon: func() { _ = end() },
	}, nil
}
