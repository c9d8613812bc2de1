package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/topology"
	"failwise/rules"
)

// Times of a case beside the rules' own.
const (
	// matrixSlack is what the bound of a decision is widened by in the short
	// selection: a test machine may be busy with anything else. The whole matrix
	// holds the bound itself.
	matrixSlack = 15 * time.Second
	// matrixWait bounds what has no bound of its own.
	matrixWait = 60 * time.Second
	// matrixPause is the client's between two rows.
	matrixPause = 10 * time.Millisecond
)

// matrixRow is what came of a case.
type matrixRow struct {
	flavour   sandbox.Flavour
	name      string
	want      string
	outcome   rules.Outcome
	decision  string
	decided   time.Duration // from the fault to the decision; 0 without one
	bound     time.Duration // what the rules allow for it
	write     time.Duration // from the fault to the first write on the new primary
	acked     int
	lost      int
	returned  time.Duration // how long a returning old primary was writable
	overlap   time.Duration // how long two nodes accepted writes before any fault was healed
	took      time.Duration // the whole case
	afterward string
	why       string
	ok        bool
	ran       bool
	skipped   string
}

// trial is one case under way.
type trial struct {
	*lab
	matrixCase

	t       *testing.T
	writer  *sandbox.Writer
	sampler *sandbox.Sampler
	row     *matrixRow

	broken  []*sandbox.Active
	fell    []*sandbox.Node          // beside the first primary, those that may have been opened and lost
	refused map[*sandbox.Node]string // nodes that may not come back as a replica, and why
	retried bool                     // a promotion is to fail, and to be tried again
	began   time.Time                // when the judged fault began
	took    time.Duration            // how long the judged fault took to begin
	healed  time.Time                // when the first fault was healed
	opened  time.Time                // when the new primary was opened
	primary *sandbox.Node
}

// run breaks a cluster, and judges what the watcher makes of it.
func (b *bench) run(t *testing.T, c matrixCase, row *matrixRow) {
	row.ran = true
	cluster := b.take(t, c, row)
	tr := &trial{matrixCase: c, t: t, row: row, primary: cluster.Node(0)}
	t.Cleanup(func() {
		row.ok = !t.Failed() && !t.Skipped()
		if t.Skipped() {
			row.skipped = cmp.Or(row.skipped, "not possible on this machine")
		}
		t.Log(row.line())
		if t.Failed() || tr.primary != cluster.Node(0) || c.alone {
			b.drop()
		}
	})
	tr.writer = cluster.StartWriter(t.Context(), sandbox.WriterOptions{Pause: matrixPause})
	tr.sampler = cluster.StartSampler(t.Context())
	t.Cleanup(tr.sampler.Stop)
	tr.lab = watchLab(t, cluster, func(cfg *Config) { tr.configure(cfg, cluster) })
	for _, n := range cluster.Nodes() {
		tr.await(matrixWait, "first probe", outcome(n.Name(), rules.OK))
	}
	tr.awaitAck(time.Now())
	tr.breakAll()
	switch c.want {
	case actsOn:
		tr.acts()
	case maybeActs:
		tr.mayAct()
	default:
		tr.holdsStill()
	}
	tr.finish()
}

func (tr *trial) configure(cfg *Config, cluster *sandbox.Cluster) {
	cfg.Profile = tr.profile
	cfg.Timings = tr.profile.Timings()
	cfg.Timings.Tick, cfg.Timings.ProbeInterval = time.Second, time.Second
	cfg.Timings.ProbeBudget = cmp.Or(tr.budget, 2*time.Second)
	if tr.budget != 0 {
		cfg.Timings.ProbeInterval = 700 * time.Millisecond // out of step with a fault that comes and goes by the second
	}
	cfg.Probe.Types, cfg.Probe.Query = tr.probes, tr.query
	for i := range cfg.Nodes {
		monitor := &cfg.Nodes[i].Monitor
		address := monitor.Address.String()
		switch {
		case tr.proxied:
			address = proxyFrom(tr.t, sandbox.BlockedSource, address)
		case tr.named:
			n := cluster.Node(i)
			address = net.JoinHostPort(n.Domain(), strconv.Itoa(n.Port()))
			monitor.TLS = check.TLSOptions{CA: cluster.Authority().CA()} // which is VERIFY_CA
			cfg.Nodes[i].Manage.TLS = monitor.TLS
			cfg.Probe.Resolver = cluster.Resolver()
		}
		a, err := check.ParseAddress(address, 3306)
		if err != nil {
			tr.t.Fatal(err)
		}
		monitor.Address = a
	}
}

