package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"failwise/failover/journal"
	"failwise/failover/watch"
)

func watchCommand() *command {
	return &command{
		name:    "watch",
		summary: "watch a cluster and fail it over when the rules and the checks allow it",
		about: "The loop that probes every node, judges each outcome by the rules, and acts: it alerts, takes failed\n" +
			"replicas out, and replaces a dead primary. It starts by saying what it will do with which rules, and\n" +
			"keeps a status block at the bottom of a terminal; in a pipe it writes one line per event (log_format).\n" +
			"\n" +
			"SIGINT and SIGTERM finish a running promotion first, a second one takes it back where that is still\n" +
			"possible; SIGHUP reads the statemap again; SIGUSR1 prints the status.\n" +
			"\n" +
			"Exit codes: 0 stopped by a signal, 1 it could not start, 10 after a failover and 11 after a failed\n" +
			"promotion with --once.",
		examples: []example{
			{"watch", "the only cluster of the configuration"},
			{"watch --cluster prod --dry-run", "decide and say so, promote nothing"},
			{"-H db1 -H db2 -H db3 -u monitor watch", "a cluster given by flags: its policy is manual"},
		},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "decide, print the plan, and promote nothing"},
			&cli.BoolFlag{Name: "once", Usage: "stop after the first failover or failed promotion"},
			&cli.StringFlag{Name: "metrics", Usage: "serve Prometheus metrics at http://`HOST:PORT`/metrics"},
			&cli.StringFlag{Name: "log-format", Usage: "`FORMAT` of the lines in a pipe: logfmt or json"},
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
	cluster, err := in.cluster()
	if err != nil {
		return err
	}
	cfg, err := in.watchConfig(ctx, cluster)
	if err != nil {
		return err
	}
	cfg.DryRun, cfg.Once = in.Bool("dry-run"), in.Bool("once")
	metrics := all.Metrics
	if in.IsSet("metrics") {
		metrics = in.String("metrics")
	}
	ended, err := in.watch(ctx, cfg, format, metrics)
	if err != nil {
		var stalled *journal.StalledError
		if errors.As(err, &stalled) {
			return refused(err, "look at the disk of the state directory, or name another one with state_dir")
		}
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
		stop, err := serveMetrics(ctx, metrics, w)
		if err != nil {
			return watch.EndedBySignal, err
		}
		defer stop()
	}
	showing, hide := context.WithCancel(context.WithoutCancel(ctx))
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		view.run(showing, w)
	}()
	signals := make(chan os.Signal, 4)
	forget := in.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM)
	go obey(showing, signals, forget, w, func() { view.print(showing, w) })
	ended, err := w.Run(ctx)
	forget()
	hide()
	<-shown
	return ended, err
}

// obey does what signals ask for until ctx ends. The first SIGINT or SIGTERM ends
// the watcher's context, which is not done here; the second takes a running
// operation back; a third ends the process.
func obey(ctx context.Context, signals <-chan os.Signal, forget func(), w *watch.Watcher, status func()) {
	ends := 0
	for {
		select {
		case s := <-signals:
			switch s {
			case syscall.SIGHUP:
				w.Reload()
			case syscall.SIGUSR1:
				status()
			default:
				if ends++; ends == 2 {
					w.Abort()
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
