// Package mysql speaks the SQL of each server flavour and version: one bounded
// management session to one server, the reading of its state, and one method
// for each statement that a failover needs. Old and new spellings (MASTER and
// SLAVE, SOURCE and REPLICA) are chosen by version, never by trial.
//
// The caller's duties:
//
//  1. Give each call a context with a deadline. It bounds the waiting, not the
//     statement: a statement that is not answered in time goes on at the server.
//  2. On [ErrPending] the statement is still running there. Call
//     [Session.Cancel] to end it from a second connection, or [Session.Settle]
//     to go on waiting; then read back what it has done before undoing or going
//     on. Until it returns the session takes no other statement ([ErrBusy]).
//  3. Close a session only when nothing of it is pending, unless the server is
//     given up: a closed connection does not stop its statement either.
//  4. Never [Session.Bounce] or stop a replica's IO thread on MariaDB while its
//     SQL thread is stopped: the next start of either thread deletes the
//     received transactions. [Session.Starve] and Bounce look first.
//
// On a server whose disk hangs, only these are known to return: SELECT
// @@global…, SHOW PROCESSLIST, SHOW GLOBAL STATUS and performance_schema. On a
// replica whose disk hangs, SHOW REPLICA STATUS and the replication tables of
// performance_schema hang as well; [Session.Status] asks these last, so that
// they cost the facts about its channels alone.
//
// Not here: who is primary, who may become it (package topology), the order of
// a promotion (package promote), probes (package check).
package mysql
