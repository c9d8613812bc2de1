package watch

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// compoundCases are the compound cases, the longest first: several run side by side.
var compoundCases = append([]compoundCase{
	{"watcher paused 30 s, again and again", "none when all is well; none when the outage is over by then; else failover after a whole threshold", pausedWatcher},
	{"20 failovers in a row, each recovered", "failover each time", failoversInARow},
	{"the watcher cut off from the primary for 70 s", "hold: replica_sees_primary, all the time", longHold},
	{"both replicas far behind, then kill", "failover once one has caught up", replicasBehind},
	{"both replicas never catch up, then kill", "undone until they do, then failover", replicasStuck},
	{"kill, watcher paused 30 s at the fence", "failover", pausedPromotion},
	{"kill, candidate freezes while it catches up", "failover to the other", candidateCatchingUp("freeze")},
	{"kill, candidate dies while it catches up", "failover to the other", candidateCatchingUp("kill")},
	{"freeze, primary returns at the fence", "failover or none", primaryReturns},
	{"freeze, proof of the fence is required", "hold: the promotion is taken back", unprovedFence},
	{"flapping, then kill", "failover once", flappingThenKill},
	{"kill of all servers at once", "hold until they are back", allDie},
	{"kill of the primary and a replica at once", "failover to the other", twoDie},
	{"the watcher alone cut off from all nodes", "hold: isolated", watcherCutOff},
	{"state directory stalled, then kill", "failover", stateDirectoryStalled},
	{"kill, every hook hangs", "failover", everyHook("/bin/sleep", "600")},
	{"kill, every hook fails", "failover", everyHook("/bin/false")},
	{"kill, the fence hook fails and aborts", "hold: the promotion is taken back", fenceHookAborts},
}, secondFaults()...)

// compoundWorkers is how many compound cases run at once, if -parallel allows.
const compoundWorkers = 6

// TestCompound runs the compound cases on both flavours as part of a full matrix.
func TestCompound(t *testing.T) {
	if testing.Short() || !matrixFull() {
		t.Skip("part of the full matrix: set FAILWISE_MATRIX=full")
	}
	t.Parallel()
	type job struct {
		compoundCase

		flavour sandbox.Flavour
	}
	queue := make(chan job, len(compoundCases)*len(sandbox.Flavours()))
	for _, c := range compoundCases {
		for _, flavour := range sandbox.Flavours() {
			queue <- job{c, flavour}
		}
	}
	close(queue)
	var mu sync.Mutex
	var rows []*matrixRow
	t.Run("on", func(t *testing.T) {
		for i := range compoundWorkers {
			t.Run(strconv.Itoa(i+1), func(t *testing.T) {
				t.Parallel()
				for c := range queue {
					t.Run(c.flavour.String()+"/"+caseName(c.name), func(t *testing.T) {
						row := c.try(t, c.flavour)
						mu.Lock()
						defer mu.Unlock()
						rows = append(rows, row)
					})
				}
			})
		}
	})
	for _, row := range rows {
		t.Log(row.compoundLine())
	}
	if *writeDocs {
		writeCompounds(t, rows)
	}
}

// try runs a case within a test of its own, so that it gives the row also of one that
// fails.
func (c compoundCase) try(t *testing.T, flavour sandbox.Flavour) *matrixRow {
	row := &matrixRow{flavour: flavour, name: c.name, want: c.expected, ran: true}
	began := time.Now()
	t.Run("case", func(t *testing.T) {
		defer func() {
			row.ok, row.took = !t.Failed() && !t.Skipped(), time.Since(began)
			if t.Skipped() {
				row.decision = "skipped: " + cmp.Or(row.skipped, "not possible on this machine")
			}
			t.Log(row.compoundLine())
		}()
		c.run(t, flavour, row)
	})
	return row
}

// caseName is how a case is called in a test's name.
func caseName(s string) string { return strings.NewReplacer(", ", "+", " ", "_").Replace(s) }

// tryOn starts a cluster with its witnesses and a watcher that has seen it well.
func tryOn(t *testing.T, o sandbox.Options, c matrixCase, row *matrixRow, change func(*Config, *sandbox.Cluster)) *trial {
	t.Helper()
	o.SemiSync, o.SemiSyncTimeout = true, 2*time.Minute
	cluster := sandbox.ForTest(noting{t, row}, o)
	tr := &trial{matrixCase: c, t: t, row: row, primary: cluster.Node(0)}
	tr.writer = cluster.StartWriter(t.Context(), sandbox.WriterOptions{Pause: matrixPause})
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
	tr.broken = append(tr.broken, sandbox.Break(noting{tr.t, tr.row}, name, node))
}

// atOnce starts a fault on several nodes at the same time.
func (tr *trial) atOnce(name string, nodes ...*sandbox.Node) {
	tr.t.Helper()
	f, err := sandbox.LookupFault(name)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.began = time.Now()
	active, errs := make([]*sandbox.Active, len(nodes)), make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { active[i], errs[i] = f.Start(tr.t.Context(), n) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		tr.t.Fatal(err)
	}
	tr.broken = append(tr.broken, active...)
}
