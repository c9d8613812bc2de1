package promote_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/topology"
)

// lab is a cluster of real servers with what a watcher would know about it.
type lab struct {
	*sandbox.Cluster
	t        *testing.T
	members  []topology.Member
	reader   *topology.Reader
	second   map[string]*mysql.Session
	readings []topology.Reading
	memory   topology.Memory
	seen     promote.Seen
	dir      *journal.Dir
	settings promote.Settings
	prefer   []string
	hooks    hooks.Set
	online   func() bool
	down     []string // what the watcher's probes found dead
	// onStep, if not nil, is told each line of progress first.
	onStep func(promote.Progress)

	mu       sync.Mutex
	progress []promote.Progress
}

// onBoth runs a test on both flavours, one cluster after the other.
func onBoth(t *testing.T, f func(*testing.T, sandbox.Flavour)) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) { f(t, flavour) })
	}
}

// risky gives all points on MariaDB, whose servers start in a moment, and with
// FAILWISE_MATRIX=full; else those named alone.
func risky[P any](flavour sandbox.Flavour, all []P, riskiest ...int) []P {
	if flavour == sandbox.MariaDB || os.Getenv("FAILWISE_MATRIX") == "full" {
		return all
	}
	var some []P
	for _, i := range riskiest {
		some = append(some, all[i])
	}
	return some
}

func newLab(t *testing.T, o sandbox.Options, prefer ...string) *lab {
	t.Helper()
	l := &lab{Cluster: sandbox.ForTest(t, o), t: t, second: map[string]*mysql.Session{}, prefer: prefer}
	l.connect()
	l.look()
	l.dir = journal.NewDir(t.TempDir())
	return l
}

// connect makes the sessions that a watcher keeps.
func (l *lab) connect() {
	l.members = members(l.t, l.Cluster)
	for i := range l.members {
		if slices.Contains(l.prefer, l.members[i].Name) {
			l.members[i].Promote = topology.Prefer
		}
	}
	l.reader = topology.NewReader(l.members, 5*time.Second)
	l.t.Cleanup(func() { _ = l.reader.Close() })
	for _, m := range l.members {
		s := mysql.NewSession(m.Server)
		l.second[m.Name] = s
		l.t.Cleanup(func() { _ = s.Close() })
		ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
		if err := s.Connect(ctx); err != nil {
			l.t.Logf("second session: %v", err)
		}
		cancel()
	}
}

func members(t *testing.T, c *sandbox.Cluster) []topology.Member {
	var list []topology.Member
	act := c.Accounts().Act
	for _, n := range c.Nodes() {
		address, err := check.ParseAddress(n.Address(), 3306)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, topology.Member{Name: n.Name(), Server: check.Server{
			Name: n.Name(), Address: address, User: act.User, Secret: check.NewSecret(act.Password),
		}})
	}
	return list
}

// look is a watcher's last good look before the fault.
func (l *lab) look() {
	l.t.Helper()
	l.readings = l.reader.Read(l.t.Context())
	found := topology.Judge(l.readings, l.memory, time.Now())
	if memory, healthy := found.Remember(l.memory); healthy {
		l.memory = memory
	}
	primary, ok := found.Node(found.Primary)
	if !ok || !primary.Readable() {
		l.t.Logf("no primary to look at: %+v", found.Findings)
		return
	}
	l.seen = promote.Seen{Progress: primary.Status.Progress()}
	if semi, known := primary.Status.SemiSync.Get(); known {
		l.seen.SemiSyncEnabled, l.seen.SemiSync = semi.SourceEnabled, semi.SourceEnabled && semi.SourceActive
		l.seen.SemiSyncReplicas, l.seen.WaitCount = int(semi.Clients), int(semi.WaitCount)
	}
}

