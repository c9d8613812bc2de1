package watch

import (
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/sandbox"
)

func flavours(t *testing.T, f func(*testing.T, sandbox.Flavour)) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) { f(t, flavour) })
	}
}

func TestKilledPrimaryIsReplaced(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		l := watchLab(t, c, nil)
		time.Sleep(2 * time.Second)
		began := time.Now()
		sandbox.Break(t, "kill", c.Node(0))
		n := l.await(30*time.Second, "promotion", event(failover.Promoted))
		t.Logf("promoted %s %s after the kill", n.Node, n.Time.Sub(began))
		if n.Node == "db1" {
			t.Errorf("the dead node was promoted")
		}
		time.Sleep(3 * time.Second)
	})
}
