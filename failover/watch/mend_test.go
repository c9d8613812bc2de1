package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// A promotion whose new primary hangs for a moment may fail to make it forget whom
// it followed. Once the old one is back the two would seem to follow each other.
func TestPrimaryForgetsTheOneItReplaced(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour})
		l := watchLab(t, c, nil)
		sandbox.Break(t, "kill", c.Node(0))
		promoted := l.await(60*time.Second, "promotion", event(failover.Promoted))
		var primary *sandbox.Node
		for _, n := range c.Nodes() {
			if n.Name() == promoted.Node {
				primary = n
			}
		}
		change := "CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%d, SOURCE_AUTO_POSITION=1"
		if flavour == sandbox.MariaDB {
			change = "CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USE_GTID=slave_pos"
		}
		if err := primary.Exec(t.Context(), fmt.Sprintf(change, c.Node(0).Host(), c.Node(0).Port())); err != nil {
			t.Fatal(err)
		}
		l.await(30*time.Second, "word that it is forgotten", func(n Notice) bool {
			return n.Node == promoted.Node && strings.Contains(n.Text, "has forgotten its old source db1")
		})
		if r, err := primary.Replication(t.Context()); err != nil || r.Source != "" {
			t.Errorf("the primary still follows %q (%v)", r.Source, err)
		}
	})
}

// A node that was opened and lost before its first write, with no other replica there,
// leaves the cluster without a primary: the replica that comes back is promoted, although
// it follows the first primary and that failover was a moment ago.
func TestPrimaryLostBeforeItsFirstWriteIsReplaced(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour})
		conn, err := c.Node(1).Root().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// The proving write waits for this lock.
		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES failwise.heartbeat READ"); err != nil {
			t.Fatal(err)
		}
		l := watchLab(t, c, nil)
		away := sandbox.Break(t, "kill", c.Node(2))
		l.await(30*time.Second, "word that db3 is out", event(failover.ReplicaFailed))
		sandbox.Break(t, "kill", c.Node(0))
		l.await(60*time.Second, "opening", func(n Notice) bool {
			return n.Step != nil && n.Step.Step == promote.Open && n.Step.State == promote.StepDone
		})
		sandbox.Break(t, "kill", c.Node(1))
		l.await(60*time.Second, "end of the promotion", event(failover.Promoted))
		if err := away.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.await(90*time.Second, "promotion of db3", func(n Notice) bool { return event(failover.Promoted)(n) && n.Event.Node == "db3" })
	})
}
