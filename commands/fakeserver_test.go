package commands

import (
	"net"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"failwise/check/fakeserver"
)

// behaviours are the servers that "server NAME BEHAVIOUR" starts.
var behaviours = map[string]fakeserver.Behaviour{
	"healthy":   {Version: "8.4.3"},
	"silent":    {GreetingDelay: fakeserver.Never},
	"stuck":     {ExecuteDelay: fakeserver.Never},
	"slow":      {ExecuteDelay: 60 * time.Millisecond},
	"full":      {GreetingError: &fakeserver.Error{Number: 1040, Message: "Too many connections"}},
	"denied":    {LoginError: &fakeserver.Error{Number: 1045, State: "28000", Message: "Access denied"}},
	"read-only": {ReadOnly: "1", WriteError: &fakeserver.Error{Number: 1290, State: "HY000", Message: "running with --read-only | so it cannot"}},
	"replica":   {ReadOnly: "1", Source: "db1:3306"},
	"disk-full": {WriteError: &fakeserver.Error{Number: 1021, State: "HY000", Message: "Disk full"}},
}

// startServer is the script command "server NAME BEHAVIOUR": a server on a port of
// its own, whose address is in the variable NAME until the script ends.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server NAME BEHAVIOUR")
	}
	b, found := behaviours[args[1]]
	if !found {
		ts.Fatalf("no behaviour %s", args[1])
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	s := fakeserver.New(b)
	go func() { _ = s.Serve(l) }() // it ends with the listener
	ts.Defer(func() {
		_ = l.Close()
		s.Close()
	})
	ts.Setenv(args[0], l.Addr().String())
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	ts.Setenv(args[0]+"_PORT", port)
}

// refusedAddress is the script command "refused NAME": an address at which nothing
// listens.
func refusedAddress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	address := l.Addr().String()
	ts.Check(l.Close())
	ts.Setenv(args[0], address)
}
