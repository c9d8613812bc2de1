// Package cli holds the flags and operands of one command line: what a flag is
// called and takes, and what it was given.
//
// Finding the command, the order of the words and every complaint about a name are
// the business of package commands. A flag keeps what it was given in itself, so a
// list of flags is made anew for each command line.
package cli
