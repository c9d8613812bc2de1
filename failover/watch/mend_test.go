package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
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

// A frozen primary cannot be proved fenced, so that nobody is opened; the fence takes
// effect when it thaws. It is taken back then, also by a watcher that was not there.
func TestFenceOfAPrimaryThatThawsIsTakenBack(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		dir := filepath.Join(t.TempDir(), "lab")
		change := func(cfg *Config) {
			cfg.Promotion.FenceRequire = promote.RequireProof
			cfg.Timings.Tick, cfg.Timings.ProbeBudget = 100*time.Millisecond, 500*time.Millisecond
			cfg.Timings.Retry = time.Hour
		}
		cfg := labConfig(t, c, dir)
		change(&cfg)
		l := startLab(t, c, cfg)
		l.await(20*time.Second, "first probe", outcome("db1", rules.OK))
		// A fence that has no session sends nothing.
		if text := eventually(20*time.Second, func() string {
			connected := false
			if l.watcher.ask(t.Context(), func() { connected = l.watcher.member("db1").second.Connected() }); !connected {
				return "the primary has no second session"
			}
			return ""
		}); text != "" {
			t.Fatal(text)
		}
		frozen := sandbox.Break(t, "freeze", c.Node(0))
		l.await(60*time.Second, "failed promotion", event(failover.PromotionEnded))
		state := filepath.Join(dir, "state.json")
		if text := eventually(20*time.Second, func() string {
			if text, err := os.ReadFile(state); err != nil || !strings.Contains(string(text), `"leftover"`) {
				return fmt.Sprintf("%s does not say what is left: %v, %s", state, err, text)
			}
			return ""
		}); text != "" {
			t.Fatal(text)
		}
		l.cancel()
		<-l.ended

		again := labConfig(t, c, dir)
		change(&again)
		l = startLab(t, c, again)
		l.await(20*time.Second, "alarm", event(failover.AlarmRaised))
		if err := frozen.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.await(30*time.Second, "word that the fence is taken back", func(n Notice) bool {
			return n.Node == "db1" && strings.Contains(n.Text, "taken back late") && strings.Contains(n.Text, "writable again")
		})
		if text := eventually(20*time.Second, func() string {
			f, err := flagsOf(t.Context(), c.Node(0), flavour)
			if err != nil || f.readOnly || f.offline {
				return fmt.Sprintf("the primary takes no writes: %+v, %v", f, err)
			}
			if text, err := os.ReadFile(state); err != nil || strings.Contains(string(text), `"leftover"`) {
				return fmt.Sprintf("the state file still says that something is left: %v", err)
			}
			return ""
		}); text != "" {
			t.Error(text)
		}
	})
}
