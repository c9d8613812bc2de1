// Package rules says what the result of a probe means.
//
// A probe ends in exactly one [Outcome]. A [Map] gives each outcome a [Rule]: a
// state, a threshold in ticks and an action. Three layers make a map, each
// replacing whole rules of the one below: the shipped defaults, a [Profile], and
// the user's statemap file; [Map.Origin] tells which layer a rule came from and
// what it replaced.
//
// The package is pure: it reads no clock and no file, starts no goroutine, and a
// Map never changes once it is made, so any number of goroutines may share one.
//
// # Duties of the caller
//
//  1. Read the statemap file and hand its bytes to [Parse] with the map beneath,
//     usually [Profile.Rules]. On an error keep the map in use: a rejected file
//     changes nothing.
//  2. Show the warnings: what they name was ignored.
//  3. Classify a failed probe by [ByServerError] and [ByOSError], never by the
//     text of a message, so that what `explain --errno` prints is what a probe
//     does.
//
// # Not here
//
// How an outcome is found out is package check's. How alarms count, when a node
// is failed and what holds a failover is package failover's; this package only
// answers the two questions that need nothing but the rules: which of two
// outcomes is worse ([Map.Worst]) and whether an observation keeps an alarm's
// clock running ([Map.Supports]).
package rules
