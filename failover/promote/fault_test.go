package promote_test

import (
	"context"
	"errors"
	"fmt"
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

// The old primary lives behind a wall: nobody reaches it, and it goes on.
func TestLivingPrimaryOutOfReach(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		for _, fault := range []string{"refuse", "drop"} {
			t.Run(fault, func(t *testing.T) {
				l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true, SemiSyncTimeout: 10 * time.Minute})
				writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
				awaitAck(t, writer, time.Now().Add(200*time.Millisecond))
				cut := time.Now()
				active := sandbox.Break(t, fault, l.Node(0))
				result, primary := l.promoteFrom("db1")
				if result.Fence == promote.FenceProved {
					t.Errorf("an unreachable primary counts as fenced: %s", result.FenceWhy)
				}
				awaitAck(t, writer, cut)
				if err := writer.Stop(); err != nil {
					t.Fatal(err)
				}
				t.Logf("fence %s; %s", result.Fence, stepsOf(result))
				l.nothingLost(writer, primary)
				for _, n := range l.Nodes()[1:] {
					if n != primary {
						l.follows(n, primary)
						l.noErrant(n, primary)
					}
				}
				if err := active.Heal(bounded(t)); err != nil {
					t.Fatal(err)
				}
				st, err := l.reader.Session(primary.Name()).Status(bounded(t))
				if err != nil {
					t.Fatal(err)
				}
				state, why, err := promote.FenceReturned(bounded(t), l.env(), "db1", st.Identity())
				if err != nil || state != promote.FenceProved {
					t.Fatalf("%s: %v: %s", state, err, why)
				}
			})
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
				work := startLoad(t, l, 4)
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
