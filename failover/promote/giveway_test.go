package promote_test

import (
	"errors"
	"testing"
	"time"

	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// A candidate with the only copy of a transaction is not given up for a short freeze.
func TestCandidateWithTheOnlyCopyIsWaitedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		sqlExec(t, l.Node(2), map[sandbox.Flavour]string{sandbox.MariaDB: "STOP SLAVE IO_THREAD", sandbox.MySQL: "STOP REPLICA IO_THREAD"}[flavour])
		sqlExec(t, l.Node(0), "INSERT INTO app.ledger (id, node) VALUES (1, 'a')")
		time.Sleep(300 * time.Millisecond)
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		thawed := make(chan error, 1)
		frozen := false
		l.onStep = func(p promote.Progress) {
			if frozen || p.Step != promote.Prepare || p.State != promote.StepBegun {
				return
			}
			frozen = true
			freeze := sandbox.Break(t, "freeze", l.Node(1))
			go func() {
				time.Sleep(4 * time.Second) // a second and one look are three
				thawed <- freeze.Heal(t.Context())
			}()
		}
		result, primary := l.promoteFrom("db1")
		if err := <-thawed; err != nil {
			t.Fatal(err)
		}
		if primary != l.Node(1) || result.Loss.Count != 0 {
			t.Errorf("promoted %s, loss %+v", primary.Name(), result.Loss)
		}
	})
}

// Where no candidate catches up, all is undone, and every replica receives again:
// those too that had given way.
func TestCandidatesThatGaveWayReceiveAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		l.settings.CatchUp = time.Second
		for _, n := range l.Nodes()[1:] {
			l.lockLedger(n)
		}
		sqlExec(t, l.Node(0), "INSERT INTO app.ledger (id, node) VALUES (1, 'a')")
		time.Sleep(300 * time.Millisecond)
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNoCandidate) || result.Opened || len(result.UndoLeft) > 0 {
			t.Fatalf("error %v, result %+v", err, result)
		}
		for _, reading := range l.reader.Read(bounded(t))[1:] {
			channels := reading.Status.Channels.Or(nil)
			if len(channels) != 1 || channels[0].IO == mysql.ThreadNo || channels[0].SQL != mysql.ThreadYes {
				t.Errorf("%s: %+v, %v", reading.Name, channels, reading.Error)
			}
		}
	})
}

// A candidate that freezes answers nothing any more and refuses nothing either:
// whatever step it is at, the other replica is promoted. The time limits here are
// longer than the test: nobody may wait for one.
func TestCandidateFreezesAtEachStep(t *testing.T) {
	points := []string{"prepare begun", "open begun", "prove begun", "choose done", "fence done"}
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, point := range risky(flavour, points, 0) {
			t.Run(point, func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true}, "db2")
				l.settings.Statement, l.settings.Repoint, l.settings.Verify = time.Hour, time.Hour, time.Hour
				l.settings.CatchUp = time.Hour
				writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
				awaitAck(t, writer, time.Now())
				l.settled(writer)
				sandbox.Break(t, "kill", l.Node(0))
				frozen := false
				l.onStep = func(p promote.Progress) {
					if !frozen && p.Step.String()+" "+p.State.String() == point {
						frozen = true
						sandbox.Break(t, "freeze", l.Node(1))
					}
				}
				result, primary := l.promoteFrom("db1")
				if primary != l.Node(2) || !frozen {
					t.Fatalf("promoted %s, candidate frozen: %v", primary.Name(), frozen)
				}
				if result.Proof == "" {
					t.Error("no write was proved")
				}
				l.nothingLost(writer, primary)
			})
		}
	})
}

// A successor that gives way before it was opened is not the new primary: the one that
// was opened and lost stays it, and the failover is unfinished.
func TestUnfinishedFailoverNamesTheNodeThatWasOpened(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true}, "db2")
		sandbox.Break(t, "kill", l.Node(0))
		l.onStep = func(p promote.Progress) {
			switch {
			case p.Step == promote.Prove && p.State == promote.StepBegun:
				sandbox.Break(t, "kill", l.Node(1))
			case p.Step == promote.Prepare && p.State == promote.StepBegun && p.Target == "db3":
				sandbox.Break(t, "freeze", l.Node(2))
			}
		}
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if err == nil || !result.Opened || !result.Unfinished || result.NewPrimary != "db2" {
			t.Errorf("error %v, opened %v, unfinished %v, new primary %q", err, result.Opened, result.Unfinished, result.NewPrimary)
		}
	})
}

// Candidates that freeze one after the other and thaw again: all is undone, once, and
// they are replicas as before.
func TestFrozenCandidatesArePutBack(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true}, "db2")
		l.settings.Statement = 3 * time.Second
		sandbox.Break(t, "kill", l.Node(0))
		frozen := map[string]*sandbox.Active{}
		thaw := func(node string) {
			if err := frozen[node].Heal(t.Context()); err != nil {
				t.Error(err)
			}
		}
		l.onStep = func(p promote.Progress) {
			switch {
			case p.Step == promote.Prepare && p.State == promote.StepBegun:
				if p.Target == "db3" {
					thaw("db2")
				}
				frozen[p.Target] = sandbox.Break(t, "freeze", map[string]*sandbox.Node{"db2": l.Node(1), "db3": l.Node(2)}[p.Target])
			case p.Step == promote.Prepare && p.State == promote.StepFailed && p.Target == "db3":
				thaw("db3")
			}
		}
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNoCandidate) || result.Opened || len(result.UndoLeft) > 0 || len(frozen) != 2 {
			t.Fatalf("error %v, result %+v, frozen %v", err, result, frozen)
		}
		for _, reading := range l.reader.Read(bounded(t))[1:] {
			channels := reading.Status.Channels.Or(nil)
			if len(channels) != 1 || channels[0].IO == mysql.ThreadNo || channels[0].SQL != mysql.ThreadYes {
				t.Errorf("%s: %+v, %v", reading.Name, channels, reading.Error)
			}
			if semi, _ := reading.Status.SemiSync.Get(); semi.SourceEnabled {
				t.Errorf("%s: its semi-sync source side is on", reading.Name)
			}
		}
	})
}

// lockLedger holds a replica's applier up with a table lock until the test ends, or the
// function that it gives is called.
func (l *lab) lockLedger(n *sandbox.Node) (unlock func()) {
	l.t.Helper()
	conn, err := n.Root().Conn(bounded(l.t))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	run := func(statement string) {
		l.t.Helper()
		if _, err := conn.ExecContext(bounded(l.t), statement); err != nil {
			l.t.Fatal(err)
		}
	}
	run("LOCK TABLES app.ledger READ")
	return func() { run("UNLOCK TABLES") }
}
