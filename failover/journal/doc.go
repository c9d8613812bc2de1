// Package journal keeps what a watcher must remember on disk without ever
// making a decision wait for that disk.
//
// It holds three things, all in the cluster's own directory (see [ClusterDir]):
//
//   - the journal: JSON lines of everything seen and decided. [Journal.Append]
//     never blocks; a stalled or full disk costs records, which are counted and
//     reported, not time. [Read] and [Tail] give them back; the lines are what a
//     replay reads.
//   - the state file: policy, quota, last failover, shunned nodes, last healthy
//     topology, replaced atomically by [StateFile.Update].
//   - the promotion log: each step of an operation, written and synced before it
//     is done. This is the one place that waits, and it waits at most [SyncWait]
//     per stall.
//
// # The caller's duties
//
//  1. Give every call that takes a context a deadline: it is the longest time
//     the call waits for the disk. [ErrStalled] then means that the operation is
//     still under way in the kernel and may take effect later.
//  2. Put no secret into a record, a state or a step. The package writes what it
//     is given.
//  3. Call [Journal.Close] with a deadline before the process ends.
//  4. At start, ask [Unfinished] and resume or close what it returns, while
//     holding the cluster's lock.
//
// # A limit
//
// A thread inside an uninterruptible system call cannot be ended, not even by
// SIGKILL. Every wait of this package is bounded, so a stalled state directory
// never delays a decision; but the process cannot leave the process table before
// the disk returns or fails the request. Such a watcher is gone for everyone else
// (its sockets and locks are released only with it), so a supervisor should not
// wait for it without a limit.
//
// # An example
//
//	j, err := journal.Open(journal.Options{Dir: dir})
//	…
//	j.Append(journal.Record{Time: now, Kind: journal.Probe, Node: "db1:3306", Outcome: rules.OK})
//	for r, err := range journal.Read(ctx, dir, journal.Query{Since: now.Add(-time.Hour)}) { … }
package journal
