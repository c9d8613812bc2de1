package promote_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// promoteFrom runs a failover that must succeed.
func (l *lab) promoteFrom(old string) (promote.Result, *sandbox.Node) {
	l.t.Helper()
	result, err := promote.Failover(bounded(l.t), l.env(), promote.FailoverRequest{OldPrimary: old})
	if err != nil {
		l.t.Fatal(err)
	}
	return result, l.node(result.NewPrimary)
}

// settled stops the writer and lets everything reach every replica.
func (l *lab) settled(w *sandbox.Writer) {
	l.t.Helper()
	if err := w.Stop(); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := l.AwaitSync(bounded(l.t), l.Node(0)); err != nil {
		l.t.Fatal(err)
	}
	l.look()
}

func TestFrozenPrimary(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true, SemiSyncTimeout: 10 * time.Minute})
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
		sampler := l.StartSampler(bounded(t))
		awaitAck(t, writer, time.Now().Add(200*time.Millisecond))
		frozen := time.Now()
		active := sandbox.Break(t, "freeze", l.Node(0))
		result, primary := l.promoteFrom("db1")
		if result.Fence != promote.FencePending {
			t.Errorf("the fence of a frozen primary is %s: %s", result.Fence, result.FenceWhy)
		}
		awaitAck(t, writer, frozen)
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		l.nothingLost(writer, primary)
		for _, n := range l.Nodes()[1:] {
			if n != primary {
				l.follows(n, primary)
			}
		}
		if err := active.Heal(bounded(t)); err != nil {
			t.Fatal(err)
		}
		st, err := l.reader.Session(primary.Name()).Status(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, why, err := promote.FenceReturned(bounded(t), l.env(), "db1", st.Identity()); err != nil {
			t.Fatalf("%v: %s", err, why)
		}
		if l.writable(l.Node(0)) {
			t.Error("the thawed primary is writable")
		}
		sampler.Stop()
		for _, o := range sampler.Overlaps() {
			t.Logf("%s and %s were writable at once for %v after the thaw", o.Nodes[0].Name(), o.Nodes[1].Name(), o.To.Sub(o.From))
		}
	})
}

// The old primary is alive and well and under load: it is fenced before another
// is opened, and what it acknowledged last is reported.
func TestLivingPrimaryIsFencedBeforeAnotherOpens(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, semi := range []bool{true, false} {
			t.Run(fmt.Sprintf("semi-sync %v", semi), func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: semi})
				work := startLoad(t, l)
				sampler := l.StartSampler(bounded(t))
				time.Sleep(500 * time.Millisecond)
				l.look()
				result, primary := l.promoteFrom("db1")
				if result.Fence != promote.FenceProved {
					t.Errorf("fence %s: %s", result.Fence, result.FenceWhy)
				}
				for _, w := range work.writers {
					awaitAck(t, w, time.Now())
				}
				work.stop(t)
				missing := 0
				for _, w := range work.writers {
					ids, err := w.Missing(bounded(t), primary)
					if err != nil {
						t.Fatal(err)
					}
					missing += len(ids)
				}
				t.Logf("%d acknowledged rows missing, loss report %+v, fence %s", missing, result.Loss, result.FenceWhy)
				if semi && missing > 0 {
					t.Errorf("%d acknowledged rows are missing", missing)
				}
				if uint64(missing) > result.Loss.Count {
					t.Errorf("%d acknowledged rows are missing, %d were reported", missing, result.Loss.Count)
				}
				if l.writable(l.Node(0)) {
					t.Error("the old primary is writable")
				}
				l.noOverlap(sampler)
				for _, n := range l.Nodes()[1:] {
					if n != primary {
						l.follows(n, primary)
						l.noErrant(n, primary)
					}
				}
			})
		}
	})
}

