package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// deepEvery is how often a survey also reads what is purged from binary logs.
const deepEvery = 12

// known is what surveys have told the engine, so that only changes are told.
type known struct {
	eligible map[string]string // why a replica is not; empty is eligible
	findings string
	roles    string
	// connected is when a replica's IO thread was last seen connected.
	connected map[string]time.Time
	// quiet is, by replica, the first reading since which its channel has heard
	// nothing.
	quiet map[string]quiet
	lag   map[string]mysql.Fact[time.Duration]
	// acknowledges tells which nodes were last seen to acknowledge commits.
	acknowledges map[string]bool
	// episode is when a node's first alarm since it was last well was raised.
	episode map[string]time.Time
	// identity is who each node said it is when it was last read.
	identity map[string]string
	// fenced are old primaries that were set read-only since they were last down.
	fenced map[string]bool
}

// seen is the primary at the last good look.
type seen struct {
	primary string
	promote.Seen
}

// survey asks for a reading of the topology soon.
func (w *Watcher) survey() {
	select {
	case w.surveyed <- struct{}{}:
	default:
	}
}

// surveys reads the topology every few seconds and when asked, until ctx ends.
func (w *Watcher) surveys(ctx context.Context) {
	timer := time.NewTimer(surveyEvery)
	defer timer.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-w.surveyed:
		case <-timer.C:
		}
		began := w.since()
		readings := w.reader.ReadEach(ctx, n%deepEvery == 0, func(r topology.Reading) { w.send(func() { w.hear(r) }) })
		if ctx.Err() != nil || !w.send(func() { w.take(ctx, began, readings) }) {
			return
		}
		timer.Reset(surveyEvery)
	}
}

// hear notes what a replica has heard as soon as it is read: the survey itself may
// have to wait for a primary that hangs, just when the replicas' silence counts.
func (w *Watcher) hear(r topology.Reading) {
	before, ok := w.topo.Node(r.Name)
	if !ok {
		return
	}
	known, ok := before.Channel(w.topo.Primary)
	if !ok {
		return
	}
	for _, c := range r.Status.Channels.Or(nil) {
		if c.Name == known.Name {
			w.known.listen(r.Name, c, r.Status.ReadAt)
		}
	}
}

// take makes facts of a reading that began at a time. While an operation runs,
// roles are in flux and are left alone; a reading from then would name the old
// primary again.
func (w *Watcher) take(ctx context.Context, began time.Duration, readings []topology.Reading) {
	if w.running != nil {
		return
	}
	if began < w.settledAt {
		w.survey()
		return
	}
	w.memory.Deposed = deposed(w.engine.State(w.now).Shunned)
	w.topo = topology.Judge(readings, w.memory, time.Now())
	if m, ok := w.topo.Remember(w.memory); ok {
		w.memory = m
	}
	if w.topo.Primary == w.known.roles && !w.topo.PrimaryDead {
		w.alike = nil
	}
	w.remember()
	w.takeRoles()
	w.takeEligible()
	w.report()
	w.mend(ctx)
	w.watchPrimary(ctx)
	w.keepSecond(ctx)
}

// deposed are the old primaries among shunned nodes, with their successors.
func deposed(shunned map[string]failover.Shun) map[string]string {
	list := map[string]string{}
	for name, s := range shunned {
		if s.FailedOverTo != "" {
			list[name] = s.FailedOverTo
		}
	}
	return list
}

// keepSecond keeps the second sessions of the primary and of the next one connected
// while they are well: once a server hangs nobody can log in any more, and a fence that
// is sent over an open session takes effect the moment it goes on.
func (w *Watcher) keepSecond(ctx context.Context) {
	for _, m := range []*member{w.primary(), w.member(w.choice.Winner)} {
		if m == nil || m.outcome != rules.OK && m.outcome != rules.Undefined {
			continue
		}
		w.beside(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = m.second.Connect(ctx) // the next survey tries again
		})
	}
}

// remember keeps what the primary had while it was well, and when replicas were
// connected.
func (w *Watcher) remember() {
	if p, ok := w.topo.Node(w.topo.Primary); ok && p.Readable() {
		s := promote.Seen{Progress: p.Status.Progress()}
		if semi, ok := p.Status.SemiSync.Get(); ok {
			w.semiSyncOwed = w.semiSyncOwed && !semi.SourceEnabled
			s.SemiSyncEnabled, s.SemiSync = semi.SourceEnabled || w.semiSyncOwed, semi.SourceEnabled && semi.SourceActive
			s.WaitCount = int(semi.WaitCount)
		} else if before := w.seen; before.primary == p.Name {
			// It died while it was read.
			s.SemiSyncEnabled, s.SemiSync, s.WaitCount = before.SemiSyncEnabled, before.SemiSync, before.WaitCount
		}
		s.SemiSyncReplicas = w.acknowledgers(p.Name)
		w.seen = seen{primary: p.Name, Seen: s}
	}
	k := &w.known
	if k.connected == nil {
		k.connected = map[string]time.Time{}
	}
	k.lag = map[string]mysql.Fact[time.Duration]{}
	if k.identity == nil {
		k.identity = map[string]string{}
	}
	for _, n := range w.topo.Nodes {
		if n.Readable() {
			k.identity[n.Name] = n.Status.Identity()
		}
		if c, ok := n.Channel(w.topo.Primary); ok {
			k.lag[n.Name] = c.Lag
			if c.IO == mysql.ThreadYes {
				k.connected[n.Name] = n.Status.ReadAt
			}
			k.listen(n.Name, c, n.Status.ReadAt)
		}
	}
}

