package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

func TestSemiSyncOfRealServers(t *testing.T) {
	onBothFlavours(t, sandbox.Options{SemiSync: true, SemiSyncTimeout: time.Minute, NetTimeout: 2 * time.Second}, map[string]func(*testing.T, lab){
		"both sides are read and switched":                               semiSyncSides,
		"a proving write waits for its acknowledgement and is not lost":  proveWaits,
		"a stop does not wait a minute for half a received transaction":  stopWithHalfTransaction,
		"stopping an IO thread that waits for a hung source is bounded ": stopWhileSourceHangs,
	})
}

func semiSyncSides(t *testing.T, l lab) {
	primary, replica := l.act(t, 0), l.act(t, 1)
	await(t, "semi-sync is in sync", func() bool {
		semi, known := l.status(t, primary).SemiSync.Get()
		return known && semi.SourceInstalled && semi.SourceEnabled && semi.SourceActive && semi.Clients >= 2 &&
			semi.WaitCount == 1 && semi.TimeoutMS == 60000
	})
	before, err := primary.SemiSync(within(t, 5*time.Second))
	ok(t, "read", err)
	_, err = primary.Prove(within(t, 5*time.Second), 5)
	ok(t, "prove", err)
	after, err := primary.SemiSync(within(t, 5*time.Second))
	ok(t, "read", err)
	if after.YesTx != before.YesTx+1 || after.NoTx != before.NoTx {
		t.Errorf("acknowledged %d → %d, not %d → %d", before.YesTx, after.YesTx, before.NoTx, after.NoTx)
	}
	semi, err := replica.SemiSync(within(t, 5*time.Second))
	if err != nil || semi.SourceEnabled || !semi.ReplicaEnabled || !semi.ReplicaActive {
		t.Errorf("replica: %+v, %v", semi, err)
	}
	for _, on := range []bool{true, false} {
		ok(t, "switch source", replica.SetSemiSyncSource(within(t, 5*time.Second), on))
		ok(t, "switch replica", replica.SetSemiSyncReplica(within(t, 5*time.Second), !on))
		semi, err := replica.SemiSync(within(t, 5*time.Second))
		if err != nil || semi.SourceEnabled != on || semi.ReplicaEnabled == on {
			t.Errorf("switched %v: %+v, %v", on, semi, err)
		}
	}
}

func proveWaits(t *testing.T, l lab) {
	primary := l.act(t, 0)
	for i := 1; i <= 2; i++ {
		ok(t, "stop IO", l.act(t, i).StopIO(within(t, 5*time.Second), ""))
	}
	_, err := primary.Prove(within(t, 500*time.Millisecond), 6)
	if !errors.Is(err, ErrPending) {
		t.Fatalf("prove without a replica: %v, want ErrPending", err)
	}
	for i := 1; i <= 2; i++ {
		ok(t, "start IO", l.act(t, i).StartIO(within(t, 5*time.Second), ""))
	}
	ok(t, "settle", primary.Settle(within(t, 10*time.Second)))
	for i := 1; i <= 2; i++ {
		l.running(t, l.act(t, i))
	}
}

// bigTransaction starts a write that takes long to be sent, on a primary that
// does not wait for acknowledgements.
func bigTransaction(t *testing.T, l lab) {
	t.Helper()
	l.root(t, 0, "CREATE TABLE IF NOT EXISTS app.big (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
	conn, _ := l.hold(t, 0, "START TRANSACTION")
	for range 12 {
		if _, err := conn.ExecContext(within(t, 20*time.Second), fmt.Sprintf("INSERT INTO app.big (b) VALUES (REPEAT('x', %d))", 8<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.ExecContext(within(t, 50*time.Second), "COMMIT"); err != nil {
		t.Fatal(err)
	}
}

func stopWithHalfTransaction(t *testing.T, l lab) {
	s := l.act(t, 2)
	ok(t, "stop IO", s.StopIO(within(t, 5*time.Second), ""))
	bigTransaction(t, l)
	// The event's bytes are cut off while the replica reads them.
	ok(t, "start IO", s.StartIO(within(t, 5*time.Second), ""))
	heal := func() {}
	defer func() {
		heal()
		ok(t, "follow", l.Node(2).Follow(within(t, 20*time.Second), l.Node(0)))
		l.wakeAll(t)
	}()
	half := false
	for deadline := time.Now().Add(20 * time.Second); !half && time.Now().Before(deadline); {
		c := l.channel(t, s)
		if c.Read.Pos > 9<<20 {
			active := sandbox.Break(t, "freeze", l.Node(0))
			heal = func() { ok(t, "heal", active.Heal(context.Background())) }
			half = true
		}
	}
	if !half {
		t.Log("the transaction arrived whole before it could be cut")
	}
	ok(t, "starve", s.Starve(within(t, 10*time.Second), ""))
	start := time.Now()
	ok(t, "stop and reset", s.StopAndReset(within(t, 30*time.Second), ""))
	took := time.Since(start)
	t.Logf("stop and reset took %s", took)
	if took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func stopWhileSourceHangs(t *testing.T, l lab) {
	s := l.act(t, 1)
	active := sandbox.Break(t, "freeze", l.Node(0))
	start := time.Now()
	err := s.Starve(within(t, 5*time.Second), "")
	took := time.Since(start)
	ok(t, "heal", active.Heal(context.Background()))
	ok(t, "starve", err)
	t.Logf("starving took %s", took)
	ok(t, "start IO", s.StartIO(within(t, 5*time.Second), ""))
	l.wakeAll(t)
}
