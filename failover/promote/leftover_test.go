package promote_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// A frozen primary that could not be proved fenced is fenced when it thaws, and a replica
// that froze in the middle stays starved: both are put back when they answer again.
func TestWhatCouldNotBeTakenBackIsTakenBackLater(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		l.settings.FenceRequire = promote.RequireProof
		var replica *sandbox.Active
		l.onStep = func(p promote.Progress) {
			if p.Step == promote.Choose && p.State == promote.StepDone {
				replica = sandbox.Break(t, "freeze", l.Node(2))
			}
		}
		primary := sandbox.Break(t, "freeze", l.Node(0))
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
		if !errors.Is(err, promote.ErrNotFenced) || result.Leftover == nil {
			t.Fatalf("the failover ended with %v, left %+v", err, result.UndoLeft)
		}
		if nodes := result.Leftover.Nodes(); !slices.Equal(nodes, []string{"db1", "db3"}) || result.Leftover.Primary() != "db1" {
			t.Fatalf("left on %v, primary %s", nodes, result.Leftover.Primary())
		}
		kept, err := json.Marshal(result.Leftover)
		if err != nil {
			t.Fatal(err)
		}
		left := new(promote.Leftover)
		if err := json.Unmarshal(kept, left); err != nil {
			t.Fatal(err)
		}

		// Nobody asks those that are still down.
		l.down = []string{"db1", "db3"}
		begun := time.Now()
		rest, done, undone := promote.TakeBack(bounded(t), l.env(), left)
		if rest == nil || !slices.Equal(rest.Nodes(), left.Nodes()) || len(done)+len(undone) > 0 {
			t.Fatalf("while both are down: rest %v, done %v, not done %v, after %v", rest, done, undone, time.Since(begun))
		}

		// The primary is back; another attempt in between left nothing new.
		if err := primary.Heal(bounded(t)); err != nil {
			t.Fatal(err)
		}
		awaitFlags(t, l, l.Node(0), false)
		l.down = []string{"db3"}
		rest, done, undone = promote.TakeBack(bounded(t), l.env(), (*promote.Leftover)(nil).With(rest))
		if rest == nil || rest.Fenced() || !slices.Equal(rest.Nodes(), []string{"db3"}) || len(undone) > 0 {
			t.Fatalf("once the primary is back: rest %v, done %v, not done %v", rest, done, undone)
		}
		if !l.writable(l.Node(0)) {
			t.Error("the primary is not writable again")
		}

		if err := replica.Heal(bounded(t)); err != nil {
			t.Fatal(err)
		}
		l.down = nil
		rest, done, undone = promote.TakeBack(bounded(t), l.env(), rest)
		if rest != nil || len(done) != 1 || len(undone) > 0 {
			t.Fatalf("once all are back: rest %v, done %v, not done %v", rest, done, undone)
		}
		for _, n := range l.Nodes()[1:] {
			l.follows(n, l.Node(0))
		}
	})
}

// awaitFlags waits until a node is writable, or is not.
func awaitFlags(t *testing.T, l *lab, n *sandbox.Node, writable bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.writable(n) != writable; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is writable: %v, want %v", n.Name(), !writable, writable)
		}
	}
}

// A server that dies while it writes its notes on its channel cannot read them any more:
// error 1201, or 1872 on MySQL.
func TestDamagedChannelIsMadeAnew(t *testing.T) {
	l := newLab(t, sandbox.Options{Flavour: sandbox.MariaDB, SemiSync: true})
	ctx := bounded(t)
	damaged := l.Node(1)
	kill := sandbox.Break(t, "kill", damaged)
	if err := os.WriteFile(filepath.Join(damaged.DataDir(), "relay-log.info"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := kill.Heal(ctx); err != nil {
		t.Fatal(err)
	}
	session := l.reader.Session(damaged.Name())
	err := session.ChangeSource(ctx, mysql.SourceOptions{Host: l.Node(0).Host(), Port: l.Node(0).Port()})
	if err != nil {
		err = session.ChangeSource(ctx, mysql.SourceOptions{Host: l.Node(0).Host(), Port: l.Node(0).Port()})
	}
	if mysql.Number(err) != 1201 {
		t.Fatalf("the damage shows as %v, want error 1201", err)
	}
	env := l.env()
	env.Account = promote.Account{}
	if r := promote.RepointNode(ctx, env, damaged.Name(), "db1"); r.Done || mysql.Number(r.Err) != 1201 {
		t.Errorf("without an account: %+v", r)
	}
	if r := promote.RepointNode(ctx, l.env(), damaged.Name(), "db1"); !r.Done {
		t.Fatalf("%+v", r)
	}
	l.follows(damaged, l.Node(0))
	sibling, mine := l.soleChannel("db1", "db3"), l.soleChannel("db1", damaged.Name())
	if mine.HeartbeatPeriod != sibling.HeartbeatPeriod {
		t.Errorf("heartbeat period %v, its sibling's is %v", mine.HeartbeatPeriod, sibling.HeartbeatPeriod)
	}
}

// The one replica that was to acknowledge is lost when the new primary opens, or is
// attached: writes go on without semi-sync, soon.
func TestLostAcknowledgerHoldsUpNoWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, step := range []promote.StepName{promote.Prove, promote.Verify} {
			t.Run(step.String(), func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true, SemiSyncTimeout: 10 * time.Minute}, "db2")
				writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
				awaitAck(t, writer, time.Now())
				sandbox.Break(t, "kill", l.Node(0))
				var lost *sandbox.Active
				l.onStep = func(p promote.Progress) {
					if p.Step == step && p.State == promote.StepBegun && lost == nil {
						lost = sandbox.Break(t, "freeze", l.Node(2))
					}
				}
				result, primary := l.promoteFrom("db1")
				if primary != l.Node(1) || !result.SemiSyncPending || len(result.Unpointed()) != 1 {
					t.Errorf("promoted %s, semi-sync pending %v, left behind %+v; warnings %v", primary.Name(), result.SemiSyncPending, result.Unpointed(), result.Warnings)
				}
				awaitAck(t, writer, time.Now())
				if err := lost.Heal(bounded(t)); err != nil {
					t.Fatal(err)
				}
				env := l.env()
				env.SemiSyncWanted = true
				if r := promote.RepointNode(bounded(t), env, "db3", primary.Name()); !r.Done {
					t.Errorf("%+v", r)
				}
				if semi, err := l.reader.Session(primary.Name()).SemiSync(bounded(t)); err != nil || !semi.SourceEnabled {
					t.Errorf("semi-sync is not on again: %+v, %v", semi, err)
				}
				if err := writer.Stop(); err != nil {
					t.Fatal(err)
				}
				l.nothingLost(writer, primary)
			})
		}
	})
}

