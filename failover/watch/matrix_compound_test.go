package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/check/storage/loopdisk"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// Two faults at once, or a fault while another one is dealt with. What must hold
// afterwards is what the matrix asks of a single fault.

// compound runs a test on both flavours as part of a full matrix.
func compound(t *testing.T, f func(*testing.T, sandbox.Flavour)) {
	if testing.Short() || !matrixFull() {
		t.Skip("part of the full matrix: set FAILWISE_MATRIX=full")
	}
	flavours(t, f)
}

// tryOn starts a cluster with its witnesses and a watcher that has seen it well.
func tryOn(t *testing.T, o sandbox.Options, c matrixCase, change func(*Config, *sandbox.Cluster)) *trial {
	t.Helper()
	o.SemiSync, o.SemiSyncTimeout = true, 2*time.Minute
	cluster := sandbox.ForTest(t, o)
	tr := &trial{matrixCase: c, t: t, row: &matrixRow{}, primary: cluster.Node(0)}
	tr.writer = cluster.StartWriter(t.Context(), sandbox.WriterOptions{Pause: 5 * time.Millisecond})
	tr.sampler = cluster.StartSampler(t.Context())
	t.Cleanup(tr.sampler.Stop)
	tr.lab = watchLab(t, cluster, func(cfg *Config) {
		tr.configure(cfg)
		if change != nil {
			change(cfg, cluster)
		}
	})
	tr.wellSeen()
	return tr
}

// wellSeen waits until the watcher has probed and surveyed all nodes.
func (tr *trial) wellSeen() {
	tr.t.Helper()
	for _, n := range tr.cluster.Nodes() {
		tr.await(matrixWait, "first probe", outcome(n.Name(), rules.OK))
	}
	tr.awaitAck(time.Now())
	tr.began = time.Now()
}

// breaks starts a fault that finish heals.
func (tr *trial) breaks(name string, node int) {
	tr.t.Helper()
	tr.broken = append(tr.broken, sandbox.Break(tr.t, name, tr.cluster.Node(node)))
}

// signals is a hook that sends a signal to a node's server.
func signals(e hooks.Event, signal string, n *sandbox.Node) hooks.Set {
	return hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{e: {{Argv: []string{"/bin/kill", "-" + signal, strconv.Itoa(n.Pid())}}}}}
}

func TestCandidateDiesDuringThePromotion(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "kill", then: "kill", outcomes: refused},
			func(cfg *Config, c *sandbox.Cluster) {
				// The fence comes after the choice and before the candidate is opened.
				cfg.Hooks = signals(hooks.Fence, "KILL", c.Node(1))
			})
		tr.breaks("kill", 0)
		promoted := tr.await(2*matrixWait, "promotion", event(failover.Promoted))
		if promoted.Node != "db3" {
			t.Fatalf("promoted %s, want db3: db2 is dead", promoted.Node)
		}
		tr.primary, tr.opened = tr.cluster.Node(2), promoted.Time
		tr.awaitAck(promoted.Time)
		if err := tr.cluster.Node(1).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		tr.finish()
	})
}

func TestPrimaryReturnsDuringThePromotion(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: maybeActs, fault: "freeze", outcomes: noAnswer},
			func(cfg *Config, c *sandbox.Cluster) { cfg.Hooks = signals(hooks.Fence, "CONT", c.Node(0)) })
		tr.breaks("freeze", 0)
		tr.await(matrixWait, "failover", event(failover.FailoverDecided))
		// Promoted, or taken back because the old one answers: one of both, and well.
		tr.await(2*matrixWait, "end of the promotion", func(n Notice) bool {
			return event(failover.Promoted)(n) || event(failover.PromotionEnded)(n)
		})
		if p := tr.first(event(failover.Promoted)); p.Event != nil {
			tr.primary, tr.opened = tr.named(p.Node), p.Time
		}
		t.Logf("the primary is %s in the end", tr.primary.Name())
		tr.finish()
	})
}