// breakAll starts the faults, the second one when the first has been seen.
func (tr *trial) breakAll() {
	tr.began = time.Now()
	tr.broken = append(tr.broken, sandbox.Break(noting{tr.t, tr.row}, tr.fault, tr.cluster.Node(tr.node)))
	tr.took = time.Since(tr.began)
	if tr.then == "" {
		return
	}
	name := tr.cluster.Node(tr.node).Name()
	switch tr.fault {
	case "kill", "freeze":
		tr.await(matrixWait, "failed replica", event(failover.ReplicaFailed))
	case "tls-expired":
		tr.await(matrixWait, "TLS error", outcome(name, rules.TLSError))
	default:
		tr.awaitFinding(name)
	}
	tr.awaitAck(time.Now())
	tr.began = time.Now()
	tr.broken = append(tr.broken, sandbox.Break(noting{tr.t, tr.row}, tr.then, tr.cluster.Node(0)))
	tr.took = time.Since(tr.began)
}

// judgedNode is the name of the node whose outcomes and decisions count.
func (tr *trial) judgedNode() string { return tr.cluster.Node(tr.judged()).Name() }

// since limits a condition to what came after the judged fault.
func (tr *trial) since(is func(Notice) bool) func(Notice) bool {
	return func(n Notice) bool { return !n.Time.Before(tr.began) && is(n) }
}

// seen waits for an expected outcome.
func (tr *trial) seen() {
	tr.t.Helper()
	if len(tr.outcomes) == 0 {
		tr.row.outcome = rules.OK
		return
	}
	n := tr.await(tr.slow+matrixWait, fmt.Sprintf("outcome %v", tr.outcomes), tr.since(func(n Notice) bool {
		return n.Kind == "probe" && n.Node == tr.judgedNode() && slices.Contains(tr.outcomes, n.Outcome)
	}))
	tr.row.outcome = n.Outcome
}

// decide notes a decision and checks that it came in time, and not before the
// threshold: the first tick of an alarm may come at once.
func (tr *trial) decide(n Notice, o rules.Outcome) {
	tr.t.Helper()
	timings := tr.watcher.cfg.Timings
	tr.row.decided = n.Time.Sub(tr.began)
	threshold := timings.Ticks(max(0, tr.profile.Rules().Rule(o).Threshold))
	tr.row.bound = threshold + timings.ProbeInterval + timings.ProbeBudget + time.Second
	if tr.slow > 0 {
		tr.row.bound += tr.took
	}
	slack := matrixSlack
	if matrixFull() {
		slack = 0
	}
	if tr.row.decided > tr.row.bound+slack {
		tr.t.Errorf("decided after %s; the rules allow %s", tr.row.decided, tr.row.bound)
	}
	if least := max(0, threshold-timings.Tick); tr.row.decided < least {
		tr.t.Errorf("decided after %s; the rules want %s", tr.row.decided, least)
	}
}

// decideFirst is decide for the first failover, unless that was done or another process
// has decided it.
func (tr *trial) decideFirst() {
	tr.t.Helper()
	if n := tr.first(tr.since(event(failover.FailoverDecided))); n.Event != nil && tr.row.bound == 0 {
		tr.decide(n, n.Outcome)
	}
}

// acts waits for the failover and checks the world before the fault is healed.
func (tr *trial) acts() {
	tr.t.Helper()
	tr.seen()
	decided := tr.await(tr.slow+matrixWait, "failover", event(failover.FailoverDecided))
	tr.decide(decided, decided.Outcome)
	tr.row.outcome = decided.Outcome
	if !slices.Contains(tr.outcomes, decided.Outcome) {
		tr.t.Errorf("failed over for %s, want one of %v", decided.Outcome, tr.outcomes)
	}
	tr.promotes()
	if tr.only != "" && tr.primary.Name() != tr.only {
		tr.t.Errorf("promoted %s, want %s", tr.primary.Name(), tr.only)
	}
	tr.overlaps()
}