// leftover makes one from its JSON.
func leftover(t *testing.T, text string) *promote.Leftover {
	t.Helper()
	l := new(promote.Leftover)
	if err := json.Unmarshal([]byte(text), l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLeftoversOfTwoAttempts(t *testing.T) {
	const db1 = `"plan":{"old_primary":"db1"}`
	frozen := leftover(t, `{"state":{`+db1+`,"fence":{"state":"pending"},"starved":["db3"],"before":{"db3":{"io":true}}}}`)
	fenced := leftover(t, `{"state":{`+db1+`,"fence":{"state":"proved","known":true,"read_only":true},"starved":["db2"],"before":{"db3":{"io":false}}}}`)
	other := leftover(t, `{"state":{"plan":{"old_primary":"db2"},"fence":{"state":"untried"},"starved":["db3"]}}`)

	both := fenced.With(frozen)
	if got := both.Nodes(); !slices.Equal(got, []string{"db1", "db2", "db3"}) || !both.Fenced() {
		t.Errorf("both leave %v", got)
	}
	// What the later one read is what the earlier one had done.
	if both.FenceAlone() == nil {
		t.Error("the primary counts as one that was read-only before")
	}
	if fenced.FenceAlone() != nil {
		t.Error("a primary that was read-only before counts as fenced by us")
	}
	kept, err := json.Marshal(both)
	if err != nil || !strings.Contains(string(kept), `"io":true`) {
		t.Errorf("how db3 was before the first attempt is lost: %s, %v", kept, err)
	}
	if got := other.With(frozen); got != other {
		t.Error("what was left with another primary is kept")
	}
	if got := (*promote.Leftover)(nil).With(frozen); got != frozen {
		t.Error("what the first attempt left is lost")
	}
}

// A server that was started anew has forgotten the fence: that it is read-only is its own
// configuration's doing.
func TestNothingIsTakenBackOnAServerThatWasStartedAnew(t *testing.T) {
	l := newLab(t, sandbox.Options{Flavour: sandbox.MariaDB})
	ctx := bounded(t)
	time.Sleep(2 * time.Second) // servers count their uptime in seconds
	made := time.Now().UTC().Format(time.RFC3339Nano)
	left := func(age time.Duration, old string) *promote.Leftover {
		at := time.Now().Add(-age).UTC().Format(time.RFC3339Nano)
		if age == 0 {
			at = made
		}
		return leftover(t, `{"time":"`+at+`","state":{"plan":{"old_primary":"`+old+`"},"fence":{"state":"pending"}}}`)
	}
	sqlExec(t, l.Node(0), "SET GLOBAL read_only=ON")
	if rest, done, _ := promote.TakeBack(ctx, l.env(), left(25*time.Hour, "db1")); rest != nil || len(done) > 0 {
		t.Errorf("after more than a day: %v, %v", rest, done)
	}
	if rest, done, _ := promote.TakeBack(ctx, l.env(), left(0, "gone")); rest != nil || len(done) > 0 {
		t.Errorf("on a node that is not configured any more: %v, %v", rest, done)
	}
	kill := sandbox.Break(t, "kill", l.Node(0))
	time.Sleep(2 * time.Second)
	if err := kill.Heal(ctx); err != nil {
		t.Fatal(err)
	}
	sqlExec(t, l.Node(0), "SET GLOBAL read_only=ON")
	if rest, done, _ := promote.TakeBack(ctx, l.env(), left(0, "db1")); rest != nil || len(done) > 0 || l.writable(l.Node(0)) {
		t.Errorf("after a start: %v, %v, writable %v", rest, done, l.writable(l.Node(0)))
	}
}
