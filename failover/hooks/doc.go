// Package hooks runs the commands and webhooks a user ties to what failwise does.
//
// A hook is an argument list run without a shell, in a process group of its own.
// It is told what happened three ways: environment variables (FAILWISE_EVENT,
// FAILWISE_CLUSTER, FAILWISE_OLD_PRIMARY …), the record as one JSON object on its
// standard input, and its exit status answers: 0 is done, anything else is failed.
// A hook that outlives its limit gets TERM, and KILL two seconds later; so do the
// processes it started. Whatever it does, Fire returns within the limits.
//
// With contract mha the command is an existing MHA script (master_ip_failover,
// shutdown, report, master_ip_online_change) and is called with that script's
// arguments; exit status 0 is done, 10 is "go on", anything else aborts.
//
// The caller's duties:
//
//  1. Build a Set once and share it; it holds no state.
//  2. Fire an event with everything known about it. What is not known stays empty.
//  3. Look at the Report: Aborts is true when a hook with on_failure abort failed,
//     Proof when at least one command ran and all that ran ended with status 0.
//     An error is never more than a hook's failure: it is in the report, too.
//
// Not here: which events happen and what an abort means for a plan.
//
//	set := hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{
//		hooks.Fence: {{Argv: []string{"/usr/local/bin/power-off"}, OnFailure: hooks.Abort}},
//	}}
//	report := set.Fire(ctx, hooks.Call{Event: hooks.Fence, Cluster: "shop", OldPrimary: "db1:3306"})
package hooks