// asBefore checks that a failed plan left nothing behind.
func (l *lab) asBefore(before map[string]map[string]string) {
	l.t.Helper()
	if !l.writable(l.Node(0)) {
		l.t.Error("the old primary is not writable again")
	}
	for _, n := range l.Nodes()[1:] {
		if l.writable(n) {
			l.t.Errorf("%s is writable", n.Name())
		}
		l.follows(n, l.Node(0))
		if diff := differ(before[n.Name()], l.options(n)); diff != "" {
			l.t.Errorf("the channel of %s changed: %s", n.Name(), diff)
		}
	}
	if left := l.unfinished(); len(left) > 0 {
		l.t.Errorf("the promotion log is unfinished: %+v", left)
	}
}

func TestFailureBeforeOpenIsUndone(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true, HeartbeatPeriod: 1500 * time.Millisecond})
		before := l.allOptions()
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{Limit: 5 * time.Second})
		awaitAck(t, writer, time.Now())
		request := promote.FailoverRequest{OldPrimary: "db1"}
		check := func(result promote.Result, err, want error) {
			t.Helper()
			if !errors.Is(err, want) || result.Opened || len(result.UndoLeft) > 0 {
				t.Fatalf("error %v, want %v; result %+v", err, want, result)
			}
			var step *promote.StepError
			if !errors.As(err, &step) {
				t.Errorf("%v names no step", err)
			}
			awaitAck(t, writer, time.Now())
			l.asBefore(before)
		}
		t.Log("the fence hook fails")
		l.hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{hooks.Fence: {{Argv: []string{"/bin/false"}, OnFailure: hooks.Abort}}}}
		result, err := promote.Failover(bounded(t), l.env(), request)
		check(result, err, promote.ErrHook)
		l.hooks = hooks.Set{}

		t.Log("the lock is lost before open")
		env := l.env()
		lease := &fakeLease{}
		env.Lease = lease
		l.onStep = func(p promote.Progress) {
			if p.Step == promote.Prepare && p.State == promote.StepDone {
				lease.lose()
			}
		}
		result, err = promote.Failover(bounded(t), env, request)
		check(result, err, promote.ErrNotClaimed)

		t.Log("the user stops the program before open")
		ctx, cancel := context.WithCancel(bounded(t))
		l.onStep = func(p promote.Progress) {
			if p.Step == promote.Prepare && p.State == promote.StepDone {
				cancel()
			}
		}
		result, err = promote.Failover(ctx, l.env(), request)
		check(result, err, context.Canceled)
		l.onStep = nil
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := l.AwaitSync(bounded(t), l.Node(0)); err != nil {
			t.Fatal(err)
		}
		l.nothingLost(writer, l.Node(0))
		l.nothingLost(writer, l.Node(2))
	})
}

func TestProofIsRequired(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		l.settings.FenceRequire = promote.RequireProof
		sandbox.Break(t, "kill", l.Node(0))
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNotFenced) || result.Opened || result.NewPrimary != "" {
			t.Fatalf("a refused connection was taken for proof: %v, %+v", err, result)
		}
		l.hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{hooks.Fence: {{Argv: []string{"/bin/true"}}}}}
		result, _ = l.promoteFrom("db1")
		if result.Fence != promote.FenceProved || !strings.Contains(result.FenceWhy, "hook") {
			t.Errorf("fence %s: %s", result.Fence, result.FenceWhy)
		}
	})
}

// Whatever step the candidate dies at, the other replica is promoted.
func TestCandidateDiesAtEachStep(t *testing.T) {
	points := []string{"starve begun", "choose done", "fence begun", "prepare begun", "prepare done", "open begun", "open done", "prove begun"}
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, point := range points {
			t.Run(point, func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
				writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
				awaitAck(t, writer, time.Now())
				l.settled(writer)
				sandbox.Break(t, "kill", l.Node(0))
				died := false
				l.onStep = func(p promote.Progress) {
					if !died && p.Step.String()+" "+p.State.String() == point {
						died = true
						if err := l.Node(1).Kill(context.Background()); err != nil {
							t.Error(err)
						}
					}
				}
				result, primary := l.promoteFrom("db1")
				if primary != l.Node(2) || !died {
					t.Fatalf("promoted %s, candidate died: %v", primary.Name(), died)
				}
				if result.Proof == "" {
					t.Error("no write was proved")
				}
				l.nothingLost(writer, primary)
				if !l.writable(primary) {
					t.Error("the new primary is not writable")
				}
			})
		}
	})
}