func TestWatcherCutOffHoldsStill(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour},
			matrixCase{want: holdsBack, reason: failover.Isolated, fault: "drop-watcher", outcomes: silent}, nil)
		for i := range tr.cluster.Nodes() {
			tr.breaks("drop-watcher", i)
		}
		tr.await(matrixWait, "hold for being isolated", func(n Notice) bool {
			return n.Event != nil && n.Event.Kind == failover.Held && n.Node == "db1" && n.Event.Reason == failover.Isolated
		})
		tr.never("a failover", event(failover.FailoverDecided))
		tr.never("a failed replica", event(failover.ReplicaFailed))
		tr.finish()
	})
}

// A loop that was paused counts nothing of the pause: what it saw before is old.
func TestPausedLoopDecidesNothingOfTheTimeItMissed(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: leavesAlone, fault: "freeze"}, nil)
		pause := func() {
			tr.watcher.send(func() { time.Sleep(30 * time.Second) })
		}
		pause() // in a healthy time
		tr.await(matrixWait, "stall", event(failover.Stalled))
		tr.never("an alarm", event(failover.AlarmRaised))

		// In an outage: it begins before the pause and ends within it.
		tr.breaks("freeze", 0)
		tr.await(matrixWait, "alarm", event(failover.AlarmRaised))
		pause()
		time.Sleep(20 * time.Second)
		if err := tr.broken[0].Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		tr.await(matrixWait, "heal", event(failover.Healed))
		time.Sleep(3 * time.Second)
		tr.never("a failover", event(failover.FailoverDecided))
		tr.finish()
	})
}

func TestStateDirectoryStalledDoesNotHinder(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		disk := loopdisk.New(t, 64<<20)
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "kill", outcomes: refused},
			func(cfg *Config, _ *sandbox.Cluster) {
				cfg.Dir = filepath.Join(disk.Dir, "lab")
				cfg.Locker = lock.NewFile(journal.NewDir(cfg.Dir), cfg.Name)
			})
		thaw := disk.Freeze()
		thawed := false
		defer func() {
			if !thawed {
				thaw()
			}
		}()
		time.Sleep(3 * time.Second)
		tr.began = time.Now()
		tr.breaks("kill", 0)
		tr.promotes()
		t.Logf("first write %s after the kill", tr.row.write)
		thaw()
		thawed = true
		tr.finish()
	})
}

func TestHangingHooksDoNotHinder(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "kill", outcomes: refused},
			func(cfg *Config, _ *sandbox.Cluster) {
				hang := []hooks.Hook{{Argv: []string{"/bin/sleep", "600"}, Timeout: time.Second, OnFailure: hooks.Warn}}
				cfg.Hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{}}
				for _, e := range hooks.Events() {
					cfg.Hooks.Hooks[e] = hang
				}
			})
		tr.breaks("kill", 0)
		tr.promotes()
		t.Logf("first write %s after the kill", tr.row.write)
		tr.finish()
	})
}

// failoversInARow is how often one cluster loses its primary.
const failoversInARow = 20

func TestFailoversInARow(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "kill", outcomes: refused},
			func(cfg *Config, _ *sandbox.Cluster) { cfg.Timings.AgeLimit = 0 })
		ctx := t.Context()
		writers := []*sandbox.Writer{tr.writer}
		for i := range failoversInARow {
			// No write is under way at the kill: else it may be on the dead node alone,
			// which then must not come back.
			writer := writers[len(writers)-1]
			if err := writer.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := tr.cluster.AwaitSync(ctx, tr.primary); err != nil {
				t.Fatal(err)
			}
			old, mark := tr.primary, time.Now()
			if err := old.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			writer = tr.cluster.StartWriter(ctx, sandbox.WriterOptions{Pause: 5 * time.Millisecond})
			writers = append(writers, writer)
			promoted := tr.await(2*matrixWait, fmt.Sprintf("promotion %d", i+1), func(n Notice) bool {
				return n.Time.After(mark) && event(failover.Promoted)(n)
			})
			tr.primary, tr.writer = tr.named(promoted.Node), writer
			t.Logf("failover %d: %s to %s, first write %s after the kill", i+1, old.Name(), promoted.Node, tr.awaitAck(promoted.Time).At.Sub(mark))
			if err := old.Start(ctx); err != nil {
				t.Fatal(err)
			}
			tr.complain(matrixWait, func() string {
				a := tr.watcher.Request(ctx, Request{Operation: "recover", Node: old.Name(), By: "test"}, nil)
				if a.Err != nil {
					return a.Err.Error()
				}
				return ""
			})
			for _, n := range tr.cluster.Nodes() {
				if n != tr.primary {
					tr.complain(matrixWait, func() string { return followsComplaint(ctx, n, tr.primary, flavour) })
				}
			}
			tr.complain(matrixWait, func() string { return primaryComplaint(ctx, tr.primary, flavour) })
			if t.Failed() {
				t.FailNow()
			}
		}
		if err := tr.writer.Stop(); err != nil {
			t.Fatal(err)
		}
		for i, w := range writers {
			missing, err := w.Missing(ctx, tr.primary)
			if err != nil || len(missing) > 0 {
				t.Errorf("%d acknowledged rows of round %d are missing (%v)", len(missing), i, err)
			}
		}
		for _, n := range tr.cluster.Nodes() {
			if n != tr.primary {
				tr.complain(matrixWait, func() string { return alike(ctx, n, tr.primary) })
			}
		}
		tr.ends(ctx)
	})
}

