package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"failwise/check"
	"failwise/commands/config"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/watch"
	"failwise/rules"
)

// demoFaults are the faults that the demo offers, with what the shipped rules do
// about them.
var demoFaults = []string{"kill", "freeze", "refuse", "drop"}

func demoCommand() *command {
	return &command{
		name:    "demo",
		summary: "break the primary of a throw-away cluster of real servers and watch the failover",
		about: "Starts three real servers on loopback addresses with GTID and semi-synchronous replication and a client\n" +
			"that writes all the time, shows watch at work on them, breaks the primary, and ends with a summary: what\n" +
			"the probes saw, which rule acted and when, how long writes were out, how many acknowledged rows were\n" +
			"lost (counted on the new primary), and who follows whom. Nothing is left behind, Ctrl-C included.\n" +
			"\n" +
			"Faults: kill (SIGKILL), freeze (SIGSTOP), refuse (the firewall resets connections), drop (it drops\n" +
			"packets). refuse and drop need root. With freeze and drop the shipped rules wait 8 ticks of 10 s;\n" +
			"--tick shortens them for the demo. Needs mariadbd or mysqld: see `make setup`.",
		examples: []example{
			{"demo", "a killed MariaDB primary"},
			{"demo --flavour mysql --fault freeze --tick 1s", "a frozen MySQL primary, with ticks of 1 s instead of 10 s"},
			{"demo --keep", "mend the old primary afterwards, see it fenced, and keep all running until Ctrl-C"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("flavour", "mariadb", "`FLAVOUR` of the servers: mariadb or mysql")
			f.String("fault", "kill", "`FAULT` of the primary: kill, freeze, refuse or drop")
			f.Bool("keep", false, "mend the fault afterwards and keep everything running until Ctrl-C")
			f.String("rules", "", "judge by the statemap `FILE` on top of the shipped rules")
			f.Var(&durationValue{}, "tick", "`DURATION` of a tick instead of 10s")
		},
		outputs: []string{"text"},
		run:     runDemo,
	}
}

// demo is one run of the command.
type demo struct {
	in      *invocation
	fault   sandbox.Fault
	cluster *sandbox.Cluster
	writer  *sandbox.Writer
	active  *sandbox.Active
	broken  time.Time
	timings rules.Timings
	rules   *rules.Map
	view    *watchView

	mu    sync.Mutex
	story []watch.Notice // since the fault
	wake  chan struct{}
}

func runDemo(ctx context.Context, in *invocation) error {
	flavour, err := sandbox.ParseFlavour(in.String("flavour"))
	if err != nil {
		return usagef("--flavour takes mariadb or mysql, not %q", in.String("flavour"))
	}
	name := in.String("fault")
	fault, err := sandbox.LookupFault(name)
	if err != nil || !contains(demoFaults, name) {
		return usagef("--fault takes %s, not %q", strings.Join(demoFaults, ", "), name)
	}
	d := &demo{in: in, fault: fault, wake: make(chan struct{}, 1), timings: rules.Tungsten.Timings(), view: in.newWatchView("logfmt")}
	d.timings.ProbeInterval = time.Second
	if tick := in.duration("tick"); in.IsSet("tick") {
		if tick < 100*time.Millisecond {
			return usagef("--tick %s is too short: 100ms or more", tick)
		}
		d.timings.Tick = tick
	}
	if d.rules, err = in.statemap(&config.Cluster{Profile: rules.Tungsten, Statemap: in.String("rules")}); err != nil {
		return err
	}
	d.say("starting three %s servers with semi-synchronous replication", flavour)
	d.cluster, err = sandbox.New(ctx, sandbox.Options{Flavour: flavour, SemiSync: true, Log: func(line string) { d.say("%s", line) }})
	if errors.Is(err, sandbox.ErrNoServer) {
		return refused(err, "make setup installs what the demo needs", "FAILWISE_MARIADBD or FAILWISE_MYSQLD names a server program elsewhere")
	}
	if err != nil {
		return refused(err)
	}
	defer func() {
		if err := d.cluster.Close(); err != nil {
			fmt.Fprintf(in.Err, "failwise: clean up: %v\n", err)
		}
	}()
	if err := fault.Available(d.cluster.Node(0)); err != nil {
		return refused(fmt.Errorf("fault %s: %w", name, err), "--fault kill and --fault freeze need no root")
	}
	return d.run(ctx)
}

func contains(list []string, s string) bool {
	for _, each := range list {
		if each == s {
			return true
		}
	}
	return false
}

// say is a line of the demo's own on standard error, above the status block.
func (d *demo) say(format string, args ...any) {
	if d.in.Quiet() {
		return
	}
	d.view.say(d.in.Err, fmt.Sprintf("demo: "+format, args...))
}

// run watches, breaks, waits and sums up.
func (d *demo) run(ctx context.Context) error {
	d.writer = d.cluster.StartWriter(ctx, sandbox.WriterOptions{})
	defer func() { _ = d.writer.Stop() }()
	cfg, err := d.config()
	if err != nil {
		return err
	}
	view := d.view
	cfg.Notify = func(n watch.Notice) {
		d.keep(n)
		view.notice(n)
	}
	w, err := watch.New(cfg)
	if err != nil {
		return refused(err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	var both sync.WaitGroup
	both.Go(func() {
		_, err := w.Run(watching)
		ended <- err
	})
	both.Go(func() { view.run(watching, w) })
	stopWatching := func() { stop(); both.Wait() }
	defer stopWatching()

	acts, err := d.breakPrimary(watching)
	if err != nil {
		return d.interrupted(ctx, err)
	}
	promoted := false
	if acts {
		if promoted, err = d.awaitPromotion(watching, ended); err != nil {
			return d.interrupted(ctx, err)
		}
	} else if err := sleep(watching, holdFor); err != nil {
		return d.interrupted(ctx, err)
	}
	// The last repointing and a few more writes belong to the picture.
	if err := sleep(watching, 2*time.Second); err != nil {
		return d.interrupted(ctx, err)
	}
	if !d.in.Bool("keep") {
		stopWatching()
	}
	if err := d.writer.Stop(); err != nil {
		return refused(err)
	}
	d.sumUp(ctx, promoted)
	if d.in.Bool("keep") {
		d.keepRunning(watching)
	}
	if acts && !promoted {
		return exitWith(ExitRefused)
	}
	return nil
}

// holdFor is how long the demo shows a watcher that holds still.
const holdFor = 20 * time.Second

func (d *demo) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return refused(errors.New("interrupted: the servers are stopped and their files removed"))
	}
	return refused(err)
}

// config is what the watcher of the demo is told.
func (d *demo) config() (watch.Config, error) {
	accounts := d.cluster.Accounts()
	dir := journal.ClusterDir(d.stateDir(), "demo")
	cfg := watch.Config{
		Cluster: "demo", Name: "demo", ID: 1, Version: d.in.Build.Version,
		Profile: rules.Tungsten, Statemap: d.in.String("rules"), Timings: d.timings, Policy: failover.Automatic,
		Account:         promote.Account{User: accounts.Repl.User, Secret: check.NewSecret(accounts.Repl.Password)},
		EnforceReadOnly: true, Dir: dir, Locker: lock.NewFile(journal.NewDir(dir), "demo"),
	}
	for _, n := range d.cluster.Nodes() {
		address, err := check.ParseAddress(n.Address(), 3306)
		if err != nil {
			return cfg, err
		}
		server := func(a sandbox.Account) check.Server {
			return check.Server{Name: n.Name(), Address: address, User: a.User, Secret: check.NewSecret(a.Password)}
		}
		cfg.Nodes = append(cfg.Nodes, watch.Node{Name: n.Name(), Monitor: server(accounts.Monitor), Manage: server(accounts.Act)})
	}
	return cfg, nil
}

// keep remembers a notice for the summary.
func (d *demo) keep(n watch.Notice) {
	d.mu.Lock()
	d.story = append(d.story, n)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// find returns the first notice since the fault that is what is looked for.
func (d *demo) find(is func(watch.Notice) bool) (watch.Notice, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.story {
		if !n.Time.Before(d.broken) && is(n) {
			return n, true
		}
	}
	return watch.Notice{}, false
}

// breakPrimary lets the healthy cluster be seen for a moment and breaks its
// primary. It reports whether the rules let anything happen about it.
func (d *demo) breakPrimary(ctx context.Context) (bool, error) {
	if err := sleep(ctx, 3*time.Second); err != nil {
		return false, err
	}
	primary := d.cluster.Node(0)
	d.say("now: %s on %s (%s)", d.fault.Name, primary.Name(), d.fault.Doc)
	d.broken = time.Now()
	active, err := d.fault.Start(ctx, primary)
	if err != nil {
		return false, fmt.Errorf("fault %s: %w", d.fault.Name, err)
	}
	d.active = active
	outcomes := map[string][]rules.Outcome{
		"kill": {rules.SocketIOError}, "refuse": {rules.SocketIOError},
		"freeze": {rules.LoginResponseTimeout, rules.SocketConnectTimeout}, "drop": {rules.SocketConnectTimeout},
	}[d.fault.Name]
	for _, o := range outcomes {
		if d.rules.Fatal(o) {
			return true, nil
		}
	}
	d.say("the rules fail nothing over for %s: watching %s how that looks", outcomes[0], holdFor)
	return false, nil
}

// awaitPromotion waits for the promotion, at most for as long as the rules may
// take and a minute.
func (d *demo) awaitPromotion(ctx context.Context, ended <-chan error) (bool, error) {
	longest := 0
	for _, o := range []rules.Outcome{rules.SocketIOError, rules.LoginResponseTimeout, rules.SocketConnectTimeout} {
		longest = max(longest, d.rules.Rule(o).Threshold, d.rules.Rule(o).Window)
	}
	limit := time.NewTimer(d.timings.Ticks(longest) + time.Minute)
	defer limit.Stop()
	for {
		if _, ok := d.find(isEvent(failover.Promoted)); ok {
			return true, nil
		}
		select {
		case <-d.wake:
		case <-limit.C:
			return false, nil
		case err := <-ended:
			if err == nil {
				err = context.Canceled
			}
			return false, err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func isEvent(k failover.Kind) func(watch.Notice) bool {
	return func(n watch.Notice) bool { return n.Event != nil && n.Event.Kind == k }
}

// keepRunning mends the fault and shows what becomes of the old primary until
// the user has seen enough.
func (d *demo) keepRunning(ctx context.Context) {
	d.say("mending %s on %s: it comes back and is fenced", d.fault.Name, d.cluster.Node(0).Name())
	if err := d.active.Heal(ctx); err != nil {
		d.say("mending failed: %v", err)
	}
	if err := d.writeFiles(); err != nil {
		d.say("%v", err)
	}
	d.say("everything keeps running until Ctrl-C; in another window:")
	d.say("  failwise --config %s status", d.configFile())
	for _, n := range d.cluster.Nodes() {
		d.say("  mariadb --defaults-file=%s   # %s, %s", d.clientFile(n), n.Name(), n.Address())
	}
	<-ctx.Done()
}

// sleep waits, or returns ctx's error when it ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