func TestNoReplicaLeftIsUndoneAndNamed(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		sandbox.Break(t, "errant", l.Node(1))
		sandbox.Break(t, "delayed", l.Node(2))
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNoCandidate) || result.Opened {
			t.Fatalf("error %v, result %+v", err, result)
		}
		for _, want := range []string{"db2", "never had", "db3", "late on purpose"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
	})
}

func TestUnfitReplicasAreNotChosen(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, fault := range []string{"errant", "delayed", "sql-error"} {
			t.Run(fault, func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour})
				sandbox.Break(t, fault, l.Node(1))
				l.look()
				sandbox.Break(t, "kill", l.Node(0))
				_, primary := l.promoteFrom("db1")
				if primary != l.Node(2) {
					t.Errorf("promoted %s", primary.Name())
				}
			})
		}
	})
}

// Received rows that no SQL thread has applied survive: on MariaDB the next start
// of either thread after both were stopped would delete them.
func TestStoppedAppliersWithAFullRelayLogLoseNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		stop := "STOP SLAVE SQL_THREAD"
		if flavour == sandbox.MySQL {
			stop = "STOP REPLICA SQL_THREAD"
		}
		sqlExec(t, l.Node(1), stop)
		sqlExec(t, l.Node(2), stop)
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
		for n := 0; n < 100; n, _ = writer.Count() {
			time.Sleep(10 * time.Millisecond)
		}
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		_, primary := l.promoteFrom("db1")
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		l.nothingLost(writer, primary)
		for _, n := range l.Nodes()[1:] {
			if n != primary {
				l.follows(n, primary)
				l.nothingLost(writer, n)
			}
		}
	})
}

// A preferred replica that is behind first gets what the other has.
func TestPreferredCandidateCatchesUpFromTheMostAdvanced(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour}, "db3")
		sqlExec(t, l.Node(2), stopReplica(flavour))
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
		for n := 0; n < 50; n, _ = writer.Count() {
			time.Sleep(10 * time.Millisecond)
		}
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		l.awaitRow(l.Node(1), writer)
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		result, primary := l.promoteFrom("db1")
		if primary != l.Node(2) {
			t.Fatalf("promoted %s", primary.Name())
		}
		if result.Loss.Count > 0 {
			t.Errorf("loss report %+v", result.Loss)
		}
		l.nothingLost(writer, primary)
		l.follows(l.Node(1), primary)
		l.noErrant(l.Node(1), primary)
	})
}

// awaitRow waits until a node has the writer's last row.
func (l *lab) awaitRow(n *sandbox.Node, w *sandbox.Writer) {
	l.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		missing, err := w.Missing(bounded(l.t), n)
		if err == nil && len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s lacks %d rows, %v", n.Name(), len(missing), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A candidate that cannot apply what it received: the next one, nothing, or open
// it without, as configured; and the loss is named.
func TestCandidateThatDoesNotCatchUp(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, on := range []promote.OnTimeout{promote.NextCandidate, promote.AbortPlan, promote.PromoteAnyway} {
			t.Run(on.String(), func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour})
				l.settings.CatchUp, l.settings.CatchUpOnTimeout = time.Second, on
				l.settings.Statement, l.settings.Repoint = 2*time.Second, 2*time.Second
				sqlExec(t, l.Node(2), stopReplica(flavour))
				conn, err := l.Node(1).Root().Conn(bounded(t))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.ExecContext(bounded(t), "LOCK TABLES app.ledger READ"); err != nil {
					t.Fatal(err)
				}
				sqlExec(t, l.Node(0), "INSERT INTO app.ledger (id, node) VALUES (1, 'a')", "INSERT INTO app.ledger (id, node) VALUES (2, 'a')")
				time.Sleep(300 * time.Millisecond)
				l.look()
				sandbox.Break(t, "kill", l.Node(0))
				if on == promote.PromoteAnyway {
					// The lock must go before the applier can be stopped.
					l.onStep = func(p promote.Progress) {
						if p.Step == promote.Prepare && p.State == promote.StepBegun {
							_, _ = conn.ExecContext(context.Background(), "UNLOCK TABLES")
						}
					}
				}
				result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
				switch on {
				case promote.NextCandidate:
					if err != nil || result.NewPrimary != "db3" || result.Loss.Count != 2 {
						t.Fatalf("error %v, new primary %q, loss %+v", err, result.NewPrimary, result.Loss)
					}
					if left := result.Unpointed(); len(left) != 1 || left[0].Node != "db2" {
						t.Errorf("left behind: %+v", left)
					}
				case promote.AbortPlan:
					if !errors.Is(err, promote.ErrTimeout) || result.Opened {
						t.Fatalf("error %v, result %+v", err, result)
					}
				case promote.PromoteAnyway:
					if err != nil || result.NewPrimary != "db2" || result.Loss.Unapplied == "" || result.Loss.NoLoss {
						t.Fatalf("error %v, new primary %q, loss %+v", err, result.NewPrimary, result.Loss)
					}
				}
			})
		}
	})
}

