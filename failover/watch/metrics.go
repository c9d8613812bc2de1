package watch

import (
	"context"
	"io"
	"sync"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/rules"
)

// metric is one metric: its name without the prefix failwise_, its type, its
// labels beside the cluster, and what it says.
type metric struct {
	name, kind string
	labels     []string
	help       string
}

// The metrics. Those of the present state are gauges that a scrape fills.
var (
	probesTotal     = metric{"probes_total", "counter", []string{"node", "type", "outcome"}, "Probes that ended."}
	probeSeconds    = metric{"probe_seconds", "histogram", []string{"node", "type"}, "How long probes took."}
	operationsTotal = metric{"operations_total", "counter", []string{"operation", "result"}, "Failovers, switches and recovers that ended, by result."}
	operationTook   = metric{"operation_seconds", "histogram", []string{"operation"}, "How long operations took in all."}
	firstWrite      = metric{"first_write_seconds", "histogram", []string{"operation"}, "From the start of an operation to the first committed write on the new primary."}

	watcherAnswers = metric{"watcher_answers", "gauge", nil, "1 while the loop answers within a second."}
	coordinator    = metric{"coordinator", "gauge", nil, "1 while this watcher may act."}
	policyIs       = metric{"policy", "gauge", []string{"policy"}, "1 for the policy that holds."}
	nodeStage      = metric{"node_stage", "gauge", []string{"node", "role", "stage"}, "1 for the stage that each node is in."}
	nodeState      = metric{"node_state", "gauge", []string{"node", "state"}, "1 for the state that each node is in."}
	alarmTicks     = metric{"alarm_ticks", "gauge", []string{"node", "outcome"}, "Ticks counted by each running alarm."}
	alarmExpires   = metric{"alarm_expires_in_seconds", "gauge", []string{"node", "outcome", "action"}, "Time to the expiry of each running alarm."}
	holdSeconds    = metric{"hold_seconds", "gauge", []string{"node", "reason"}, "How long a node has been held, by reason."}
	replicaLag     = metric{"replica_lag_seconds", "gauge", []string{"node"}, "Lag as the replica tells it; missing where it is unknown."}
	quotaUsed      = metric{"quota_used", "gauge", nil, "Automatic failovers since the last refill of the quota."}
	journalDropped = metric{"journal_dropped_total", "counter", nil, "Journal records lost to a slow or full disk."}
	tickAge        = metric{"last_tick_age_seconds", "gauge", nil, "Time since the loop last judged."}
	candidateIs    = metric{"candidate", "gauge", []string{"node"}, "1 for the node that would be promoted."}
)

// Metrics counts what a watcher sees and does, for Prometheus. Make it with
// [NewMetrics] and put it into the watcher's [Config].
type Metrics struct {
	cluster string
	*counts
}

// counts are the counters of all clusters that are served together.
type counts struct {
	mu sync.Mutex
	exposition
}

// NewMetrics makes the counters of a cluster.
func NewMetrics(cluster string) *Metrics { return &Metrics{cluster: cluster, counts: &counts{}} }

// For makes the counters of another cluster, which are served together with m's.
// The counters of nil are nil: nothing is counted.
func (m *Metrics) For(cluster string) *Metrics {
	if m == nil {
		return nil
	}
	return &Metrics{cluster: cluster, counts: m.counts}
}

// Buckets of the histograms, in seconds: the first of fourteen, each twice the one
// before.
const (
	probeBuckets     = 0.0005
	operationBuckets = 0.02
	writeBuckets     = 0.01
)

func (m *Metrics) probe(node string, r check.Result) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(probesTotal, m.cluster, node, r.Type.String(), r.Outcome.String())
	m.observe(probeSeconds, r.Elapsed, probeBuckets, m.cluster, node, r.Type.String())
}

func (m *Metrics) operation(kind string, failed bool, took, first time.Duration) {
	if m == nil {
		return
	}
	result := "done"
	if failed {
		result = "failed"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(operationsTotal, m.cluster, kind, result)
	m.observe(operationTook, took, operationBuckets, m.cluster, kind)
	if first > 0 {
		m.observe(firstWrite, first, writeBuckets, m.cluster, kind)
	}
}

// write writes what was counted so far.
func (m *Metrics) write(out io.Writer) {
	if m == nil {
		return
	}
	// Neither a slow scraper nor a long page may hold up a probe.
	m.mu.Lock()
	page := m.copy()
	m.mu.Unlock()
	page.write(out)
}

// scrapeLimit bounds the loop's answer to a scrape.
const scrapeLimit = time.Second

// Write writes the counters and the present state of the watchers that count with
// m, in Prometheus' text format.
func (m *Metrics) Write(ctx context.Context, out io.Writer, watchers ...*Watcher) {
	m.write(out)
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	type answer struct {
		Snapshot
		err error
	}
	answers := make([]answer, len(watchers))
	var all sync.WaitGroup
	for i, w := range watchers {
		all.Go(func() { answers[i].Snapshot, answers[i].err = w.Snapshot(ctx) })
	}
	all.Wait()
	var g gauges
	for i, w := range watchers {
		g.cluster = w.cfg.Cluster
		g.add(watcherAnswers, one(answers[i].err == nil))
		if answers[i].err == nil {
			g.snapshot(answers[i].Snapshot)
		}
	}
	g.write(out)
}

// gauges are the samples of the present state of clusters.
type gauges struct {
	exposition
	cluster string // whose samples are added
}

func (g *gauges) add(m metric, value float64, labels ...string) {
	g.set(m, value, append([]string{g.cluster}, labels...)...)
}

func (g *gauges) snapshot(s Snapshot) {
	g.add(coordinator, one(s.Engine.Coordinator))
	for _, p := range []failover.Policy{failover.Automatic, failover.Manual, failover.Maintenance} {
		g.add(policyIs, one(p == s.Engine.Policy.Policy), p.String())
	}
	g.add(quotaUsed, float64(s.Engine.QuotaUsed))
	g.add(journalDropped, float64(s.Journal.Dropped))
	g.add(tickAge, s.TickAge.Seconds())
	if s.Winner != "" {
		g.add(candidateIs, 1, s.Winner)
	}
	for _, n := range s.Engine.Nodes {
		g.add(nodeStage, 1, n.Name, n.Role.String(), n.Stage.String())
		if n.State != rules.StateUnset {
			g.add(nodeState, 1, n.Name, n.State.String())
		}
		for _, a := range n.Alarms {
			g.add(alarmTicks, float64(a.Count), n.Name, a.Outcome.String())
			if a.Left != nil && a.Running {
				g.add(alarmExpires, a.Left.Seconds(), n.Name, a.Outcome.String(), a.Action.String())
			}
		}
		if n.Hold != nil {
			g.add(holdSeconds, n.Hold.Since.Seconds(), n.Name, n.Hold.Reason.String())
		}
	}
	for _, n := range s.Nodes {
		if n.Lag != nil {
			g.add(replicaLag, *n.Lag, n.Name)
		}
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
