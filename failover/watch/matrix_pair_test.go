package watch

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"failwise/check/storage/loopdisk"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/topology"
	"failwise/rules"
)

// killed is the case of a primary that must be replaced.
var killed = matrixCase{want: actsOn, fault: "kill", then: "kill", outcomes: refused}

// signals is a hook that sends a signal to a process.
func signals(e hooks.Event, signal string, pid int) hooks.Set {
	return hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{e: {{Argv: []string{"/bin/kill", "-" + signal, strconv.Itoa(pid)}}}}}
}

// preferSecond makes db2 the candidate.
func preferSecond(cfg *Config, _ *sandbox.Cluster) { cfg.Nodes[1].Preference = topology.Prefer }

func primaryReturns(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: maybeActs, fault: "freeze", outcomes: noAnswer}, row,
		func(cfg *Config, c *sandbox.Cluster) { cfg.Hooks = signals(hooks.Fence, "CONT", c.Node(0).Pid()) })
	tr.breaks("freeze", tr.cluster.Node(0))
	tr.await(matrixWait, "failover", event(failover.FailoverDecided))
	// Promoted, or taken back because the old one answers: one of both, and well.
	tr.await(2*matrixWait, "end of the promotion", func(n Notice) bool {
		return event(failover.Promoted)(n) || event(failover.PromotionEnded)(n)
	})
	row.decision = "none: the promotion was taken back"
	if p := tr.first(event(failover.Promoted)); p.Event != nil {
		tr.promotes()
	}
	tr.finish()
}

// Replicas that acknowledge and do not apply: the promotion waits for the one it
// chose, and nothing of what was acknowledged is lost.
func replicasBehind(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, nil)
	tr.breaks("behind", tr.cluster.Node(1))
	tr.breaks("behind", tr.cluster.Node(2))
	time.Sleep(10 * time.Second) // of writes that nobody applies
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	tr.awaitStillToApply()
	time.Sleep(10 * time.Second)
	tr.never("an opened replica that is behind", event(failover.Promoted))
	tr.unlock()
	tr.promotes()
	tr.overlaps()
	tr.finish()
}

// Nobody catches up within the limit: nothing is opened, the cluster stays as it
// was, and the promotion is tried again.
func replicasStuck(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, func(cfg *Config, _ *sandbox.Cluster) {
		cfg.Promotion.CatchUp = 3 * time.Second
		cfg.Timings.Retry = 5 * time.Second
	})
	tr.retried = true
	tr.breaks("behind", tr.cluster.Node(1))
	tr.breaks("behind", tr.cluster.Node(2))
	time.Sleep(5 * time.Second) // of writes that nobody applies
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	failed := tr.await(2*matrixWait, "failed promotion", event(failover.PromotionEnded))
	if !strings.Contains(failed.Text, "catch up") {
		t.Errorf("the failed promotion does not say that nobody caught up: %q", failed.Text)
	}
	tr.never("an opened replica that is behind", event(failover.Promoted))
	tr.unlock()
	tr.promotes()
	tr.overlaps()
	tr.finish()
}

func candidateCatchingUp(fault string) func(*testing.T, sandbox.Flavour, *matrixRow) {
	return func(t *testing.T, flavour sandbox.Flavour, row *matrixRow) { lostCatchingUp(t, flavour, row, fault) }
}

func lostCatchingUp(t *testing.T, flavour sandbox.Flavour, row *matrixRow, fault string) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, preferSecond)
	tr.breaks("behind", tr.cluster.Node(1))
	tr.breaks("behind", tr.cluster.Node(2))
	time.Sleep(3 * time.Second) // of writes that nobody applies
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	candidate := tr.byName(tr.awaitStillToApply().Node)
	tr.unlock()
	tr.breaks(fault, candidate)
	tr.fell = append(tr.fell, candidate)
	tr.promotes()
	tr.overlaps()
	tr.finish()
}

// awaitStillToApply waits until a promotion says what it waits for.
func (tr *trial) awaitStillToApply() Notice {
	tr.t.Helper()
	return tr.await(2*matrixWait, "word of what is still to apply", func(n Notice) bool {
		return n.Step != nil && n.Step.Step == promote.CatchUp && n.Step.State == promote.StepNote && strings.Contains(n.Text, "still to apply")
	})
}

// unlock lets replicas apply again.
func (tr *trial) unlock() {
	tr.t.Helper()
	tr.healNamed("behind")
}

// A primary that comes and goes is left alone until it is gone for good.
func flappingThenKill(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	c := matrixCase{want: actsOn, fault: "kill", outcomes: refused, budget: 700 * time.Millisecond}
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, c, row, nil)
	tr.breaks("flapping", tr.cluster.Node(0))
	tr.await(matrixWait, "alarm", event(failover.AlarmRaised))
	time.Sleep(20 * time.Second)
	tr.never("a failover", event(failover.FailoverDecided))
	tr.healNamed("flapping")
	tr.awaitAck(time.Now())
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	tr.promotes()
	tr.overlaps()
	tr.finish()
}