// A sibling that cannot be stopped is left behind, reported, and can be repointed
// later; the others are not held up.
func TestSiblingThatCannotBeRepointedIsReported(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, Nodes: 4})
		l.settings.Repoint = 2 * time.Second
		conn, err := l.Node(2).Root().Conn(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(bounded(t), "LOCK TABLES app.ledger READ"); err != nil {
			t.Fatal(err)
		}
		sqlExec(t, l.Node(0), "INSERT INTO app.ledger (id, node) VALUES (1, 'a')")
		time.Sleep(300 * time.Millisecond)
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		result, primary := l.promoteFrom("db1")
		left := result.Unpointed()
		if primary == l.Node(2) || len(left) != 1 || left[0].Node != "db3" || left[0].Error == "" {
			t.Fatalf("promoted %s, left behind %+v", primary.Name(), left)
		}
		l.follows(l.Node(3), primary)
		if _, err := conn.ExecContext(bounded(t), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		l.settings.Repoint = 20 * time.Second
		if again := promote.RepointNode(bounded(t), l.env(), "db3", primary.Name()); !again.Done {
			t.Fatalf("%+v", again)
		}
		l.follows(l.Node(2), primary)
		l.noErrant(l.Node(2), primary)
	})
}

// The old primary is seen online in the middle of the plan: back to fence.
func TestOldPrimarySeenOnlineIsFencedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		active := sandbox.Break(t, "freeze", l.Node(0))
		seen := false
		l.online = func() bool { return seen }
		var fences []string
		l.onStep = func(p promote.Progress) {
			if p.Step == promote.Fence && p.State == promote.StepDone {
				fences = append(fences, p.Result)
			}
			if p.Step == promote.Prepare && p.State == promote.StepDone && !seen {
				if err := active.Heal(context.Background()); err != nil {
					t.Error(err)
				}
				seen = true
			}
		}
		result, _ := l.promoteFrom("db1")
		if result.Fence != promote.FenceProved || len(fences) != 2 {
			t.Errorf("fence %s: %s; fences %q", result.Fence, result.FenceWhy, fences)
		}
		if l.writable(l.Node(0)) {
			t.Error("the old primary is writable")
		}
	})
}

// Seen online and not to be fenced: the plan is undone.
func TestOldPrimarySeenOnlineThatCannotBeFencedUndoes(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		l.settings.Fence = time.Second
		sandbox.Break(t, "kill", l.Node(0))
		l.online = func() bool { return true }
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNotFenced) || result.Opened {
			t.Fatalf("error %v, result %+v", err, result)
		}
		for _, n := range l.Nodes()[1:] {
			if l.writable(n) {
				t.Errorf("%s is writable", n.Name())
			}
		}
	})
}

func sorted(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
