package topology

import (
	"context"
	"slices"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/sandbox"
)

// lab is a running cluster with a reader on it.
type lab struct {
	*sandbox.Cluster
	reader *Reader
}

const readLimit = 2 * time.Second

func onBothFlavours(t *testing.T, o sandbox.Options, run func(*testing.T, lab)) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(flavour.String(), func(t *testing.T) {
			o.Flavour = flavour
			cluster := sandbox.ForTest(t, o)
			var members []Member
			for _, n := range cluster.Nodes() {
				address, err := check.ParseAddress(n.Address(), 3306)
				if err != nil {
					t.Fatal(err)
				}
				act := cluster.Accounts().Act
				members = append(members, Member{Name: n.Name(), Server: check.Server{Address: address, User: act.User, Secret: check.NewSecret(act.Password)}})
			}
			l := lab{cluster, NewReader(members, readLimit)}
			t.Cleanup(func() { _ = l.reader.Close() })
			run(t, l)
		})
	}
}

func (l lab) judge(memory Memory) Topology {
	return Judge(l.reader.ReadDeep(context.Background()), memory, time.Now())
}

// settle judges until the topology is as wanted, at most 20 s.
func (l lab) settle(t *testing.T, what string, memory Memory, is func(Topology) bool) Topology {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		topology := l.judge(memory)
		if is(topology) {
			return topology
		}
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s\n%s", what, topology.Tree())
		}
	}
}

func clean(t Topology) bool { return t.Healthy() && len(t.Findings) == 0 }

func (l lab) healthy(t *testing.T) (Topology, Memory) {
	t.Helper()
	topology := l.settle(t, "a healthy cluster", Memory{}, clean)
	memory, ok := topology.Remember(Memory{})
	if !ok || topology.Primary != "db1" {
		t.Fatalf("not remembered:\n%s", topology.Tree())
	}
	return topology, memory
}

// rejected tells by which rules a node was rejected now.
func (l lab) rejected(memory Memory, node string) []string {
	v, _ := Choose(Contest{Topology: l.judge(memory)}).Verdict(node)
	return rejectionNames(v)
}

func TestRealFaultsRejectCandidates(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, func(t *testing.T, l lab) {
		topology, memory := l.healthy(t)
		if choice := Choose(Contest{Topology: topology}); choice.Winner != "db2" || len(choice.Eligible()) != 2 {
			t.Fatalf("%+v", choice)
		}
		t.Logf("\n%s", topology.Tree())
		for _, c := range []struct{ fault, rule string }{
			{"delayed", "delayed"}, {"sql-error", "applier_stopped"}, {"locked", "locked"}, {"freeze", "unreachable"}, {"errant", "errant"},
		} {
			if c.fault == "locked" && l.Flavour() == sandbox.MariaDB {
				continue // it tells its locks only with a plugin, which has a test of its own
			}
			t.Run(c.fault, func(t *testing.T) {
				active := sandbox.Break(t, c.fault, l.Node(1))
				start := time.Now()
				l.settle(t, c.rule, memory, func(Topology) bool { return slices.Equal(l.rejected(memory, "db2"), []string{c.rule}) })
				if took := time.Since(start); c.fault == "freeze" && took > 3*readLimit {
					t.Errorf("a frozen replica delayed the reading by %s", took)
				}
				if choice := Choose(Contest{Topology: l.judge(memory)}); choice.Winner != "db3" {
					t.Errorf("winner %q: %+v", choice.Winner, choice)
				}
				if err := active.Heal(context.Background()); err != nil {
					t.Fatal(err)
				}
				if c.fault != "errant" { // cannot be unwritten everywhere
					l.settle(t, "healed", memory, func(Topology) bool { return len(l.rejected(memory, "db2")) == 0 })
				}
			})
		}
	})
}

func TestDeadPrimaryIsKnownByItsReplicasAndLostToThem(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, func(t *testing.T, l lab) {
		_, memory := l.healthy(t)
		connected := map[string]time.Time{"db2": time.Now(), "db3": time.Now()}
		before := l.judge(memory)
		if answers := Poll(t.Context(), Voters(before, l.reader, connected), true); len(answers) == 0 || answers[0].Vote != failover.VoteSees {
			t.Errorf("a living primary: %+v", answers)
		}
		sandbox.Break(t, "kill", l.Node(0))
		dead := l.settle(t, "a dead primary, named by both replicas", Memory{}, func(t Topology) bool { return t.Primary == "db1" && t.PrimaryDead })
		if choice := Choose(Contest{Topology: dead}); choice.Winner != "db2" || choice.LossKnown {
			t.Errorf("without memory: %+v", choice)
		}
		remembered := l.judge(memory)
		if choice := Choose(Contest{Topology: remembered}); choice.Winner != "db2" || !choice.LossKnown || choice.Verdicts[0].LossCount != 0 {
			t.Errorf("with memory: %+v", choice)
		}
		start := time.Now()
		answers := Poll(t.Context(), Voters(remembered, l.reader, connected), true)
		t.Logf("the poll took %s", time.Since(start))
		if len(answers) != 2 || answers[0].Vote != failover.VoteLost || answers[1].Vote != failover.VoteLost {
			t.Errorf("a dead primary: %+v", answers)
		}
	})
}

func TestChainsAndStrayPrimariesAreDiagnosed(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, func(t *testing.T, l lab) {
		_, memory := l.healthy(t)
		ctx := t.Context()
		if err := l.Node(2).Follow(ctx, l.Node(1)); err != nil {
			t.Fatal(err)
		}
		l.settle(t, "a chain", memory, func(t Topology) bool { return t.Primary == "db1" && slices.Equal(ruleNames(t), []string{"chain"}) })
		if got := l.rejected(memory, "db3"); !slices.Equal(got, []string{"not_a_replica"}) {
			t.Errorf("db3 is rejected by %v", got)
		}
		if err := l.Node(1).SetReadOnly(ctx, false); err != nil {
			t.Fatal(err)
		}
		l.settle(t, "a writable replica", memory, func(t Topology) bool {
			return t.Primary == "db1" && slices.Equal(ruleNames(t), []string{"writable_replica", "chain"}) && !t.Healthy()
		})
	})
}
