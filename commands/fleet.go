package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"failwise/commands/config"
	"failwise/failover/watch"
)

// retryEvery is how often a cluster that could not be watched is tried again.
const retryEvery = 10 * time.Second

// answerLimit bounds the wait for the watchers' answers to the display; startLimit
// is how long a new one may take to find its cluster before that is worth saying.
const (
	answerLimit = 500 * time.Millisecond
	startLimit  = 15 * time.Second
)

// fleet is the watchers of many clusters in one process. They share nothing but the
// process, its output and its metrics: each has the lock, the state, the journal and
// the control socket of its own cluster.
type fleet struct {
	in      *invocation
	posts   []*post
	view    *watchView
	metrics *watch.Metrics
	said    dialogue // the lines about rules that are the same for many clusters
}

// post is one cluster's place in a fleet.
type post struct {
	cluster *config.Cluster
	// phase is the cluster's place in every period, from 0 to less than 1.
	phase float64
	again chan struct{} // the cluster is to be tried now, if it is not watched

	mu      sync.Mutex
	watcher *watch.Watcher // nil while the cluster is not watched
	began   time.Time      // when that was made
	trouble string         // why it could not be
}

func newFleet(in *invocation, clusters []*config.Cluster, view *watchView, m *watch.Metrics) *fleet {
	f := &fleet{in: in, view: view, metrics: m}
	for i, c := range clusters {
		f.posts = append(f.posts, &post{cluster: c, phase: float64(i) / float64(len(clusters)), again: make(chan struct{}, 1)})
	}
	return f
}

// watchAll watches every cluster of the configuration until ctx ends.
func (in *invocation) watchAll(ctx context.Context, all *config.Config, format, metrics string) error {
	switch {
	case in.Bool("once"):
		return usagef("watch: --once needs one cluster: with --all the failover of one would end the watch over the others").
			hint("failwise watch --cluster NAME --once")
	case in.IsSet("cluster"):
		return usagef("watch: --all watches every cluster, --cluster one: give one of the two")
	case len(all.Clusters) == 1 && all.Clusters[0].AdHoc:
		return usagef("watch: --all is for the clusters of a configuration, -H and -S give one by flags")
	case len(all.Clusters) == 0:
		return misconfigured(&config.ChoiceError{File: all.File})
	}
	view := in.newWatchView(format)
	view.many = true
	var m *watch.Metrics
	if metrics != "" {
		m = watch.NewMetrics("")
	}
	f := newFleet(in, all.Clusters, view, m)
	if metrics != "" {
		stop, err := serveMetrics(ctx, metrics, m, f.watchers)
		if err != nil {
			return err
		}
		defer stop()
	}
	in.display(ctx, view, watched{run: f.run, block: f.block, all: f.everything, reload: f.reload, abort: f.abort})
	return nil
}

// run watches all clusters until ctx ends, and every watcher with it.
func (f *fleet) run(ctx context.Context) {
	var clusters []*config.Cluster
	for _, p := range f.posts {
		clusters = append(clusters, p.cluster)
	}
	f.in.warnOfFiles(sizes(clusters)...)
	var all sync.WaitGroup
	for _, p := range f.posts {
		all.Go(func() { f.keep(ctx, p) })
	}
	all.Wait()
}

// keep watches one cluster until ctx ends. The first probes of all clusters are
// spread evenly over a probe interval, and stay so.
func (f *fleet) keep(ctx context.Context, p *post) {
	if sleep(ctx, time.Duration(p.phase*float64(p.cluster.Timings.ProbeInterval))) != nil {
		return
	}
	for {
		err := f.watch(ctx, p)
		if ctx.Err() != nil {
			return
		}
		p.fail(f, err)
		retry := time.NewTimer(retryEvery)
		select {
		case <-ctx.Done():
		case <-retry.C:
		case <-p.again:
		}
		retry.Stop()
	}
}

// errEnded says that a watcher ended by itself, which none is meant to do.
var errEnded = errors.New("its watcher ended")

