// Package replay drives the engine of package failover in virtual time: through
// timelines, which are recorded probes, and through scenarios, which are tests that
// a user writes for his rules.
//
// # Timelines
//
// [Timeline] reads rows of time, node and outcome as CSV or JSON lines, or a
// watcher's journal, and plays them under one or several rule sets at once, so that
// their decisions stand side by side. It reads a stream: memory does not grow with
// its length. What a timeline does not tell is taken as follows: policy automatic,
// this watcher the coordinator, nobody contradicts a failure, a promotion takes no
// time and picks the first eligible replica. A journal tells all this by its facts.
//
// Rows of one time are one instant. Between two rows the engine is called at each of
// its deadlines, unless they lie so far apart that a watcher would call itself
// paused: nobody probed then, so no ticks are made up. How often the nodes were
// probed is learned from the first rows, since the age up to which an observation
// counts depends on it.
//
// # Scenarios
//
// [Load] reads a scenario file and [Test.Run] runs one of its tests. The order at
// one instant is: steps, the end of a promotion, probes in the order of the cluster,
// judging until the engine is at rest. What is expected of a moment is looked at
// after all of these. Every word of a file is checked: an error is a [*FileError]
// with the line, and the words that would have been known.
//
// # Not here
//
// Printing, exit codes and suggestions, which are the commands'; and every decision,
// which is the engine's.
package replay
