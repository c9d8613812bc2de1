// Package check finds out how a node is. One probe is one bounded attempt; it
// ends in exactly one outcome of the catalogue in package rules, with the
// evidence for it.
//
// A probe passes through the phases resolve, connect, greeting, login, send,
// execute and results. The outcome follows from the phase that was reached and
// from a number — the server's error, the operating system's error, a typed
// error of a library — never from a message's text. All phases share one
// budget, the one new connection included that a probe makes when its session
// was lost after a good login or closed cleanly before it.
//
// The caller's duties:
//
//  1. Make one [Prober] per node and probe type with [NewProber], and keep it:
//     it holds the session of select and insert, the one connection that waits
//     for its greeting, and the one insert that did not return. Opening new ones
//     for every probe of a frozen server would end in error 1129 when it thaws.
//  2. Call [Prober.Probe] once an interval. It returns within the budget.
//  3. Call [Prober.Close] in the end.
//
// Package check judges nothing: what an outcome means is the statemap's matter,
// and of several types on one node rules.Map.Worst picks the worst. It prints
// nothing and never exits.
//
//	p, err := check.NewProber(server, check.Connect, check.Options{})
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	r := p.Probe(ctx)
//	fmt.Println(r.Outcome, r.Message)
package check
