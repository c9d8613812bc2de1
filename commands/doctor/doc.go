// Package doctor says whether failwise can do its work on a cluster: whether its
// users have the privileges they need and no more, whether the heartbeat table is
// there, and which settings make probes blind or a failover impossible. Each
// finding comes with its fix, a statement where there is one.
//
// [Read] asks one server; the rules judge its [Facts] and are pure. The same table
// of privileges makes the statements for setting up users, which docs/privileges.md
// shows.
//
// Not here: whether a replica may be promoted (package topology), and which rules
// are wise (package rules/lint).
package doctor
