package watch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

// lasting is a test for a cluster that outlives the case it is started in.
type lasting struct {
	noting // the case

	parent *testing.T
}

func (l lasting) Cleanup(f func())                  { l.parent.Cleanup(f) }
func (l lasting) Context() context.Context          { return l.parent.Context() }
func (l lasting) Errorf(format string, args ...any) { l.parent.Errorf(format, args...) }
func (l lasting) Logf(format string, args ...any)   { l.parent.Logf(format, args...) }
func (l lasting) Failed() bool                      { return l.parent.Failed() }

// noting keeps in the row why a case is skipped.
type noting struct {
	*testing.T

	row *matrixRow
}

func (n noting) Skipf(format string, args ...any) {
	n.Helper()
	n.row.skipped = fmt.Sprintf(format, args...)
	n.T.Skipf(format, args...)
}

// bench runs the cases of one flavour. Cases that leave their cluster as it was
// share one.
type bench struct {
	t       *testing.T
	flavour sandbox.Flavour
	cluster *sandbox.Cluster
	made    sandbox.Options // the cluster's, as far as cases differ in them
}

// take returns a sound cluster for a case.
func (b *bench) take(t *testing.T, c matrixCase, row *matrixRow) *sandbox.Cluster {
	t.Helper()
	o := sandbox.Options{Flavour: b.flavour, SemiSync: true, SemiSyncTimeout: 2 * time.Minute, TLS: c.named, Names: c.named}
	if c.loop {
		o.LoopBytes = matrixLoop[b.flavour]
	}
	if b.cluster != nil && (b.made.TLS != o.TLS || b.made.LoopBytes != o.LoopBytes) {
		b.drop()
	}
	if b.cluster == nil {
		b.cluster, b.made = sandbox.ForTest(lasting{noting{t, row}, b.t}, o), o
	}
	return b.cluster
}

func (b *bench) drop() {
	if b.cluster == nil {
		return
	}
	if err := b.cluster.Close(); err != nil {
		b.t.Error(err)
	}
	b.cluster = nil
}
