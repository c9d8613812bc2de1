package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/commands/config"
	"failwise/failover/watch"
)

func statusCommand() *command {
	return &command{
		name:    "status",
		summary: "show what the watcher of a cluster knows now",
		about: "Asks the watcher on this host: stages, alarms with the time to their expiry, holds and what lifts them,\n" +
			"the next candidate. Exit code 1 when no watcher answers; failwise topology and failwise why work without.",
		examples: []example{{"status", "the only cluster"}, {"status --cluster prod --json", ""}},
		run: func(ctx context.Context, in *invocation) error {
			s, err := in.watcherStatus(ctx)
			if err != nil {
				return err
			}
			if in.JSON() {
				return in.printJSON(s)
			}
			width := in.Width(Stdout)
			if width <= 0 {
				width = 80
			}
			for _, line := range statusBlock(s, in.paint(Stdout), width) {
				fmt.Fprintln(in.Out, line)
			}
			fmt.Fprintf(in.Out, "watcher %s, pid %d, since %s\n", s.Watcher, s.PID, s.Since.Local().Format("2006-01-02 15:04:05"))
			for _, f := range s.Findings {
				in.printIndentedBy(2, fmt.Sprintf("! %s %s: %s", f.Node, f.Rule, f.Text))
				in.printIndentedBy(4, "hint: "+f.Fix)
			}
			for name, why := range s.Left {
				in.printIndentedBy(2, fmt.Sprintf("! %s does not follow the primary yet: %s", name, why))
			}
			return nil
		},
	}
}

// askWatcher asks the cluster's watcher on this host.
func (in *invocation) askWatcher(ctx context.Context, c *config.Cluster) (watch.Snapshot, error) {
	dir, err := in.clusterDir(c)
	if err != nil {
		return watch.Snapshot{}, err
	}
	return watch.Status(ctx, dir)
}

// watcherStatus asks it within the time limit of the command, and says what to do
// where there is none.
func (in *invocation) watcherStatus(ctx context.Context) (watch.Snapshot, error) {
	c, err := in.cluster()
	if err != nil {
		return watch.Snapshot{}, err
	}
	timeout := in.duration("timeout")
	if timeout <= 0 {
		timeout = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := in.askWatcher(ctx, c)
	if errors.Is(err, watch.ErrNoWatcher) {
		return s, refused(fmt.Errorf("cluster %s: %w", c.Name, err),
			"failwise watch starts one; failwise why and failwise history read what the last one wrote")
	}
	if err != nil {
		return s, refused(fmt.Errorf("cluster %s: %w", c.Name, err))
	}
	return s, nil
}
