// Package lint finds settings of a statemap that cannot do what their author
// meant: those that are ignored, that never fire, or that fire too easily.
//
// [Run] takes a file's bytes and returns a [Report]; nothing is printed, coloured
// or read from disk here. Checks that need more than the file (times, probe types,
// what live replicas say) get it by [Config] and stay silent about what it leaves
// out.
//
// One check is one file, named for its code. It describes itself; docs/lint.md is
// made of these descriptions:
//
//	go test ./rules/lint -run Docs -update
//
// A comment above a setting accepts what a check has to say about its outcome:
//
//	# failwise:ignore FW203 the data team wants to fail over on slow queries
//	query_results_timeout.state     = timeout
//
// Whole-file findings are accepted by such a comment anywhere in the file. Those
// that reject a file cannot be accepted.
package lint
