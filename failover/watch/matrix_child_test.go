package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// childEnv holds a [childWatcher] for the process that is to be one.
const childEnv = "FAILWISE_TEST_CHILD_WATCHER"

// childWatcher is a watcher in a process of its own.
type childWatcher struct {
	Dir          string
	Nodes        []string // addresses
	Monitor, Act sandbox.Account
	Repl         sandbox.Account
	// Hook is the event at which it sends itself the signal, Step the step of a plan at
	// whose begin it dies; empty is none.
	Hook, Signal, Step string
}

// TestChildWatcher is no test but the process of a [childWatcher].
func TestChildWatcher(t *testing.T) {
	text := os.Getenv(childEnv)
	if text == "" {
		t.Skip("the process of another test")
	}
	var c childWatcher
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	timings := rules.Tungsten.Timings()
	timings.Tick, timings.ProbeInterval, timings.ProbeBudget = time.Second, time.Second, 2*time.Second
	cfg := Config{
		Cluster: "lab", Name: "first", ID: 4241, Version: "test", Timings: timings, Policy: failover.Automatic, EnforceReadOnly: true, Dir: c.Dir,
		Account: promote.Account{User: c.Repl.User, Secret: check.NewSecret(c.Repl.Password)},
		Locker:  lock.NewFile(journal.NewDir(c.Dir), "first"),
		Notify:  func(n Notice) { fmt.Printf("%s %s %s\n", n.Kind, n.Node, n.Text) },
	}
	if c.Hook != "" {
		e, err := hooks.ParseEvent(c.Hook)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Hooks = signals(e, c.Signal, os.Getpid())
	}
	if c.Step != "" {
		cfg.stepping = func(p promote.Progress) {
			if p.Step.String() == c.Step && p.State == promote.StepBegun {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	for i, address := range c.Nodes {
		a, err := check.ParseAddress(address, 3306)
		if err != nil {
			t.Fatal(err)
		}
		server := func(acc sandbox.Account) check.Server {
			return check.Server{Name: fmt.Sprintf("db%d", i+1), Address: a, User: acc.User, Secret: check.NewSecret(acc.Password)}
		}
		cfg.Nodes = append(cfg.Nodes, Node{Name: fmt.Sprintf("db%d", i+1), Monitor: server(c.Monitor), Manage: server(c.Act)})
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// child is a running childWatcher and what it has said.
type child struct {
	t   *testing.T
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []saidLine
}

type saidLine struct {
	at   time.Time
	text string
}

// said is the first line since a moment that begins with a text.
func (c *child) said(since time.Time, begin string) (saidLine, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if !l.at.Before(since) && strings.HasPrefix(l.text, begin) {
			return l, true
		}
	}
	return saidLine{}, false
}

func (c *child) await(since time.Time, begin string) saidLine {
	c.t.Helper()
	for deadline := time.Now().Add(2 * matrixWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if l, ok := c.said(since, begin); ok {
			return l
		}
	}
	c.t.Fatalf("the first watcher does not say %q within %s", begin, 2*matrixWait)
	return saidLine{}
}

func (c *child) never(since time.Time, begin string) {
	c.t.Helper()
	if l, ok := c.said(since, begin); ok {
		c.t.Errorf("the first watcher says %q, which must not happen", l.text)
	}
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// pause stops the process for as long as do takes, 30 s at least, and returns when
// it was let go on.
func (c *child) pause(do func()) time.Time {
	c.t.Helper()
	c.signal(syscall.SIGSTOP)
	end := time.After(30 * time.Second)
	if do != nil {
		do()
	}
	<-end
	c.signal(syscall.SIGCONT)
	return time.Now()
}

// startChild runs a childWatcher until it has greeted.
func startChild(t *testing.T, c childWatcher) *child {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^TestChildWatcher$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ended := &child{t: t, cmd: cmd}, make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			t.Logf("first watcher: %s", lines.Text())
			p.mu.Lock()
			p.lines = append(p.lines, saidLine{time.Now(), lines.Text()})
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		_ = cmd.Wait() // it was killed
	})
	p.await(time.Time{}, "probe db3")
	return p
}

// withChild starts a cluster that a child watches, with a second watcher beside it
// that observes.
func withChild(t *testing.T, flavour sandbox.Flavour, c matrixCase, row *matrixRow, w childWatcher) (*trial, *child) {
	t.Helper()
	var p *child
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, c, row, func(cfg *Config, cluster *sandbox.Cluster) {
		a := cluster.Accounts()
		w.Dir, w.Monitor, w.Act, w.Repl = cfg.Dir, a.Monitor, a.Act, a.Repl
		for _, n := range cluster.Nodes() {
			w.Nodes = append(w.Nodes, n.Address())
		}
		p = startChild(t, w)
	})
	tr.complain(matrixWait, func() string {
		if s, err := tr.watcher.Snapshot(t.Context()); err != nil || s.Lock == "" {
			return fmt.Sprintf("the second watcher does not say that it observes: %q, %v", s.Lock, err)
		}
		return ""
	})
	return tr, p
}

// secondWatcher finishes what the first one began before it died.
func secondWatcher(dieAt promote.StepName) func(*testing.T, sandbox.Flavour, *matrixRow) {
	return func(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
		c := matrixCase{want: maybeActs, fault: "kill", outcomes: refused}
		tr, _ := withChild(t, flavour, c, row, childWatcher{Step: dieAt.String()})
		tr.began = time.Now()
		tr.breaks("kill", tr.cluster.Node(0))
		promoted := tr.await(2*matrixWait, "the second watcher to finish", event(failover.Promoted))
		tr.primary, tr.opened = tr.byName(promoted.Node), promoted.Time
		row.decision = "failover to " + promoted.Node
		row.write = tr.awaitAck(promoted.Time).At.Sub(tr.began)
		tr.finish()
	}
}

// A watcher that was paused counts nothing of the pause: what it saw before is old,
// and what it missed it does not know. The one that observes leaves it its cluster.
func pausedWatcher(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	c := matrixCase{want: actsOn, fault: "freeze", outcomes: noAnswer}
	tr, p := withChild(t, flavour, c, row, childWatcher{})

	start := time.Now()
	p.pause(nil) // in a healthy time
	p.await(start, "stalled")
	time.Sleep(3 * time.Second)
	p.never(start, "expire") // a probe that was in flight may well have run out of time

	// In an outage that begins before the pause and ends within it.
	start = time.Now()
	active := sandbox.Break(t, "freeze", tr.cluster.Node(0))
	p.await(start, "alarm db1")
	p.pause(func() {
		time.Sleep(20 * time.Second)
		if err := active.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	p.await(start, "heal db1")
	time.Sleep(3 * time.Second)
	p.never(start, "failover")
	tr.awaitAck(time.Now())

	// In an outage that goes on: what is left of the threshold is counted afterwards.
	start = time.Now()
	tr.began = start
	tr.breaks("freeze", tr.cluster.Node(0))
	p.await(start, "alarm db1")
	before := time.Since(start)
	resumed := p.pause(nil)
	decided := p.await(start, "failover db1")
	if waited, least := decided.at.Sub(resumed)+before, 8*time.Second-time.Second; waited < least {
		t.Errorf("decided after %s of outage that it saw; the threshold is 8 s", waited)
	}
	tr.never("a failover by the watcher that observes", event(failover.FailoverDecided))
	tr.promotedBy(p, start)
	tr.overlaps()
	tr.finish()
}

// promotedBy waits for the promotion by another process, which then dies.
func (tr *trial) promotedBy(p *child, since time.Time) {
	tr.t.Helper()
	promoted := p.await(since, "promoted ")
	name, _, _ := strings.Cut(strings.TrimPrefix(promoted.text, "promoted "), " ")
	tr.primary, tr.opened = tr.byName(name), promoted.at
	tr.row.decision = "failover to " + name
	tr.row.write = tr.awaitAck(promoted.at).At.Sub(tr.began)
	p.signal(syscall.SIGKILL)
	tr.complain(matrixWait, func() string {
		if s, err := tr.watcher.Snapshot(tr.t.Context()); err != nil || s.Lock != "" || !leads(s, name) {
			return fmt.Sprintf("the second watcher does not take over with %s as the primary: lock %q, nodes %+v, %v", name, s.Lock, s.Engine.Nodes, err)
		}
		return ""
	})
}

// leads tells whether a watcher knows a node as the primary.
func leads(s Snapshot, name string) bool {
	return slices.ContainsFunc(s.Engine.Nodes, func(n failover.NodeSnapshot) bool { return n.Name == name && n.Role == failover.Primary })
}

// A watcher that is paused in the middle of a promotion goes on with it.
func pausedPromotion(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr, p := withChild(t, flavour, killed, row, childWatcher{Hook: hooks.Fence.String(), Signal: "STOP"})
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	p.await(tr.began, "failover db1")
	time.Sleep(30 * time.Second)
	tr.never("a failover by the watcher that observes", event(failover.FailoverDecided))
	p.signal(syscall.SIGCONT)
	tr.promotedBy(p, tr.began)
	tr.overlaps()
	tr.finish()
}
