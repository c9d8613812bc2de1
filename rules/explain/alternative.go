package explain

import (
	"time"

	"failwise/rules"
)

// alternatives are the other rules that one may think of, with what they bring.
// The rule in force is not among them.
func (q Question) alternatives() []Alternative {
	now := q.Rules.Rule(q.Outcome)
	var all []Alternative
	for _, a := range q.offers(now) {
		if a.rule.Equal(now) {
			continue
		}
		a.Rule = a.rule.Properties(q.Outcome)
		all = append(all, a)
	}
	return all
}

// ticks returns how many ticks take at least d, and at least one.
func (q Question) ticks(d time.Duration) int {
	tick := q.Setup.Timings.Tick
	return max(1, int((d+tick-1)/tick))
}

// offers are the alternatives that suit the outcome.
func (q Question) offers(now rules.Rule) []Alternative {
	o := q.Outcome
	state := rules.Defaults().Rule(o).State
	switch {
	case o == rules.OK || never(o):
		return nil
	case o == rules.NotOnline:
		return q.flapping(state)
	case o == rules.SocketIOError:
		return q.softer(state)
	case o >= rules.SocketConnectTimeout && o <= rules.NoRouteToHost:
		return q.fuses(state, now)
	}
	offers := []Alternative{q.alert(state)}
	switch {
	case o >= rules.SendQueryTimeout && o <= rules.QueryResultsTimeout:
		offers = append(offers, q.window(state), q.steady(state))
		if now.Fatal() {
			offers = append(offers, q.shipped())
		}
	case now.Fatal() || rules.Defaults().Rule(o).Action == rules.Alert:
		offers = append(offers, q.shipped())
	}
	return offers
}

// shipped is the rule that ships.
func (q Question) shipped() Alternative {
	return Alternative{
		Title: "the shipped rule", rule: rules.Defaults().Rule(q.Outcome),
		Gains: "what the product's own tests are run with, and its users know",
		Risk:  "only what it is blind to",
	}
}

// alert tells a person after a minute.
func (q Question) alert(state rules.State) Alternative {
	n := q.ticks(time.Minute)
	return Alternative{
		Title: "be told", rule: rules.Rule{State: state, Threshold: n, Action: rules.Alert},
		Gains: "somebody is told after " + span(q.Setup.Timings.Ticks(n)) + " and can look at the server, which is still there to be asked",
		Risk:  "none for the data; alerts on faults that end by themselves",
	}
}

// window counts a stall across its recoveries.
func (q Question) window(state rules.State) Alternative {
	n, m := q.ticks(12*time.Minute), q.ticks(15*time.Minute)
	t := q.Setup.Timings
	return Alternative{
		Title: "fail over on a stall that keeps coming back",
		rule:  rules.Rule{State: state, Threshold: n, Action: rules.Fail, Window: max(n, m)},
		Gains: span(t.Ticks(n)) + " of stall within " + span(t.Ticks(max(n, m))) + " fail the primary, short recoveries or not",
		Risk:  "a long lock or backup fails over a living server, and nobody can contradict; choose the numbers longer than your longest legitimate stall",
	}
}

// steady is what comes to mind first, and is the weakest.
func (q Question) steady(state rules.State) Alternative {
	n := q.ticks(80 * time.Second)
	return Alternative{
		Title: "fail over on a steady stall",
		rule:  rules.Rule{State: state, Threshold: n, Action: rules.Fail},
		Gains: span(q.Setup.Timings.Ticks(n)) + " of unbroken stall fail the primary",
		Risk:  "one good probe in between starts the count anew, so that real stalls rarely get there, while a lock or a backup of that length does; each such failover is a write outage",
		Lint:  []string{"FW203"},
	}
}

// softer are the ways to act less readily on a refused connection.
func (q Question) softer(state rules.State) []Alternative {
	t := q.Setup.Timings
	return []Alternative{
		{
			Title: "softer: ride through a fast restart", rule: rules.Rule{State: state, Threshold: 1, Action: rules.Fail},
			Gains: "a server that is back within " + span(t.Ticks(1)) + " is not failed over (MariaDB needs about 0.1 s to accept again, MySQL 0.8 s, both more after a crash)",
			Risk:  "each real death costs " + span(t.Ticks(1)) + " more without writes",
		},
		{
			Title: "softer, yet firm with a server that crashes in a loop", rule: rules.Rule{State: state, Threshold: 1, Action: rules.Fail, Heal: 3},
			Gains: "as above, but it takes three good probes in a row to start the count anew",
			Risk:  "as above; and after a fast restart the node counts as down for three more probes",
		},
		{
			Title: "act at once", rule: rules.Rule{State: state, Threshold: 0, Action: rules.Fail},
			Gains: "the shortest outage",
			Risk:  "a restart fails over, unless it is announced; with confirm.replicas: off a firewall's REJECT does as well",
		},
		{
			Title: "softest: only be told", rule: rules.Rule{State: state, Threshold: 0, Action: rules.Alert},
			Gains: "no failover without a person",
			Risk:  "nothing instant is left: a server process that died is never failed over",
			Lint:  []string{"FW213"},
		},
	}
}

// fuses are the ways to count silence longer or shorter.
func (q Question) fuses(state rules.State, now rules.Rule) []Alternative {
	t := q.Setup.Timings
	n := max(2, rules.Defaults().Rule(q.Outcome).Threshold)
	if now.Fatal() && now.Threshold > 1 {
		n = now.Threshold
	}
	shorter := max(n/2, q.ticks(2*t.ProbeInterval), q.ticks(t.ProbeBudget))
	between := "only the replicas' votes stand between it and a failover"
	if q.votes() == "off" {
		between = "nobody else is asked before the failover"
	}
	offers := []Alternative{}
	if shorter < n {
		offers = append(offers, Alternative{
			Title: "sooner", rule: rules.Rule{State: state, Threshold: shorter, Action: rules.Fail},
			Gains: "acts " + span(t.Ticks(n-shorter)) + " earlier",
			Risk:  "a network fault or a burst of load of " + span(t.Ticks(shorter)) + " is enough; " + between,
		})
	}
	return append(offers,
		Alternative{
			Title: "later", rule: rules.Rule{State: state, Threshold: 2 * n, Action: rules.Fail},
			Gains: "rides through faults of up to " + span(t.Ticks(2*n)),
			Risk:  "a real death of this kind costs as long without writes",
		},
		Alternative{
			Title: "want three good probes before all is well", rule: rules.Rule{State: state, Threshold: n, Action: rules.Fail, Heal: 3},
			Gains: "a node that answers only now and then is counted down all the same",
			Risk:  "after a recovery the node counts as down for three more probes, and is no candidate",
		},
	)
}

// flapping catches a node that fails in changing ways.
func (q Question) flapping(state rules.State) []Alternative {
	t := q.Setup.Timings
	n, m := q.ticks(5*time.Minute), q.ticks(8*time.Minute)
	return []Alternative{
		{
			Title: "be told of a node that flaps", rule: rules.Rule{State: state, Threshold: n, Action: rules.Alert, Window: m},
			Gains: "somebody is told when a node was bad for " + span(t.Ticks(n)) + " within " + span(t.Ticks(m)) + ", in whatever way",
			Risk:  "none for the data",
		},
		{
			Title: "fail over a node that flaps", rule: rules.Rule{State: state, Threshold: n, Action: rules.Fail, Window: m},
			Gains: "catches what no single outcome's count does",
			Risk:  "outcomes that prove the server alive, or speak of this side only, count as well",
		},
	}
}
