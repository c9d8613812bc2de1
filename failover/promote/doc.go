// Package promote changes who is primary: failover, planned switch, and the
// return of a node (recover). Each is a plan, an ordered list of steps, and the
// value that --dry-run prints is the value that is executed.
//
// What holds:
//
//   - Before the step open every failure takes back what was done, side by side, and
//     reports what could not be taken back. From open on the only way is forward:
//     failures are reported, and tried again where that helps.
//   - Each step is written to the promotion log, and synced, before it is done,
//     so that an operation survives the death of the process: Resume goes on
//     from the log. Steps are idempotent.
//   - The candidate forgets its old source only after open: a reset cannot be taken
//     back, since no server gives a channel's password away, and writers would
//     wait for it.
//   - No statement is trusted because a client gave up on it: at a limit it is
//     ended from a second session, what it did is read back, and only then is
//     undone or gone on with.
//
// The caller's duties:
//
//  1. Hold the cluster's lock while a plan runs and give its lease in the Env; run
//     one operation per cluster at a time.
//  2. Keep a connected session per node and, for the primary, a second one: a plan
//     opens sessions only where it must, since a new one costs time and may not be
//     had.
//  3. Look for an unfinished operation at start, before anything else, and Resume
//     it.
//  4. Tell the running plan, by Env.OldOnline, when the old primary is seen online.
//  5. Act on the Result also when there is an error: the new primary may be open.
//     Nodes in Result.Unpointed are to be tried again with RepointNode, and
//     Result.Leftover with TakeBack, across restarts, as long as the primary is the
//     same.
//
// Vocabulary: the candidate is the replica to be opened, siblings are the other
// replicas, the claim is the intent written down before anything is done.
//
// Not here: whether to fail over at all (package failover), which replica may be
// promoted (package topology), the statements themselves (package mysql).
package promote
