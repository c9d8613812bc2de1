// Package mha turns the configuration of an MHA manager into failwise's.
//
// MHA reads two files of the same form: one for an application, with a section
// [server default] and one section per server ([server1], [server2] …, [binlog1]
// … for binary log servers), and a global one, of which [server default] counts
// alone. A server's own value beats the application's default, which beats the
// global one.
//
// [Parse] reads one file and keeps for each setting where it stands. [Convert]
// goes through every setting by one table, [Parameters]: each row says how the
// setting is carried over, or why it has no equal. What comes out of
// [Result.WriteYAML] is accepted by the configuration's own reader, and names
// every setting that was not carried over in a comment.
//
// No password is carried over: not those of the settings password and
// repl_password, nor what looks like one in a script's arguments. No error text
// quotes a line that was not understood, since it may hold one.
//
// Not here: reading files from the disk, and exit codes (package commands).
package mha
