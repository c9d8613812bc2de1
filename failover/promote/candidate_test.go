package promote_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// Whatever step the candidate dies at, the other replica is promoted.
func TestCandidateDiesAtEachStep(t *testing.T) {
	points := []string{"starve begun", "fence begun", "prepare begun", "prepare done", "open begun", "prove begun"}
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, point := range risky(flavour, points, 1, 3, 4) {
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
				result, primary := l.promoteFrom("db1")
				if primary != l.Node(2) {
					t.Errorf("promoted %s", primary.Name())
				}
				if left := result.Unpointed(); fault == "delayed" && len(left) > 0 {
					t.Errorf("left behind: %+v", left)
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
				l.awaitRow(n, writer)
				l.nothingLost(writer, n)
			}
		}
	})
}

// A preferred replica that is behind first gets what the other has.
func TestPreferredCandidateCatchesUpFromTheMostAdvanced(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		t.Run("preferred", func(t *testing.T) { catchesUp(t, newLab(t, sandbox.Options{Flavour: flavour}, "db3"), "") })
		t.Run("asked for", func(t *testing.T) { catchesUp(t, newLab(t, sandbox.Options{Flavour: flavour}), "db3") })
	})
}

func catchesUp(t *testing.T, l *lab, to string) {
	flavour := l.Flavour()
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
	result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1", To: to})
	if err != nil || result.NewPrimary != "db3" {
		t.Fatalf("promoted %q: %v", result.NewPrimary, err)
	}
	if result.Loss.Count > 0 {
		t.Errorf("loss report %+v", result.Loss)
	}
	l.nothingLost(writer, l.Node(2))
	l.follows(l.Node(1), l.Node(2))
	l.noErrant(l.Node(1), l.Node(2))
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
		unlock := l.lockLedger(l.Node(2))
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
		unlock()
		l.settings.Repoint = 20 * time.Second
		if again := promote.RepointNode(bounded(t), l.env(), "db3", primary.Name()); !again.Done {
			t.Fatalf("%+v", again)
		}
		l.follows(l.Node(2), primary)
		l.noErrant(l.Node(2), primary)
	})
}

// A replica that hangs must not cost the writers its time limits.
func TestReplicaThatWasDownIsNotWaitedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		const long = 30 * time.Second
		l.settings.Starve, l.settings.Statement, l.settings.Repoint = long, long, 3*time.Second
		frozen := sandbox.Break(t, "freeze", l.Node(2))
		l.down = []string{"db3"}
		sandbox.Break(t, "kill", l.Node(0))
		result, primary := l.promoteFrom("db1")
		if primary != l.Node(1) {
			t.Fatalf("promoted %s", primary.Name())
		}
		for _, d := range result.Durations {
			if (d.Step == promote.Starve || d.Step == promote.Prepare) && d.Took > long/3 {
				t.Errorf("%s took %s, with a limit of %s", d.Step, d.Took, long)
			}
		}
		if left := result.Unpointed(); len(left) != 1 || left[0].Node != "db3" || !result.SemiSyncPending {
			t.Errorf("left behind: %+v, semi-sync pending: %v", left, result.SemiSyncPending)
		}
		if err := frozen.Heal(bounded(t)); err != nil {
			t.Fatal(err)
		}
		l.settings.Repoint = 20 * time.Second
		if again := promote.RepointNode(bounded(t), l.env(), "db3", primary.Name()); !again.Done {
			t.Fatalf("%+v", again)
		}
		l.follows(l.Node(2), primary)
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