// promotes waits for the end of the promotion and the first write after it.
func (tr *trial) promotes() {
	tr.t.Helper()
	tr.promoted(event(failover.Promoted))
}

// promotesTo is promotes for the node that must be the primary in the end.
func (tr *trial) promotesTo(node *sandbox.Node) {
	tr.t.Helper()
	tr.promoted(func(n Notice) bool { return event(failover.Promoted)(n) && n.Node == node.Name() })
}

func (tr *trial) promoted(is func(Notice) bool) {
	tr.t.Helper()
	promoted := tr.await(2*matrixWait, "promotion", is)
	tr.decideFirst()
	tr.row.decision = "failover to " + promoted.Node
	tr.primary = tr.byName(promoted.Node)
	tr.opened = tr.first(func(n Notice) bool {
		return n.Step != nil && n.Step.Step == promote.Open && n.Step.State == promote.StepDone && n.Step.Target == promoted.Node
	}).Time
	tr.row.write = tr.awaitAck(tr.opened).At.Sub(tr.began)
	for _, n := range tr.cluster.Nodes() {
		if n == tr.primary || tr.isBroken(n) {
			continue
		}
		tr.complain(matrixWait, func() string { return followsComplaint(tr.t.Context(), n, tr.primary, tr.cluster.Flavour()) })
	}
}

// overlaps checks that nobody but the new primary was writable until now.
func (tr *trial) overlaps() {
	tr.t.Helper()
	for _, o := range tr.sampler.Overlaps() {
		text := fmt.Sprintf("%s and %s were writable at once for %s", o.Nodes[0].Name(), o.Nodes[1].Name(), o.To.Sub(o.From))
		if tr.cutOff {
			tr.t.Log(text + ", the old primary out of everybody's reach")
			continue
		}
		tr.t.Error(text)
	}
}

// mayAct waits for the end of a fault that may be over before it is seen.
func (tr *trial) mayAct() {
	tr.t.Helper()
	if decided := tr.first(event(failover.FailoverDecided)); decided.Event != nil {
		tr.row.outcome = decided.Outcome
		tr.decide(decided, decided.Outcome)
		tr.promotes()
		return
	}
	tr.row.outcome, tr.row.decision = rules.OK, string(leavesAlone)
}

// holdsStill waits for the hold, the alert or nothing at all.
func (tr *trial) holdsStill() {
	tr.t.Helper()
	tr.seen()
	var decided Notice
	stay := 2 * time.Second
	tr.row.decision = string(tr.want)
	switch tr.want {
	case holdsBack:
		decided = tr.await(matrixWait, "hold", tr.since(func(n Notice) bool {
			return n.Event != nil && n.Event.Kind == failover.Held && n.Event.Reason == tr.reason
		}))
		tr.row.decision = "hold: " + tr.reason.String()
	case onlyAlerts:
		decided = tr.await(matrixWait, "alert", tr.since(event(failover.Alerted)))
	case failsReplica:
		decided = tr.await(matrixWait, "failed replica", tr.since(event(failover.ReplicaFailed)))
	default:
		// Longer than the longest threshold, if there is anything to count.
		stay = tr.watcher.cfg.Timings.Ticks(12)
		if tr.finding != "" {
			tr.awaitFinding(tr.cluster.Node(tr.node).Name())
			stay = 3 * time.Second
		}
	}
	if !decided.Time.IsZero() {
		tr.decide(decided, decided.Outcome)
	}
	if tr.fault == "refuse-new" {
		stay = 12 * time.Second // the replicas are asked again every 10 s
	}
	time.Sleep(stay)
	if tr.want == leavesAlone {
		tr.never("an alert", tr.since(event(failover.Alerted)))
	}
	if len(tr.outcomes) == 0 {
		tr.never("another outcome than ok", tr.since(func(n Notice) bool {
			// Clients that wait for a lock may take all connections.
			crowded := tr.fault == "locked" && n.Outcome == rules.TooManyConnections
			return n.Kind == "probe" && n.Node == tr.judgedNode() && n.Outcome != rules.OK && !crowded
		}))
	}
}

// recorded is what is judged of a decision in the journal.
type recorded struct {
	Kind    failover.Kind   `json:"decision"`
	Text    string          `json:"text"`
	Reason  failover.Reason `json:"reason"`
	Outcome rules.Outcome   `json:"outcome"`
}

