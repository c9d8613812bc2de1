// Package sandbox starts throw-away clusters of real MySQL or MariaDB servers on
// loopback addresses, and breaks them on purpose. It serves the demo and the
// tests that need a real server.
//
// # What a caller gets
//
// New returns a running cluster with GTID replication: node 0 is the primary,
// the others are read-only replicas that have applied everything. All nodes
// share four accounts, each with a random password: root, which is reached over
// the socket, and the three of Accounts.
//
// # The caller's duties
//
//  1. Call Cluster.Close, or end the context given to New, or both.
//  2. Have that context end on SIGINT and SIGTERM, or set Options.TrapSignals.
//  3. End nothing but through a Fault or a Node: every process of a sandbox is
//     known by its pid, and only those are ever signalled.
//
// When the process itself is killed, the kernel kills its servers with it
// (prctl(2), PR_SET_PDEATHSIG). What a dead process cannot do itself, removing
// files, mounts and firewall tables, is done by the next New on the machine.
//
// # Several sandboxes side by side
//
// Each cluster holds one numbered slot of the machine, a locked file that owns a
// block of ports and says what to remove if the owner dies. Any number of
// processes may run any number of clusters until the slots run out.
//
// # What is not here
//
// Probing, judging and promoting: a sandbox knows nothing of the rest of
// failwise. Its Writer and Sampler are independent witnesses on purpose.
//
//	cluster, err := sandbox.New(ctx, sandbox.Options{Flavour: sandbox.MariaDB})
//	if err != nil {
//		return err
//	}
//	defer cluster.Close()
//	fault, _ := sandbox.LookupFault("freeze")
//	active, err := fault.Start(ctx, cluster.Node(0))
//	…
//	err = active.Heal(ctx)
package sandbox
