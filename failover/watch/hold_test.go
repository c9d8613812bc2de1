package watch

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// outcome waits for a notice of a node's outcome.
func outcome(node string, o rules.Outcome) func(Notice) bool {
	return func(n Notice) bool { return n.Kind == "probe" && n.Node == node && n.Outcome == o }
}

func (l *lab) never(what string, is func(Notice) bool) {
	l.t.Helper()
	for _, n := range l.heard() {
		if is(n) {
			l.t.Errorf("%s, which must not happen: %s %s", what, n.Node, n.Text)
			return
		}
	}
}

// decisions reads the decision records of a node from the journal.
func (l *lab) decisions(dir, node string) []string {
	l.t.Helper()
	var texts []string
	for r, err := range journal.Read(context.Background(), dir, journal.Query{Kinds: []journal.Kind{journal.Decision}, Node: node}) {
		if err != nil {
			l.t.Fatal(err)
		}
		texts = append(texts, r.Message)
	}
	return texts
}

// A slow but reachable primary is never failed over by the shipped rules, and the
// journal says why nothing is done.
func TestSlowPrimaryIsLeftAlone(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour})
		var dir string
		l := watchLab(t, c, func(cfg *Config) {
			cfg.Timings.Tick, cfg.Timings.ProbeBudget = time.Second, time.Second
			cfg.Probe.Types = []check.Type{check.Connect, check.Insert}
			dir = cfg.Dir
		})
		sandbox.Break(t, "locked", c.Node(0))
		l.await(30*time.Second, "write timeout", outcome("db1", rules.WriteTimeout))
		l.await(30*time.Second, "alert", event(failover.Alerted))
		l.never("a failover", event(failover.FailoverDecided))
		text := strings.Join(l.decisions(dir, "db1"), "\n")
		if !strings.Contains(text, "no rule acts on what is seen") {
			t.Errorf("the journal does not say why nothing is done:\n%s", text)
		}
	})
}

// A query of the user's that waits for a lock is slow, not dead.
func TestHungQueryIsLeftAlone(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour})
		l := watchLab(t, c, func(cfg *Config) {
			cfg.Timings.Tick, cfg.Timings.ProbeBudget = time.Second, time.Second
			cfg.Probe.Query = "SELECT id FROM failwise.heartbeat LIMIT 1"
		})
		holder, err := c.Node(0).Root().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer closeConn(t, holder)
		if _, err := holder.ExecContext(t.Context(), "LOCK TABLES failwise.heartbeat WRITE"); err != nil {
			t.Fatal(err)
		}
		l.await(30*time.Second, "query timeout", outcome("db1", rules.QueryExecTimeout))
		time.Sleep(10 * time.Second) // longer than eight ticks
		l.never("a failover", event(failover.FailoverDecided))
	})
}

func closeConn(t *testing.T, c *sql.Conn) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestFrozenPrimaryIsReplacedAfterItsThreshold(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		writer := c.StartWriter(t.Context(), sandbox.WriterOptions{})
		l := watchLab(t, c, func(cfg *Config) {
			cfg.Timings.Tick, cfg.Timings.ProbeBudget = time.Second, 2*time.Second
		})
		frozen := time.Now()
		sandbox.Break(t, "freeze", c.Node(0))
		seen := l.await(30*time.Second, "login timeout", outcome("db1", rules.LoginResponseTimeout))
		decided := l.await(60*time.Second, "failover", event(failover.FailoverDecided))
		if fuse := decided.Time.Sub(seen.Time); fuse < 8*time.Second-100*time.Millisecond {
			t.Errorf("decided %s after the first login timeout: the threshold is 8 s", fuse)
		}
		t.Logf("decided %s after the freeze", decided.Time.Sub(frozen))
		promoted := l.await(60*time.Second, "promotion", event(failover.Promoted))
		lostNothing(t, c, writer, promoted.Node)
	})
}

// lostNothing counts acknowledged rows on the new primary.
func lostNothing(t *testing.T, c *sandbox.Cluster, w *sandbox.Writer, primary string) {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // some writes on the new primary
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes() {
		if n.Name() != primary {
			continue
		}
		missing, err := w.Missing(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		acknowledged, _ := w.Count()
		if len(missing) > 0 || acknowledged == 0 {
			t.Errorf("%d of %d acknowledged rows are missing on %s", len(missing), acknowledged, primary)
		}
	}
}

func TestReturningOldPrimaryIsFenced(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		l := watchLab(t, c, nil)
		active := sandbox.Break(t, "kill", c.Node(0))
		l.await(30*time.Second, "promotion", event(failover.Promoted))
		if err := active.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := l.await(30*time.Second, "return", func(n Notice) bool {
			return n.Kind == "probe" && n.Node == "db1" && n.Outcome == rules.OK && n.Time.After(l.first(event(failover.Promoted)).Time)
		})
		fenced := l.await(10*time.Second, "fence", func(n Notice) bool {
			return n.Kind == "note" && n.Node == "db1" && strings.Contains(n.Text, "it is not the primary: set read-only")
		})
		t.Logf("fenced %s after it was seen again", fenced.Time.Sub(back.Time))
		var readOnly string
		if err := c.Node(0).Root().QueryRowContext(t.Context(), "SELECT @@global.read_only").Scan(&readOnly); err != nil {
			t.Fatal(err)
		}
		if readOnly != "1" && readOnly != "ON" {
			t.Errorf("the old primary's read_only is %s", readOnly)
		}
		l.await(10*time.Second, "state file", func(Notice) bool {
			s, _, err := journal.NewStateFile(journal.NewDir(l.dir)).Load(t.Context())
			return err == nil && s.Shunned["db1"].FailedOverTo != "" && s.LastFailover.OldPrimary == "db1"
		})
	})
}