// why checks that the journal names the real cause.
func (tr *trial) why() {
	tr.t.Helper()
	if len(tr.outcomes) == 0 {
		tr.row.why = cmp.Or(tr.row.why, "nothing to decide")
		return
	}
	var last recorded
	query := journal.Query{Kinds: []journal.Kind{journal.Decision}, Node: tr.judgedNode(), Since: tr.began, Until: tr.healed}
	for r, err := range journal.Read(tr.t.Context(), tr.dir, query) {
		if err != nil {
			tr.t.Fatal(err)
		}
		var d recorded
		if err := json.Unmarshal(r.Data, &d); err != nil {
			tr.t.Fatal(err)
		}
		switch {
		case d.Text == "": // how an operation ended
		case tr.want == actsOn && d.Kind != failover.FailoverDecided: // before and after the failover
		default:
			last = d
		}
	}
	if tr.want == maybeActs && last.Text == "" {
		return
	}
	tr.row.why = last.Text
	if !slices.Contains(tr.outcomes, last.Outcome) && (tr.fault != "flapping" || last.Outcome != rules.OK) {
		tr.t.Errorf("the last decision %q is about %s, want one of %v", last.Text, last.Outcome, tr.outcomes)
	}
	switch {
	case tr.want == actsOn && !strings.Contains(last.Text, last.Outcome.String()):
		tr.t.Errorf("the decision does not name its cause: %q", last.Text)
	case tr.want == holdsBack && last.Reason != tr.reason:
		tr.t.Errorf("the last decision is %q, want a hold for %s", last.Text, tr.reason)
	}
}

func (tr *trial) byName(name string) *sandbox.Node {
	for _, n := range tr.cluster.Nodes() {
		if n.Name() == name {
			return n
		}
	}
	tr.t.Fatalf("no node %q", name)
	return nil
}

// living are the nodes that run in the end.
func (tr *trial) living() []*sandbox.Node {
	nodes := tr.cluster.Nodes()
	if tr.ruins {
		nodes = nodes[1:]
	}
	return nodes
}

func (tr *trial) isBroken(n *sandbox.Node) bool {
	return slices.ContainsFunc(tr.broken, func(a *sandbox.Active) bool { return a.Node == n })
}

// complain fails with what is still said after the limit.
func (tr *trial) complain(limit time.Duration, complaint func() string) {
	tr.t.Helper()
	if text := eventually(limit, complaint); text != "" {
		tr.t.Errorf("after %s: %s", limit, text)
	}
}

// awaitAck waits for a row that was sent after a moment and acknowledged.
func (tr *trial) awaitAck(after time.Time) sandbox.Ack {
	tr.t.Helper()
	for deadline := time.Now().Add(matrixWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if a, ok := tr.writer.FirstAck(after); ok {
			return a
		}
	}
	tr.t.Fatalf("no write is acknowledged within %s", matrixWait)
	return sandbox.Ack{}
}

// findingText is what the survey says of a node under the case's rule.
func (tr *trial) findingText(ctx context.Context, node string) string {
	var text string
	tr.watcher.ask(ctx, func() { text = findingOf(tr.watcher.topo, tr.watcher.choice, node, tr.finding) })
	return cmp.Or(text, tr.row.why)
}

func findingOf(topo topology.Topology, choice topology.Choice, node, rule string) string {
	for _, f := range topo.Findings {
		if f.Node == node && f.Rule == rule {
			return f.Text
		}
	}
	for _, v := range choice.Verdicts {
		for _, r := range v.Rejections {
			if v.Node == node && r.Rule == rule {
				return r.Reason
			}
		}
	}
	return ""
}

// awaitFinding waits until the survey has seen what ails a replica.
func (tr *trial) awaitFinding(node string) {
	tr.t.Helper()
	if tr.finding == "" {
		tr.finding = map[string]string{"io-stopped": "io_stopped", "sql-error": "sql_stopped", "delayed": "delayed", "errant": "errant"}[tr.fault]
	}
	tr.complain(matrixWait, func() string {
		if tr.row.why = tr.findingText(tr.t.Context(), node); tr.row.why == "" {
			return fmt.Sprintf("no finding %s about %s", tr.finding, node)
		}
		return ""
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