// watch runs a watcher for a cluster.
func (f *fleet) watch(ctx context.Context, p *post) error {
	cfg, err := f.in.watchConfig(ctx, p.cluster)
	if err != nil {
		return err
	}
	cfg.DryRun, cfg.Phase, cfg.Metrics = f.in.Bool("dry-run"), p.phase, f.metrics.For(p.cluster.Name)
	cfg.Notify = func(n watch.Notice) { f.notice(p, n) }
	w, err := watch.New(cfg)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.watcher, p.began = w, time.Now()
	p.mu.Unlock()
	_, err = w.Run(ctx)
	p.mu.Lock()
	p.watcher = nil
	p.mu.Unlock()
	if err == nil {
		err = errEnded
	}
	return err
}

// fail says why a cluster is not watched, once for each reason.
func (p *post) fail(f *fleet, err error) {
	text := oneLine(err.Error())
	p.mu.Lock()
	known := p.trouble == text
	p.trouble = text
	p.mu.Unlock()
	if !known {
		f.view.noticeOf(p.cluster.Name, watch.Notice{
			Time: time.Now(), Level: slog.LevelError, Kind: "note",
			Text: fmt.Sprintf("cluster %s is not watched: %s; tried again every %s, or at SIGHUP", p.cluster.Name, text, retryEvery),
		})
	}
}

// notice shows what a watcher says. What is done by which rules is said by the first
// of the clusters for which it is the same.
func (f *fleet) notice(p *post, n watch.Notice) {
	if n.Kind == "start" {
		p.mu.Lock()
		p.trouble = ""
		p.mu.Unlock()
		if n.Node == "" && n.Level < slog.LevelWarn && !f.said.first(n.Text) {
			return
		}
	}
	f.view.noticeOf(p.cluster.Name, n)
}

// watchers are those that run now.
func (f *fleet) watchers() []*watch.Watcher {
	var list []*watch.Watcher
	for _, p := range f.posts {
		if w := p.current(); w != nil {
			list = append(list, w)
		}
	}
	return list
}

func (p *post) current() *watch.Watcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watcher
}

// reload has every statemap read again, and tries clusters that are not watched.
func (f *fleet) reload() {
	for _, p := range f.posts {
		if w := p.current(); w != nil {
			w.Reload()
			continue
		}
		select {
		case p.again <- struct{}{}:
		default:
		}
	}
}

// abort takes every running operation back where that is still possible.
func (f *fleet) abort() {
	var all sync.WaitGroup
	for _, w := range f.watchers() {
		all.Go(w.Abort)
	}
	all.Wait()
}

// reports asks all watchers at once.
func (f *fleet) reports(ctx context.Context) []report {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	list := make([]report, len(f.posts))
	var all sync.WaitGroup
	for i, p := range f.posts {
		all.Go(func() { list[i] = p.report(ctx) })
	}
	all.Wait()
	return list
}

func (p *post) report(ctx context.Context) report {
	p.mu.Lock()
	w, began, trouble := p.watcher, p.began, p.trouble
	p.mu.Unlock()
	r := report{cluster: p.cluster.Name}
	switch {
	case w == nil && trouble == "":
		r.trouble, r.starting = "it starts", true
	case w == nil || trouble != "":
		r.trouble = "not watched: " + trouble
	default:
		s, err := w.Snapshot(ctx)
		if err == nil {
			r.snapshot = s
			return r
		}
		r.trouble, r.starting = "its watcher does not answer", false
		if time.Since(began) < startLimit {
			r.trouble, r.starting = "it starts", true
		}
	}
	return r
}

// block is the status block of all clusters.
func (f *fleet) block(ctx context.Context) []string {
	return fleetBlock(f.reports(ctx), f.view.paint, f.view.columns())
}

// everything is the status of each cluster.
func (f *fleet) everything(ctx context.Context) []string {
	var lines []string
	for _, r := range f.reports(ctx) {
		if r.trouble != "" {
			lines = append(lines, fmt.Sprintf("cluster %s: %s", r.cluster, r.trouble))
			continue
		}
		lines = append(lines, statusBlock(r.snapshot, f.view.paint, f.view.columns())...)
	}
	return lines
}