// An old primary that is back while the rest of its replacement takes its time is not
// left writable until that ends.
func TestOldPrimaryThatReturnsDuringTheFailoverIsFenced(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		l := watchLab(t, c, func(cfg *Config) {
			cfg.Hooks = hooks.Set{Hooks: map[hooks.Event][]hooks.Hook{hooks.Promoted: {{Argv: []string{"/bin/sleep", "25"}}}}}
		})
		active := sandbox.Break(t, "kill", c.Node(0))
		l.await(30*time.Second, "opening", func(n Notice) bool {
			return n.Step != nil && n.Step.Step == promote.Open && n.Step.State == promote.StepDone
		})
		if err := active.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.await(20*time.Second, "fence", func(n Notice) bool {
			return n.Kind == "note" && n.Node == "db1" && strings.Contains(n.Text, "it is not the primary: set read-only")
		})
		if ended := l.first(event(failover.Promoted)); ended.Event != nil {
			t.Error("the failover had ended before")
		}
	})
}

func (l *lab) first(is func(Notice) bool) Notice {
	for _, n := range l.heard() {
		if is(n) {
			return n
		}
	}
	return Notice{}
}

func TestNoCandidateHolds(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{})
	l := watchLab(t, c, func(cfg *Config) {
		for i := range cfg.Nodes {
			cfg.Nodes[i].Preference = 2 // never
		}
	})
	sandbox.Break(t, "kill", c.Node(0))
	hold := l.await(30*time.Second, "hold", func(n Notice) bool {
		return n.Event != nil && n.Event.Kind == failover.Held && n.Event.Reason == failover.NoCandidate
	})
	if !strings.Contains(hold.Text, "no replica is eligible") {
		t.Errorf("the hold says %q", hold.Text)
	}
	l.never("a failover", event(failover.FailoverDecided))
}

func TestOneReplicaMissingDoesNotHinder(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{})
	sandbox.Break(t, "kill", c.Node(1))
	l := watchLab(t, c, nil)
	l.await(30*time.Second, "failed replica", event(failover.ReplicaFailed))
	sandbox.Break(t, "kill", c.Node(0))
	promoted := l.await(60*time.Second, "promotion", event(failover.Promoted))
	if promoted.Node != "db3" {
		t.Errorf("promoted %s, want the one replica that lives", promoted.Node)
	}
}

// A watcher that starts after the death knows the primary from its replicas.
func TestWatcherStartedAfterTheDeathActs(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{})
	sandbox.Break(t, "kill", c.Node(0))
	l := watchLab(t, c, nil)
	promoted := l.await(60*time.Second, "promotion", event(failover.Promoted))
	if promoted.Event.Peer != "db1" {
		t.Errorf("%s replaced %s, want db1", promoted.Node, promoted.Event.Peer)
	}
}

func TestWrongPasswordIsNoDeath(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{})
	l := watchLab(t, c, func(cfg *Config) {
		for i := range cfg.Nodes {
			cfg.Nodes[i].Monitor.Secret = check.NewSecret("not the password")
		}
	})
	for _, n := range []string{"db1", "db2", "db3"} {
		l.await(20*time.Second, "wrong credentials", outcome(n, rules.WrongCredentials))
	}
	l.never("a failover", event(failover.FailoverDecided))
	files, err := filepath.Glob(filepath.Join(l.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no state directory: %v", err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "not the password") {
			t.Errorf("%s holds the password", f)
		}
	}
}

// A replica that has seen the primary holds everything for as long as it sees it, and not
// until the replicas are asked again.
func TestReplicaThatLosesThePrimaryTooLetsGo(t *testing.T) {
	flavours(t, func(t *testing.T, flavour sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour})
		l := watchLab(t, c, nil)
		l.await(20*time.Second, "first probe", outcome("db1", rules.OK))
		sandbox.Break(t, "refuse-new", c.Node(0))
		l.await(30*time.Second, "hold", func(n Notice) bool {
			return n.Event != nil && n.Event.Kind == failover.Held && n.Event.Reason == failover.ReplicaSeesPrimary
		})
		killed := time.Now()
		sandbox.Break(t, "kill", c.Node(0))
		decided := l.await(30*time.Second, "failover", event(failover.FailoverDecided))
		if waited := decided.Time.Sub(killed); waited > failover.AskAgain-2*time.Second {
			t.Errorf("decided %s after the last replica could have seen the primary; the replicas are asked again every %s", waited, failover.AskAgain)
		}
	})
}
