// Package topology tells who is primary, who follows whom, how far everyone is,
// and who may be promoted.
//
// A [Reader] keeps one management session per configured node and reads them
// all at once, each within its own time limit. [Judge] makes a [Topology] of
// the readings: a pure function over a table of named rules, as is
// [Choose], which judges every replica as a candidate. [Poll] asks
// replicas whether they still see their source.
//
// The caller's duties:
//
//  1. Keep the last healthy topology ([Topology.Remember]) across restarts and
//     give it to Judge: it makes a dead primary known, and tells MariaDB's
//     servers that were restored from a backup from those that went astray.
//  2. Act only while [Topology.Primary] is set: findings that hold say why it
//     is not, and what to do.
//  3. Use [Choose] for every question of who may become primary, so
//     that failover, switch, candidates and doctor cannot disagree.
//
// Not here: statements (package mysql), set algebra (package gtid), deciding to
// act (package failover), acting (package promote).
//
//	reader := topology.NewReader(members, 3*time.Second)
//	defer reader.Close()
//	t := topology.Judge(reader.Read(ctx), topology.Memory{}, time.Now())
//	fmt.Print(t.Tree())
package topology
