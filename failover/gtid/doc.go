// Package gtid is the set algebra of global transaction identifiers, for MySQL
// (sets of uuid[:tag]:interval) and MariaDB (positions and binary log states by
// domain). It is pure: no I/O, no clock; all values are immutable.
//
// Vocabulary:
//
//   - [Set]: transactions by source; a source is a server's uuid and tag on
//     MySQL, a domain and a server id on MariaDB. The zero value is the empty
//     set of either flavour.
//   - [Position]: MariaDB's newest transaction of each domain (gtid_slave_pos,
//     gtid_binlog_pos, Gtid_IO_Pos). It says how far a server is, and hides by
//     which way it came there.
//   - [State]: MariaDB's gtid_binlog_state, the newest transaction of each
//     domain and server id. It shows what a position hides.
//   - [Progress]: all that a server has, executed and received, in a form that
//     compares servers of one flavour. Candidates are compared by it.
//
// Not here: reading these values from servers (package mysql) and judging
// servers by them (package topology).
//
//	have, _ := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:nightly:1")
//	want, _ := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7")
//	want.Subtract(have).String() // "3e11fa47-71ca-11e1-9e33-c80aa9429562:6-7"
package gtid