// quiet is a reading of a channel, made at since.
type quiet struct {
	channel mysql.Channel
	since   time.Time
}

// listen notes since when a replica's channel has heard nothing.
func (k *known) listen(replica string, c mysql.Channel, at time.Time) {
	if k.quiet == nil {
		k.quiet = map[string]quiet{}
	}
	if q, ok := k.quiet[replica]; ok && c.SilentSince(q.channel) {
		return
	}
	k.quiet[replica] = quiet{c, at}
}

// acknowledgers counts the replicas of the primary that acknowledge its commits. One
// that cannot be read now may still do so, unseen, and counts as it was.
func (w *Watcher) acknowledgers(primary string) int {
	k := &w.known
	if k.acknowledges == nil {
		k.acknowledges = map[string]bool{}
	}
	count := 0
	for _, n := range w.topo.Nodes {
		if semi, ok := n.Status.SemiSync.Get(); ok {
			k.acknowledges[n.Name] = semi.ReplicaEnabled && semi.ReplicaActive
		}
		if n.Name != primary && k.acknowledges[n.Name] {
			count++
		}
	}
	return count
}

// engineNodes are the nodes with the roles of the topology.
func (w *Watcher) engineNodes(primary string) []failover.Node {
	nodes := make([]failover.Node, len(w.members))
	for i, m := range w.members {
		nodes[i] = failover.Node{Name: m.Name, Local: isLocal(m.Monitor.Address)}
		if m.Name == primary {
			nodes[i].Role = failover.Primary
		}
	}
	return nodes
}

// noPrimary is [ErrPrimary] with what keeps the primary from being certain.
func (w *Watcher) noPrimary() error {
	for _, f := range w.topo.Findings {
		if f.Holds {
			return fmt.Errorf("%w: %s", ErrPrimary, f.Text)
		}
	}
	return ErrPrimary
}

// primary is the engine's primary, nil if there is none.
func (w *Watcher) primary() *member {
	return w.member(w.known.roles)
}

// takeRoles tells the engine of a primary that was changed behind its back, only
// when it lives: a dead one is no news about roles.
func (w *Watcher) takeRoles() {
	next := w.topo.Primary
	if next == "" || next == w.known.roles || w.topo.PrimaryDead && w.known.roles != "" {
		return
	}
	w.note(slog.LevelWarn, next, "is the primary now, in place of %s: somebody else changed it", orNone(w.known.roles))
	w.setPrimary(next)
	w.tell(failover.NodesAre(w.engineNodes(next)))
}

// setPrimary notes who the primary is.
func (w *Watcher) setPrimary(name string) {
	w.known.roles = name
	w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Topology, Node: name, Message: name + " is the primary", Data: journal.Data(primaryRecord{name})})
}

// primaryRecord is a change of the primary in the journal.
type primaryRecord struct {
	Primary string `json:"primary"`
}

// takeEligible judges the candidates and tells the engine what changed.
func (w *Watcher) takeEligible() {
	w.choice = topology.Choose(w.contest())
	if w.known.eligible == nil {
		w.known.eligible = map[string]string{}
	}
	for _, v := range w.choice.Verdicts {
		why := ""
		switch {
		case !v.Eligible:
			why = v.Rejections[0].Reason
		case w.choice.Winner == "":
			why = w.choice.Refusal
		}
		if before, told := w.known.eligible[v.Node]; told && before == why {
			continue
		}
		w.known.eligible[v.Node] = why
		w.tell(failover.EligibleIs(v.Node, why == "", why))
	}
}

// contest is the question who may be promoted, with what the engine knows.
func (w *Watcher) contest() topology.Contest {
	c := topology.Contest{
		Topology: w.topo, OldPrimary: w.known.roles, Shunned: map[string]string{}, InMaintenance: map[string]string{}, Alike: w.alike,
	}
	if w.seen.primary == w.known.roles {
		c.OldProgress = w.seen.Progress
	}
	if w.engine == nil {
		return c
	}
	for _, n := range w.engine.Snapshot(w.now).Nodes {
		if n.Stage == failover.Shunned {
			c.Shunned[n.Name] = n.Shunned
		}
		if n.Maintenance {
			c.InMaintenance[n.Name] = ""
		}
	}
	return c
}

// report says what is not as it should be, once.
func (w *Watcher) report() {
	var lines []string
	for _, f := range w.topo.Findings {
		if f.Rule == "unreadable" {
			continue // the probes say so, and better
		}
		lines = append(lines, f.Node+": "+f.Text)
	}
	now := strings.Join(lines, "\n")
	if now == w.known.findings {
		return
	}
	old := strings.Split(w.known.findings, "\n")
	w.known.findings = now
	for _, f := range w.topo.Findings {
		if f.Rule == "unreadable" || slices.Contains(old, f.Node+": "+f.Text) {
			continue
		}
		level := slog.LevelWarn
		if f.Holds {
			level = slog.LevelError
		}
		w.notice(Notice{Level: level, Kind: "topology", Node: f.Node, Text: f.Text + "; fix: " + f.Fix})
		w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Topology, Node: f.Node, Message: f.Text, Data: journal.Data(f)})
	}
}
