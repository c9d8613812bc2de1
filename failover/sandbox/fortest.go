package sandbox

import (
	"context"
	"errors"
	"os"
)

// TB is the part of testing.TB that ForTest needs.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
}

// ForTest starts a cluster that ends with the test. Without a server program, or
// without the rights the options need, it skips the test and says why; with
// FAILWISE_REQUIRE_SERVERS=1 in the environment that is a failure.
func ForTest(t TB, o Options) *Cluster {
	t.Helper()
	o.TrapSignals = true
	if o.Log == nil {
		o.Log = func(line string) { t.Logf("%s", line) }
	}
	// Not the test's own context: it ends before clean-up begins, and a clean-up
	// of the test may still want the servers.
	c, err := New(context.WithoutCancel(t.Context()), o)
	if err != nil {
		skipOrFail(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range c.Nodes() {
				t.Logf("%s, end of the error log:\n%s", n.Name(), n.ErrorLog(8))
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return c
}

// Break starts a fault that ends, at the latest, with the cluster. Where the
// fault cannot be had the test is skipped or fails as by ForTest.
func Break(t TB, name string, n *Node) *Active {
	t.Helper()
	f, err := LookupFault(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	a, err := f.Start(t.Context(), n)
	if err != nil {
		skipOrFail(t, err)
	}
	return a
}

// skipOrFail skips for what this machine lacks, and fails for all else.
func skipOrFail(t TB, err error) {
	t.Helper()
	missing := errors.Is(err, ErrNoServer) || errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrNotHere)
	if missing && os.Getenv("FAILWISE_REQUIRE_SERVERS") != "1" {
		t.Skipf("%v", err)
	}
	t.Fatalf("%v", err)
}
