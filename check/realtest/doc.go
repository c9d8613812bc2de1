// Package realtest holds the tests that prove each outcome of package check on
// its real cause: real servers of both flavours, real sockets, network
// namespaces and limits of the operating system. It has no code of its own.
//
// The tests of servers come from the sandbox, which package check itself must
// not know.
package realtest