// env is what the watcher gives its plans.
func (l *lab) env() promote.Env {
	repl := l.Accounts().Repl
	env := promote.Env{
		Cluster: "lab", Watcher: 7, By: "test", Now: time.Now,
		Choose: promote.Contest{Readings: l.readings, Memory: l.memory}.Choose,
		Seen:   l.seen, Settings: l.settings,
		Account: promote.Account{User: repl.User, Secret: check.NewSecret(repl.Password)},
		Begin: func(ctx context.Context, op journal.Operation) (promote.Log, error) {
			return journal.BeginOperation(ctx, l.dir, op)
		},
		Hooks: l.hooks, OldOnline: l.online,
		Progress: func(p promote.Progress) {
			if l.onStep != nil {
				l.onStep(p)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.progress = append(l.progress, p)
			l.t.Log(describe(p))
		},
	}
	for _, n := range l.Nodes() {
		env.Nodes = append(env.Nodes, promote.Node{
			Name: n.Name(), Host: n.Host(), Port: n.Port(), Session: l.reader.Session(n.Name()), Second: l.second[n.Name()],
			Down: slices.Contains(l.down, n.Name()),
		})
	}
	return env
}

func describe(p promote.Progress) string {
	line := fmt.Sprintf("%-9s %-9s", p.Step, p.State)
	if p.Target != "" {
		line += " " + p.Target
	}
	if p.Took > 0 {
		line += fmt.Sprintf(" %.1fms", float64(p.Took.Microseconds())/1000)
	}
	if p.Result != "" {
		line += ": " + p.Result
	}
	if p.Err != nil {
		line += ": " + p.Err.Error()
	}
	return line
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func sqlExec(t *testing.T, n *sandbox.Node, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := n.Root().ExecContext(bounded(t), s); err != nil {
			t.Fatalf("%s: %s: %v", n.Name(), s, err)
		}
	}
}

// follows checks that a node replicates from the primary with both threads, read-only.
func (l *lab) follows(n, primary *sandbox.Node) {
	l.t.Helper()
	session := l.reader.Session(n.Name())
	ctx := bounded(l.t)
	deadline := time.Now().Add(30 * time.Second)
	var st mysql.Status
	for {
		var err error
		if st, err = session.Status(ctx); err == nil {
			channels := st.Channels.Or(nil)
			if len(channels) == 1 && channels[0].SourcePort == primary.Port() && channels[0].SourceHost == primary.Host() &&
				channels[0].IO == mysql.ThreadYes && channels[0].SQL == mysql.ThreadYes {
				break
			}
		}
		if time.Now().After(deadline) {
			l.t.Errorf("%s does not follow %s: %v, %+v", n.Name(), primary.Name(), err, st.Channels.Or(nil))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	if st.Writable() {
		l.t.Errorf("%s follows %s and is writable", n.Name(), primary.Name())
	}
}

func (l *lab) writable(n *sandbox.Node) bool {
	l.t.Helper()
	flags, err := l.reader.Session(n.Name()).ReadFlags(bounded(l.t))
	if err != nil {
		l.t.Fatal(err)
	}
	return flags.Open()
}

// noErrant checks that a replica has nothing that the primary does not have.
func (l *lab) noErrant(n, primary *sandbox.Node) {
	l.t.Helper()
	ctx := bounded(l.t)
	deadline := time.Now().Add(20 * time.Second)
	for {
		mine, err := l.reader.Session(n.Name()).Status(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		its, err := l.reader.Session(primary.Name()).Status(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		extra := mine.Progress().ExecutedOnly().Executed.Subtract(its.Progress().Executed)
		if extra.IsEmpty() {
			return
		}
		if time.Now().After(deadline) {
			l.t.Errorf("%s has transactions that %s does not have: %s", n.Name(), primary.Name(), extra)
			return
		}
	}
}

// nothingLost checks that every acknowledged row is on the node.
func (l *lab) nothingLost(w *sandbox.Writer, n *sandbox.Node) {
	l.t.Helper()
	missing, err := w.Missing(bounded(l.t), n)
	if err != nil {
		l.t.Fatal(err)
	}
	acknowledged, sent := w.Count()
	l.t.Logf("%d rows sent, %d acknowledged, %d missing on %s", sent, acknowledged, len(missing), n.Name())
	if len(missing) > 0 {
		l.t.Errorf("%d acknowledged rows are missing on %s: %v", len(missing), n.Name(), missing[:min(10, len(missing))])
	}
}

func (l *lab) noOverlap(s *sandbox.Sampler) {
	l.t.Helper()
	s.Stop()
	for _, o := range s.Overlaps() {
		l.t.Errorf("%s and %s were writable at once for %v", o.Nodes[0].Name(), o.Nodes[1].Name(), o.To.Sub(o.From))
	}
}

func (l *lab) node(name string) *sandbox.Node {
	i := slices.IndexFunc(l.Nodes(), func(n *sandbox.Node) bool { return n.Name() == name })
	if i < 0 {
		l.t.Fatalf("no node %q", name)
	}
	return l.Node(i)
}

// awaitAck waits for a write acknowledged after a moment.
func awaitAck(t *testing.T, w *sandbox.Writer, after time.Time) sandbox.Ack {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if ack, ok := w.FirstAck(after); ok {
			return ack
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("no write was acknowledged any more")
	return sandbox.Ack{}
}

func (l *lab) unfinished() []journal.OperationLog {
	l.t.Helper()
	logs, err := journal.Unfinished(bounded(l.t), l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return logs
}

func stepsOf(r promote.Result) string {
	var parts []string
	for _, d := range r.Durations {
		parts = append(parts, fmt.Sprintf("%s %.1fms", d.Step, float64(d.Took.Microseconds())/1000))
	}
	return strings.Join(parts, ", ")
}
