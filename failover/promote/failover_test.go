package promote_test

import (
	"testing"
	"time"

	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

func TestKilledPrimaryLosesNoAcknowledgedRow(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
		sampler := l.StartSampler(bounded(t))
		awaitAck(t, writer, time.Now().Add(300*time.Millisecond))
		l.look()
		killed := time.Now()
		sandbox.Break(t, "kill", l.Node(0))
		result, err := promote.Failover(bounded(t), l.env(), promote.FailoverRequest{OldPrimary: "db1", Reason: "killed"})
		if err != nil {
			t.Fatal(err)
		}
		ack := awaitAck(t, writer, killed)
		t.Logf("first write %v after the decision, %v after the kill; %s", result.FirstWrite, ack.At.Sub(killed), stepsOf(result))
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		primary := l.node(result.NewPrimary)
		if !result.Opened || result.Proof == "" || len(result.Unpointed()) > 0 || len(result.Warnings) > 0 {
			t.Errorf("result %+v", result)
		}
		if result.Fence != promote.FenceUnreachable {
			t.Errorf("a dead primary's fence is %s", result.Fence)
		}
		if !result.Loss.NoLoss || result.Loss.Count != 0 {
			t.Errorf("loss report %+v", result.Loss)
		}
		l.nothingLost(writer, primary)
		for _, n := range l.Nodes()[1:] {
			if n != primary {
				l.follows(n, primary)
				l.noErrant(n, primary)
			}
		}
		l.noOverlap(sampler)
		if left := l.unfinished(); len(left) > 0 {
			t.Errorf("the promotion log is unfinished: %+v", left)
		}
	})
}
