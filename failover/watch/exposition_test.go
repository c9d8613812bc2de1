package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExpositionKeepsTheSeriesOfAMetricTogether(t *testing.T) {
	var e exposition
	e.count(probesTotal, "shop", "db1", "connect", "ok")
	e.set(quotaUsed, 2, "shop")
	e.count(probesTotal, "shop", "db2", "connect", "ok")
	e.count(probesTotal, "shop", "db1", "connect", "ok")
	e.set(quotaUsed, 1.5, "shop")
	var out strings.Builder
	e.write(&out)
	want := `# HELP failwise_probes_total Probes that ended.
# TYPE failwise_probes_total counter
failwise_probes_total{cluster="shop",node="db1",type="connect",outcome="ok"} 2
failwise_probes_total{cluster="shop",node="db2",type="connect",outcome="ok"} 1
# HELP failwise_quota_used Automatic failovers since the last refill of the quota.
# TYPE failwise_quota_used gauge
failwise_quota_used{cluster="shop"} 1.5
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestExpositionHistogramCountsUpToEachBound(t *testing.T) {
	var e exposition
	for _, took := range []time.Duration{0, 500 * time.Microsecond, 501 * time.Microsecond, 3 * time.Millisecond, time.Minute} {
		e.observe(probeSeconds, took, probeBuckets, "shop", "db1", "connect")
	}
	var out strings.Builder
	e.write(&out)
	for _, want := range []string{
		`# TYPE failwise_probe_seconds histogram`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="0.0005"} 2`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="0.001"} 3`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="0.002"} 3`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="0.004"} 4`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="4.096"} 4`,
		`failwise_probe_seconds_bucket{cluster="shop",node="db1",type="connect",le="+Inf"} 5`,
		`failwise_probe_seconds_sum{cluster="shop",node="db1",type="connect"} 60.004001`,
		`failwise_probe_seconds_count{cluster="shop",node="db1",type="connect"} 5`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("missing %s in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "_bucket{"); n != buckets+1 {
		t.Errorf("%d buckets, want %d and the one above", n, buckets)
	}
}
