package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/failover/journal"
	"failwise/failover/watch"
)

func watchCommand() *command {
	return &command{
		name:    "watch",
		summary: "watch a cluster, or all, and fail over when the rules and the checks allow it",
		about: "The loop that probes every node, judges each outcome by the rules, and acts: it alerts, takes failed\n" +
			"replicas out, and replaces a dead primary. It starts by saying what it will do with which rules, and\n" +
			"keeps a status block at the bottom of a terminal; in a pipe it writes one line per event (log_format).\n" +
			"\n" +
			"SIGINT and SIGTERM finish a running promotion first, a second one takes it back where that is still\n" +
			"possible; SIGHUP reads the statemap again; SIGUSR1 prints the status.\n" +
			"\n" +
			"With --all one process watches every cluster of the configuration, each with its own lock, state, policy\n" +
			"and journal; lines name their cluster. One that cannot be watched is said so once and tried again every\n" +
			"10 seconds, or at SIGHUP; the others go on. Signals go to all.\n" +
			"\n" +
			"Exit codes: 0 stopped by a signal, 1 it could not start, 10 after a failover and 11 after a failed\n" +
			"promotion with --once.",
		examples: []example{
			{"watch", "the only cluster of the configuration"},
			{"watch --cluster prod --dry-run", "decide and say so, promote nothing"},
			{"watch --all", "every cluster of the configuration, in one process"},
			{"-H db1 -H db2 -H db3 -u monitor watch", "a cluster given by flags: its policy is manual"},
		},
		flags: func(f *pflag.FlagSet) {
			f.Bool("all", false, "watch every cluster of the configuration")
			f.Bool("dry-run", false, "decide, print the plan, and promote nothing")
			f.Bool("once", false, "stop after the first failover or failed promotion")
			f.String("metrics", "", "serve Prometheus metrics at http://`HOST:PORT`/metrics")
			f.String("log-format", "", "`FORMAT` of the lines in a pipe: logfmt or json")
		},
		outputs: []string{"text"},
		run:     runWatch,
	}
}

func runWatch(ctx context.Context, in *invocation) error {
	all, err := in.config()
	if err != nil {
		return err
	}
	format := all.LogFormat
	if in.IsSet("log-format") {
		format = in.String("log-format")
	}
	if format != "logfmt" && format != "json" {
		return usagef("--log-format takes logfmt or json, not %q", format)
	}
	metrics := all.Metrics
	if in.IsSet("metrics") {
		metrics = in.String("metrics")
	}
	if in.Bool("all") {
		return in.watchAll(ctx, all, format, metrics)
	}
	cluster, err := in.watchedCluster()
	if err != nil {
		return err
	}
	cfg, err := in.watchConfig(ctx, cluster)
	if err != nil {
		return err
	}
	cfg.DryRun, cfg.Once = in.Bool("dry-run"), in.Bool("once")
	ended, err := in.watch(ctx, cfg, format, metrics)
	var stalled *journal.StalledError
	switch {
	case errors.As(err, &stalled):
		return refused(err, "look at the disk of the state directory, or name another one with state_dir")
	case err != nil:
		return refused(err)
	}
	switch ended {
	case watch.EndedByFailover:
		return exitWith(ExitFailedOver)
	case watch.EndedByFailedPromotion:
		return exitWith(ExitPromotionFailed)
	case watch.EndedBySignal:
	}
	return nil
}

// watchedCluster is the cluster to watch, the only one or the one that was chosen.
func (in *invocation) watchedCluster() (*config.Cluster, error) {
	c, err := in.cluster()
	var choice *config.ChoiceError
	if errors.As(err, &choice) && choice.Asked == "" && len(choice.Clusters) > 1 {
		return nil, misconfigured(fmt.Errorf("%w: --cluster NAME watches one, --all watches all", err))
	}
	return c, err
}

// watch runs a watcher with its display until ctx ends.
func (in *invocation) watch(ctx context.Context, cfg watch.Config, format, metrics string) (watch.Ended, error) {
	view := in.newWatchView(format)
	cfg.Notify = view.notice
	if metrics != "" {
		cfg.Metrics = watch.NewMetrics(cfg.Cluster)
	}
	w, err := watch.New(cfg)
	if err != nil {
		return watch.EndedBySignal, fmt.Errorf("watch %s: %w", cfg.Cluster, err)
	}
	if metrics != "" {
		stop, err := serveMetrics(ctx, metrics, cfg.Metrics, func() []*watch.Watcher { return []*watch.Watcher{w} })
		if err != nil {
			return watch.EndedBySignal, err
		}
		defer stop()
	}
	in.warnOfFiles(cfg)
	var ended watch.Ended
	in.display(ctx, view, watched{
		run:   func(ctx context.Context) { ended, err = w.Run(ctx) },
		block: view.blockOf(w), reload: w.Reload, abort: w.Abort,
	})
	return ended, err
}

// watched is what is shown and what signals reach: one watcher or many.
type watched struct {
	run func(context.Context)
	// block is the status block, nil if there is none now; all is what SIGUSR1
	// prints if that is more.
	block, all    func(context.Context) []string
	reload, abort func()
}

// display runs what is watched until ctx ends, shows it, and does what signals ask
// for.
func (in *invocation) display(ctx context.Context, view *watchView, w watched) {
	showing, hide := context.WithCancel(context.WithoutCancel(ctx))
	var both sync.WaitGroup
	both.Go(func() { view.refresh(showing, w.block) })
	signals := make(chan os.Signal, 4)
	forget := in.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM)
	both.Go(func() { obey(showing, signals, forget, view, w) })
	w.run(ctx)
	forget()
	hide()
	both.Wait()
}

// obey does what signals ask for until ctx ends. The first SIGINT or SIGTERM ends
// the watchers' context, which is not done here; the second takes running operations
// back; a third ends the process.
func obey(ctx context.Context, signals <-chan os.Signal, forget func(), view *watchView, w watched) {
	ends := 0
	for {
		select {
		case s := <-signals:
			switch s {
			case syscall.SIGHUP:
				w.reload()
			case syscall.SIGUSR1:
				lines := w.all
				if lines == nil {
					lines = w.block
				}
				view.print(lines(ctx))
			default:
				if ends++; ends == 2 {
					w.abort()
					forget()
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// blockEvery is how often the status block is drawn anew.
const blockEvery = time.Second
