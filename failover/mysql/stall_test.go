package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

func TestStatusOfAStalledPrimaryComesAndItsWriteIsPending(t *testing.T) {
	onBothFlavours(t, sandbox.Options{Nodes: 1, LoopBytes: 384 << 20}, map[string]func(*testing.T, lab){
		"stalled": func(t *testing.T, l lab) {
			s, other := l.act(t, 0), l.act(t, 0)
			l.status(t, s)
			active := sandbox.Break(t, "disk-stall", l.Node(0))
			_, proved := s.Prove(within(t, time.Second), 9)
			st, err := other.Status(within(t, 5*time.Second))
			list, listErr := other.Processes(within(t, 5*time.Second))
			fenced := other.SetReadOnly(within(t, time.Second), true)
			ok(t, "heal", active.Heal(context.Background()))

			if !errors.Is(proved, ErrPending) {
				t.Errorf("a write on a stalled disk: %v, want ErrPending", proved)
			}
			if err != nil || len(st.Unknown) > 0 {
				t.Errorf("status of a server with a stalled disk: %v, unknown %v", err, st.Unknown)
			}
			if listErr != nil || len(list) < 2 {
				t.Errorf("sessions of a server with a stalled disk: %v, %v", list, listErr)
			}
			if !errors.Is(fenced, ErrPending) {
				t.Errorf("read_only on a stalled disk: %v, want ErrPending", fenced)
			}
			ok(t, "the write after all", s.Settle(within(t, 20*time.Second)))
			ok(t, "read_only after all", other.Settle(within(t, 20*time.Second)))
			if flags, err := other.ReadFlags(within(t, 5*time.Second)); err != nil || flags.Open() {
				t.Errorf("an abandoned read_only took no effect: %+v, %v", flags, err)
			}
		},
	})
}

func TestStalledReplicaCostsItsChannelsAloneAndComesBack(t *testing.T) {
	onBothFlavours(t, sandbox.Options{Nodes: 2, LoopBytes: 384 << 20, LoopNodes: []int{1}}, map[string]func(*testing.T, lab){
		"stalled": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			l.status(t, s)
			active := sandbox.Break(t, "disk-stall", l.Node(1))
			_, err := l.act(t, 0).Prove(within(t, 5*time.Second), 10) // something to write down
			ok(t, "prove", err)
			time.Sleep(200 * time.Millisecond) // until the replica has met its disk
			start := time.Now()
			st, err := s.Status(within(t, time.Second))
			took := time.Since(start)
			_, channels := st.Channels.Get()
			ok(t, "heal", active.Heal(context.Background()))
			if err != nil || st.ServerID != l.Node(1).ServerID() {
				t.Errorf("status of a replica with a stalled disk: %+v, %v", st, err)
			}
			if !channels && len(st.Unknown) == 0 {
				t.Error("the channels are unknown without a reason")
			}
			t.Logf("channels known: %v, after %s: %v", channels, took, st.Unknown)
			await(t, "the session answers again", func() bool {
				st, err := s.Status(within(t, 5*time.Second))
				return err == nil && len(st.Unknown) == 0
			})
			l.running(t, s)
		},
	})
}
