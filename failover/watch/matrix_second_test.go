package watch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// secondFault is what happens to a replica in the moment in which a step of a promotion
// begins: the promotion waits until it has happened.
type secondFault struct {
	replica int    // 1 is the candidate, 2 the other one
	fault   string // freeze or kill
	step    promote.StepName
}

// failoverSteps are the steps of a failover. Where nothing is to be applied there is no
// catch up: candidateCatchingUp has it.
var failoverSteps = []promote.StepName{promote.Claim, promote.Starve, promote.Choose, promote.Fence, promote.Prepare,
	promote.Open, promote.Prove, promote.Announce, promote.Repoint, promote.Verify}

// secondFaults are the cases: the candidate and the watcher at every step, the other
// replica where it is waited for.
func secondFaults() []compoundCase {
	var all []secondFault
	for _, s := range failoverSteps {
		all = append(all, secondFault{1, "freeze", s}, secondFault{1, "kill", s})
	}
	for _, s := range []promote.StepName{promote.Starve, promote.Prepare, promote.Open, promote.Repoint, promote.Verify} {
		all = append(all, secondFault{2, "freeze", s})
	}
	for _, s := range []promote.StepName{promote.Prepare, promote.Verify} {
		all = append(all, secondFault{2, "kill", s})
	}
	var cases []compoundCase
	for _, f := range all {
		cases = append(cases, compoundCase{f.name(), f.expected(), f.run})
	}
	for _, s := range failoverSteps {
		cases = append(cases, compoundCase{fmt.Sprintf("kill, watcher dies as %q begins", s), "failover by the second watcher", secondWatcher(s)})
	}
	return cases
}

func (f secondFault) name() string {
	who := "candidate"
	if f.replica == 2 {
		who = "the other replica"
	}
	does := map[string]string{"freeze": "freezes", "kill": "dies"}[f.fault]
	return fmt.Sprintf("kill, %s %s as %q begins", who, does, f.step)
}

// proved tells whether the candidate has shown a write before the step.
func (f secondFault) proved() bool { return f.step > promote.Prove }

func (f secondFault) expected() string {
	switch {
	case f.replica == 2:
		return "failover to the candidate"
	case !f.proved():
		return "failover to the other"
	case f.fault == "kill":
		return "failover to the candidate, then to the other"
	default:
		return "failover to the candidate, then hold: age_limit"
	}
}

func (f secondFault) run(t *testing.T, flavour sandbox.Flavour, row *matrixRow) {
	var once sync.Once
	struck := make(chan func() (*sandbox.Active, error), 1)
	twice := f.replica == 1 && f.proved() && f.fault == "kill"
	tr := tryOn(t, sandbox.Options{Flavour: flavour}, killed, row, func(cfg *Config, c *sandbox.Cluster) {
		preferSecond(cfg, c)
		if twice {
			cfg.Timings.AgeLimit = 0
		}
		fault, err := sandbox.LookupFault(f.fault)
		if err != nil {
			t.Fatal(err)
		}
		cfg.stepping = func(p promote.Progress) {
			if p.Step != f.step || p.State != promote.StepBegun {
				return
			}
			once.Do(func() {
				active, err := fault.Start(t.Context(), c.Node(f.replica))
				struck <- func() (*sandbox.Active, error) { return active, err }
			})
		}
	})
	candidate, other := tr.cluster.Node(1), tr.cluster.Node(2)
	tr.breaks("kill", tr.cluster.Node(0))
	select {
	case strike := <-struck:
		active, err := strike()
		if err != nil {
			t.Fatal(err)
		}
		tr.broken = append(tr.broken, active)
	case <-time.After(matrixWait):
		t.Fatalf("step %s does not begin within %s", f.step, matrixWait)
	}
	want := candidate
	switch {
	case f.replica == 2:
	case !f.proved():
		want = other
	case twice:
		want, tr.retried = other, true
	default:
		tr.stayed(candidate)
		tr.healNamed(f.fault)
	}
	if want == other {
		tr.fell = append(tr.fell, candidate)
	}
	tr.promotesTo(want)
	if twice {
		row.decision = fmt.Sprintf("failover to %s, then to %s", candidate.Name(), want.Name())
	} else if f.replica == 1 && f.proved() {
		row.decision += ", then hold: " + failover.AgeLimit.String()
	}
	tr.overlaps()
	tr.finish()
}

// stayed waits until a new primary that is lost again is held for the age of its own
// failover.
func (tr *trial) stayed(n *sandbox.Node) {
	tr.t.Helper()
	promoted := tr.await(2*matrixWait, "promotion", func(x Notice) bool { return event(failover.Promoted)(x) && x.Node == n.Name() })
	tr.await(matrixWait, "hold for the age limit", func(x Notice) bool {
		return !x.Time.Before(promoted.Time) && x.Event != nil && x.Event.Kind == failover.Held && x.Event.Reason == failover.AgeLimit
	})
	failovers := slices.DeleteFunc(tr.heard(), func(x Notice) bool { return !event(failover.FailoverDecided)(x) })
	if len(failovers) != 1 {
		tr.t.Errorf("%d failovers, want one", len(failovers))
	}
}
