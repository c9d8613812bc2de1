package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"failwise/failover"
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