// childEnv holds a [childWatcher] for the process that is to be one.
const childEnv = "FAILWISE_TEST_CHILD_WATCHER"

// childWatcher is a watcher in a process of its own, which dies in mid-promotion.
type childWatcher struct {
	Dir          string
	Nodes        []string // addresses
	Monitor, Act sandbox.Account
	Repl         sandbox.Account
	DieAt        string // the event of the hook that kills it
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
	e, err := hooks.ParseEvent(c.DieAt)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Hooks.Hooks = map[hooks.Event][]hooks.Hook{e: {{Argv: []string{"/bin/sh", "-c", "kill -KILL " + strconv.Itoa(os.Getpid())}}}}
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

// startChild runs a childWatcher until it has greeted.
func startChild(t *testing.T, c childWatcher) {
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
	greeted, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		said, buffer, once := "", make([]byte, 4096), false
		for {
			n, err := out.Read(buffer)
			for line := range strings.Lines(string(buffer[:n])) {
				t.Logf("first watcher: %s", strings.TrimSpace(line))
			}
			if said += string(buffer[:n]); !once && strings.Contains(said, "probe db3") {
				once = true
				close(greeted)
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // dead already, if all went well
		<-ended
		_ = cmd.Wait() // it was killed
	})
	select {
	case <-greeted:
	case <-time.After(matrixWait):
		t.Fatal("the first watcher does not begin")
	}
}

func TestSecondWatcherFinishesWhatTheFirstBegan(t *testing.T) {
	compound(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, dieAt := range []hooks.Event{hooks.Fence, hooks.Promoted} {
			t.Run(dieAt.String(), func(t *testing.T) {
				var dir string
				c := matrixCase{want: maybeActs, fault: "kill", outcomes: refused}
				tr := tryOn(t, sandbox.Options{Flavour: flavour}, c, func(cfg *Config, cluster *sandbox.Cluster) {
					dir = cfg.Dir
					child := childWatcher{Dir: dir, DieAt: dieAt.String()}
					a := cluster.Accounts()
					child.Monitor, child.Act, child.Repl = a.Monitor, a.Act, a.Repl
					for _, n := range cluster.Nodes() {
						child.Nodes = append(child.Nodes, n.Address())
					}
					startChild(t, child)
				})
				tr.complain(matrixWait, func() string {
					if s, err := tr.watcher.Snapshot(t.Context()); err != nil || s.Lock == "" {
						return fmt.Sprintf("the second watcher does not say that it observes: %q, %v", s.Lock, err)
					}
					return ""
				})
				tr.breaks("kill", 0)
				tr.await(2*matrixWait, "the second watcher to finish", func(n Notice) bool {
					return event(failover.Promoted)(n)
				})
				promoted := tr.first(event(failover.Promoted))
				tr.primary, tr.opened = tr.named(promoted.Node), promoted.Time
				tr.awaitAck(promoted.Time)
				tr.finish()
			})
		}
	})
}
