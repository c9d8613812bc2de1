package watch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"failwise/check"
	"failwise/failover"
	"failwise/rules"
)

// Metrics counts what a watcher sees and does, for Prometheus. Make it with
// [NewMetrics], put it into the watcher's [Config], and register it together with
// [Watcher.Collector].
type Metrics struct {
	probes     *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	operations *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	firstWrite *prometheus.HistogramVec
}

// NewMetrics makes the counters of a cluster.
func NewMetrics(cluster string) *Metrics {
	label := prometheus.Labels{"cluster": cluster}
	return &Metrics{
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "failwise_probes_total", Help: "Probes that ended, by node, type and outcome.", ConstLabels: label,
		}, []string{"node", "type", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "failwise_probe_seconds", Help: "How long probes took.", ConstLabels: label,
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"node", "type"}),
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "failwise_operations_total", Help: "Failovers, switches and recovers that ended, by result.", ConstLabels: label,
		}, []string{"operation", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "failwise_operation_seconds", Help: "How long operations took in all.", ConstLabels: label,
			Buckets: prometheus.ExponentialBuckets(0.02, 2, 14),
		}, []string{"operation"}),
		firstWrite: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "failwise_first_write_seconds", Help: "From the start of an operation to the first committed write on the new primary.",
			ConstLabels: label, Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		}, []string{"operation"}),
	}
}

// Collectors are the counters, to be registered.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.probes, m.latency, m.operations, m.durations, m.firstWrite}
}

func (m *Metrics) probe(node string, r check.Result) {
	if m == nil {
		return
	}
	m.probes.WithLabelValues(node, r.Type.String(), r.Outcome.String()).Inc()
	m.latency.WithLabelValues(node, r.Type.String()).Observe(r.Elapsed.Seconds())
}

func (m *Metrics) operation(kind string, failed bool, took, firstWrite time.Duration) {
	if m == nil {
		return
	}
	result := "done"
	if failed {
		result = "failed"
	}
	m.operations.WithLabelValues(kind, result).Inc()
	m.durations.WithLabelValues(kind).Observe(took.Seconds())
	if firstWrite > 0 {
		m.firstWrite.WithLabelValues(kind).Observe(firstWrite.Seconds())
	}
}

// scrapeLimit bounds the loop's answer to a scrape.
const scrapeLimit = time.Second

// collector gives the present state as gauges, read from a snapshot at each
// scrape.
type collector struct {
	w *Watcher

	up, coordinator, policy, stage, state, alarm, expiry, hold, lag, quota, dropped, tickAge, candidate *prometheus.Desc
}

// Collector gives the watcher's present state, to be registered.
func (w *Watcher) Collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("failwise_"+name, help, labels, prometheus.Labels{"cluster": w.cfg.Cluster})
	}
	return &collector{
		w:           w,
		up:          desc("watcher_answers", "1 while the loop answers within a second."),
		coordinator: desc("coordinator", "1 while this watcher may act."),
		policy:      desc("policy", "1 for the policy that holds.", "policy"),
		stage:       desc("node_stage", "1 for the stage that each node is in.", "node", "role", "stage"),
		state:       desc("node_state", "1 for the state that each node is in.", "node", "state"),
		alarm:       desc("alarm_ticks", "Ticks counted by each running alarm.", "node", "outcome"),
		expiry:      desc("alarm_expires_in_seconds", "Time to the expiry of each running alarm.", "node", "outcome", "action"),
		hold:        desc("hold_seconds", "How long a node has been held, by reason.", "node", "reason"),
		lag:         desc("replica_lag_seconds", "Lag as the replica tells it; missing where it is unknown.", "node"),
		quota:       desc("quota_used", "Automatic failovers since the last refill of the quota."),
		dropped:     desc("journal_dropped_total", "Journal records lost to a slow or full disk."),
		tickAge:     desc("last_tick_age_seconds", "Time since the loop last judged."),
		candidate:   desc("candidate", "1 for the node that would be promoted.", "node"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.coordinator, c.policy, c.stage, c.state, c.alarm, c.expiry, c.hold, c.lag, c.quota, c.dropped, c.tickAge, c.candidate} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	s, err := c.w.Snapshot(ctx)
	if err != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	gauge(c.coordinator, one(s.Engine.Coordinator))
	for _, p := range []failover.Policy{failover.Automatic, failover.Manual, failover.Maintenance} {
		gauge(c.policy, one(p == s.Engine.Policy.Policy), p.String())
	}
	gauge(c.quota, float64(s.Engine.QuotaUsed))
	to <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(s.Journal.Dropped))
	gauge(c.tickAge, s.TickAge.Seconds())
	if s.Winner != "" {
		gauge(c.candidate, 1, s.Winner)
	}
	for _, n := range s.Engine.Nodes {
		gauge(c.stage, 1, n.Name, n.Role.String(), n.Stage.String())
		if n.State != rules.StateUnset {
			gauge(c.state, 1, n.Name, n.State.String())
		}
		for _, a := range n.Alarms {
			gauge(c.alarm, float64(a.Count), n.Name, a.Outcome.String())
			if a.Left != nil && a.Running {
				gauge(c.expiry, a.Left.Seconds(), n.Name, a.Outcome.String(), a.Action.String())
			}
		}
		if n.Hold != nil {
			gauge(c.hold, n.Hold.Since.Seconds(), n.Name, n.Hold.Reason.String())
		}
	}
	for _, n := range s.Nodes {
		if n.Lag != nil {
			gauge(c.lag, *n.Lag, n.Name)
		}
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