func watcherCutOff(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour},
		matrixCase{want: holdsBack, reason: failover.Isolated, fault: "drop-watcher", outcomes: silent}, row, nil)
	for _, n := range tr.cluster.Nodes() {
		tr.breaks("drop-watcher", n)
	}
	held := tr.await(matrixWait, "hold for being isolated", func(n Notice) bool {
		return n.Event != nil && n.Event.Kind == failover.Held && n.Node == "db1" && n.Event.Reason == failover.Isolated
	})
	row.decision = "hold: " + failover.Isolated.String()
	tr.decide(held, held.Outcome)
	tr.never("a failover", event(failover.FailoverDecided))
	tr.never("a failed replica", event(failover.ReplicaFailed))
	tr.finish()
}

// What holds once holds for as long as it lasts: the replicas are asked again and again.
func longHold(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour},
		matrixCase{want: holdsBack, reason: failover.ReplicaSeesPrimary, fault: "drop-watcher", outcomes: silent}, row, nil)
	tr.breaks("drop-watcher", tr.cluster.Node(0))
	tr.holdsStill()
	time.Sleep(time.Until(tr.began.Add(70 * time.Second)))
	tr.finish()
}

// A frozen primary cannot be fenced: where that must be proved, nobody is opened.
func unprovedFence(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: actsOn, fault: "freeze", outcomes: noAnswer}, row,
		func(cfg *Config, _ *sandbox.Cluster) { cfg.Promotion.FenceRequire = promote.RequireProof })
	tr.breaks("freeze", tr.cluster.Node(0))
	tr.givesUp("not proved to be fenced")
	tr.finish()
}

// givesUp waits for a promotion that is taken back, and says why, and sees nobody opened.
func (tr *trial) givesUp(why string) {
	tr.t.Helper()
	failed := tr.await(matrixWait, "promotion taken back", event(failover.PromotionEnded))
	if !strings.Contains(failed.Text, why) {
		tr.t.Errorf("the failed promotion does not say %q: %q", why, failed.Text)
	}
	tr.decideFirst()
	time.Sleep(5 * time.Second)
	tr.never("an opened replica", event(failover.Promoted))
	tr.row.decision = "hold: " + failover.PromotionFailed.String()
}

// Nobody is left to be promoted: the cluster goes on as it was once it is back. What is
// seen to be dead first decides what keeps the failover back.
func allDie(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, matrixCase{want: leavesAlone, fault: "kill", outcomes: refused}, row, nil)
	tr.retried = true
	tr.atOnce("kill", tr.cluster.Nodes()...)
	held := tr.await(matrixWait, "hold or failed promotion", func(n Notice) bool {
		return n.Node == "db1" && (event(failover.PromotionEnded)(n) ||
			event(failover.Held)(n) && slices.Contains([]failover.Reason{failover.NoCandidate, failover.Isolated}, n.Event.Reason))
	})
	row.outcome, row.decision = rules.SocketIOError, "hold: "+held.Event.Reason.String()
	if held.Event.Kind == failover.PromotionEnded {
		row.decision = "hold: " + failover.PromotionFailed.String()
	}
	time.Sleep(15 * time.Second)
	tr.never("a promotion", event(failover.Promoted))
	// A replica that is back before the primary would be promoted, and rightly so.
	for _, active := range tr.broken {
		if err := active.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tr.finish()
}

// The one replica that is left has the vote, and all that was acknowledged or half of it.
func twoDie(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, preferSecond)
	tr.atOnce("kill", tr.cluster.Node(0), tr.cluster.Node(1))
	tr.promotes()
	tr.overlaps()
	tr.finish()
}

func stateDirectoryStalled(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	disk := loopdisk.New(noting{t, row}, 64<<20)
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, func(cfg *Config, _ *sandbox.Cluster) {
		cfg.Dir = filepath.Join(disk.Dir, "lab")
		cfg.Locker = lock.NewFile(journal.NewDir(cfg.Dir), cfg.Name)
	})
	thaw := disk.Freeze()
	thawed := false
	defer func() {
		if !thawed {
			thaw()
		}
	}()
	time.Sleep(3 * time.Second)
	tr.began = time.Now()
	tr.breaks("kill", tr.cluster.Node(0))
	tr.promotes()
	tr.overlaps()
	thaw()
	thawed = true
	tr.finish()
}

// everyHook is the same hook for every event; one that fails is a warning.
func everyHook(argv ...string) func(*testing.T, sandbox.Flavour, *matrixRow) {
	return func(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
		tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, func(cfg *Config, _ *sandbox.Cluster) {
			cfg.Hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{}}
			for _, e := range hooks.Events() {
				cfg.Hooks.Hooks[e] = []hooks.Hook{{Argv: argv, Timeout: time.Second, OnFailure: hooks.Warn}}
			}
		})
		tr.breaks("kill", tr.cluster.Node(0))
		tr.promotes()
		tr.overlaps()
		tr.finish()
	}
}

// A fence hook that fails may end the failover: all is taken back, and nobody is opened.
func fenceHookAborts(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, func(cfg *Config, _ *sandbox.Cluster) {
		cfg.Hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{hooks.Fence: {{Argv: []string{"/bin/false"}, OnFailure: hooks.Abort}}}}
	})
	tr.breaks("kill", tr.cluster.Node(0))
	tr.givesUp("hook")
	tr.finish()
}
