package fakeserver_test

import (
	"testing"
	"time"

	"failwise/check"
	"failwise/check/fakeserver"
	"failwise/rules"
)

func TestANodeShowsItsFaultsToAProbeAndCountsProbes(t *testing.T) {
	for _, mariaDB := range []bool{false, true} {
		nodes, err := fakeserver.StartCluster(1, mariaDB, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		n := nodes[0]
		defer n.Close()
		address, err := check.ParseAddress(n.Address(), 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.NewProber(check.Server{Name: "db1", Address: address, User: "monitor", Secret: check.NewSecret("x")}, check.Connect,
			check.Options{Limits: check.Limits{Total: 2 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		seen := 0
		for _, want := range []struct {
			fault   fakeserver.Fault
			outcome rules.Outcome
			visits  int
		}{
			{fakeserver.NoFault, rules.OK, 1},
			{fakeserver.Refuses, rules.SocketIOError, 0},
			{fakeserver.Slow, rules.OK, 1},
			{fakeserver.Full, rules.TooManyConnections, 1},
			{fakeserver.Fails, rules.QueryExecutionFailed, 1},
			{fakeserver.Hangs, rules.LoginResponseTimeout, 0},
			{fakeserver.NoFault, rules.OK, 1},
		} {
			if err := n.Set(want.fault); err != nil {
				t.Fatal(err)
			}
			if r := p.Probe(t.Context()); r.Outcome != want.outcome {
				t.Errorf("%s: %s, want %s: %s", want.fault, r.Outcome, want.outcome, r.Message)
			}
			seen += want.visits
			if n.Probes() != seen {
				t.Errorf("%s: %d probes seen, want %d", want.fault, n.Probes(), seen)
			}
		}
		if gap := n.Gap(time.Now().Add(time.Hour)); gap < time.Hour {
			t.Errorf("an hour without a probe is a gap of %s", gap)
		}
		if list := n.Unknown(); len(list) > 0 {
			t.Errorf("statements without an answer: %v", list)
		}
	}
}
