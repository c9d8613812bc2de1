package failover_test

import (
	"testing"
	"time"

	"failwise/failover"
	"failwise/rules"
)

var benchNodes = []failover.Node{{Name: "db1:3306", Role: failover.Primary}, {Name: "db2:3306"}, {Name: "db3:3306"}}

// steady returns a cluster whose primary has had one outcome for a while, and the
// time.
func steady(tb testing.TB, primary rules.Outcome) (*failover.Engine, time.Duration) {
	tb.Helper()
	e, err := failover.New(failover.Config{
		Nodes: benchNodes, Timings: rules.Tungsten.Timings(), Policy: failover.Automatic, Coordinator: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Duration(0)
	for i := range 60 {
		now = observe(e, now, i, primary)
	}
	return e, now
}

// observe is one observation of a steady cluster and the Advance that follows.
func observe(e *failover.Engine, now time.Duration, i int, primary rules.Outcome) time.Duration {
	o := rules.OK
	if i%3 == 0 {
		o = primary
	}
	now += 333 * time.Millisecond
	e.Observe(now, failover.Observation{Node: benchNodes[i%3].Name, Outcome: o})
	e.Advance(now)
	return now
}

var steadyOutcomes = []rules.Outcome{rules.OK, rules.QueryResultsTimeout, rules.TooManyConnections}

func BenchmarkSteadyObservation(b *testing.B) {
	for _, o := range steadyOutcomes {
		b.Run(o.String(), func(b *testing.B) {
			e, now := steady(b, o)
			b.ReportAllocs()
			for i := range b.N {
				now = observe(e, now, i, o)
			}
		})
	}
}

// A steady observation allocates nothing, whatever the outcome.
func TestSteadyObservationAllocatesNothing(t *testing.T) {
	for _, o := range steadyOutcomes {
		e, now := steady(t, o)
		i := 0
		if n := testing.AllocsPerRun(3000, func() { now = observe(e, now, i, o); i++ }); n != 0 {
			t.Errorf("%s: %v allocations per steady observation", o, n)
		}
	}
}
