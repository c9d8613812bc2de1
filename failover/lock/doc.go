// Package lock decides who may act: of all watchers of a cluster one holds its
// lock and acts, the others observe.
//
// [File] is the default: a lock on a file in the cluster's state directory, so one
// acting watcher per host and cluster. The kernel releases it with the process
// that holds it, however that ends. [Locker] and [Lease] also fit a lock with a
// lease that can lapse, kept by a service on other hosts.
//
// # The caller's duties
//
//  1. Act only between a successful [Locker.Acquire] and the moment [Lease.Lost]
//     is closed.
//  2. Tell "gone" from "could not ask": [ErrLost] means another may act now, so
//     stop; [ErrUnavailable] means that nothing is known to have changed, so keep
//     what you hold and take nothing new.
//  3. Put the [Lease.Token] into the claim of every operation. Tokens only grow, so
//     a claim with a smaller one than the last is from a deposed watcher.
//  4. Release the lease when done; a process that dies releases it too.
//
// # What is not here
//
// The file lock says nothing about other hosts, and nothing on a network file
// system that does not pass locks on.
package lock
