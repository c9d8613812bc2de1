package watch

import (
	"strings"
	"sync"
	"testing"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// compoundCase is two faults at once, a fault while another one is dealt with, or a
// fault of the watcher itself. What must hold afterwards is what the matrix asks of
// a single fault.
type compoundCase struct {
	name string
	// expected says in one cell what is to come of it.
	expected string
	run      func(*testing.T, sandbox.Flavour, *matrixRow)
}

// compoundCases are the compound cases, the longest first: they run side by side.
var compoundCases = []compoundCase{
	{"watcher paused 30 s, again and again", "none when all is well; none when the outage is over by then; else failover after a whole threshold", pausedWatcher},
	{"20 failovers in a row, each recovered", "failover each time", failoversInARow},
	{"both replicas far behind, then kill", "failover once one has caught up", replicasBehind},
	{"both replicas never catch up, then kill", "undone until they do, then failover", replicasStuck},
	{"kill, candidate freezes while it catches up", "failover to the other", candidateFreezesCatchingUp},
	{"kill, candidate freezes after it was opened", "failover to one of them", candidateFreezesAfter(promote.Open)},
	{"kill, candidate freezes after it was prepared", "failover to one of them", candidateFreezesAfter(promote.Prepare)},
	{"kill, candidate freezes after the fence", "failover to the other", candidateFreezesAfter(promote.Fence)},
	{"kill, candidate freezes after the choice", "failover to the other", candidateFreezesAfter(promote.Choose)},
	{"kill, candidate freezes as the promotion begins", "failover to one of them", candidateFreezesAfter(promote.Claim)},
	{"kill, the other replica freezes after the fence", "failover", siblingFreezes},
	{"kill, candidate dies at the fence", "failover to the other", candidateDies},
	{"freeze, primary returns at the fence", "failover or none", primaryReturns},
	{"flapping, then kill", "failover once", flappingThenKill},
	{"kill, first watcher dies at the fence", "failover by the second", secondWatcher(hooks.Fence)},
	{"kill, first watcher dies after the opening", "failover by the second", secondWatcher(hooks.Promoted)},
	{"kill, watcher paused 30 s at the fence", "failover", pausedPromotion},
	{"the watcher alone cut off from all nodes", "hold: isolated", watcherCutOff},
	{"state directory stalled, then kill", "failover", stateDirectoryStalled},
	{"kill, every hook hangs", "failover", hangingHooks},
}

// TestCompound runs the compound cases on both flavours as part of a full matrix.
// They mostly wait, so that as many run at once as -parallel allows.
func TestCompound(t *testing.T) {
	if testing.Short() || !matrixFull() {
		t.Skip("part of the full matrix: set FAILWISE_MATRIX=full")
	}
	var mu sync.Mutex
	var rows []*matrixRow
	t.Run("on", func(t *testing.T) {
		for _, c := range compoundCases {
			for _, flavour := range sandbox.Flavours() {
				t.Run(flavour.String()+"/"+caseName(c.name), func(t *testing.T) {
					t.Parallel()
					row := &matrixRow{flavour: flavour, name: c.name, want: c.expected, ran: true}
					began := time.Now()
					defer func() {
						row.ok, row.took = !t.Failed() && !t.Skipped(), time.Since(began)
						if t.Skipped() {
							row.decision = "skipped: not possible on this machine"
						}
						t.Log(row.compoundLine())
						mu.Lock()
						defer mu.Unlock()
						rows = append(rows, row)
					}()
					c.run(t, flavour, row)
				})
			}
		}
	})
	for _, row := range rows {
		t.Log(row.compoundLine())
	}
	if *writeDocs {
		writeCompounds(t, rows)
	}
}

// caseName is how a case is called in a test's name.
func caseName(s string) string { return strings.NewReplacer(", ", "+", " ", "_").Replace(s) }

// tryOn starts a cluster with its witnesses and a watcher that has seen it well.
func tryOn(t *testing.T, o sandbox.Options, c matrixCase, row *matrixRow, change func(*Config, *sandbox.Cluster)) *trial {
	t.Helper()
	o.SemiSync, o.SemiSyncTimeout = true, 2*time.Minute
	cluster := sandbox.ForTest(t, o)
	tr := &trial{matrixCase: c, t: t, row: row, primary: cluster.Node(0)}
	tr.writer = cluster.StartWriter(t.Context(), sandbox.WriterOptions{Pause: 5 * time.Millisecond})
	tr.sampler = cluster.StartSampler(t.Context())
	t.Cleanup(tr.sampler.Stop)
	tr.lab = watchLab(t, cluster, func(cfg *Config) {
		tr.configure(cfg, cluster)
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
func (tr *trial) breaks(name string, node *sandbox.Node) {
	tr.t.Helper()
	tr.broken = append(tr.broken, sandbox.Break(tr.t, name, node))
}

// stepDone waits for the end of a step of a promotion.
func (tr *trial) stepDone(s promote.StepName) Notice {
	tr.t.Helper()
	return tr.await(matrixWait, "step "+s.String(), func(n Notice) bool {
		return n.Step != nil && n.Step.Step == s && n.Step.State == promote.StepDone
	})
}
