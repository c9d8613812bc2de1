package watch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/rules"
)

// descriptions are the metrics of a watcher: name to labels.
func descriptions() map[string]string {
	found := map[string]string{}
	for _, m := range []metric{
		probesTotal, probeSeconds, operationsTotal, operationTook, firstWrite, watcherAnswers, coordinator, policyIs, nodeStage,
		nodeState, alarmTicks, alarmExpires, holdSeconds, replicaLag, quotaUsed, journalDropped, tickAge, candidateIs,
	} {
		found["failwise_"+m.name] = strings.Join(m.labels, ",")
	}
	return found
}

func TestMetricsOfASnapshotAreWellFormed(t *testing.T) {
	lag, left := 1.5, 30*time.Second
	s := Snapshot{Winner: "db2", Nodes: []NodeView{{Name: "db2", Lag: &lag}}}
	s.Engine.Nodes = []failover.NodeSnapshot{{
		Name: `d"b1`, Role: failover.Primary, Stage: failover.NearlyDown, State: rules.Timeout,
		Alarms: []failover.AlarmStatus{{Outcome: rules.SocketConnectTimeout, Action: rules.Fail, Count: 5, Left: &left, Running: true}},
		Hold:   &failover.HoldStatus{Reason: failover.QuotaUsed, Since: time.Minute},
	}}
	g := gauges{cluster: "shop"}
	g.snapshot(s)
	var out strings.Builder
	g.write(&out)
	line := regexp.MustCompile(`^(# (HELP|TYPE) failwise_\S+ .+|failwise_[a-z_]+\{cluster="shop"(,[a-z]+="([^"\\]|\\.)*")*\} -?[0-9.e+-]+)$`)
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !line.MatchString(l) {
			t.Errorf("not in the text format: %s", l)
		}
	}
	for _, want := range []string{
		`failwise_alarm_expires_in_seconds{cluster="shop",node="d\"b1",outcome="socket_connect_timeout",action="fail"} 30`,
		`failwise_hold_seconds{cluster="shop",node="d\"b1",reason="quota"} 60`,
		`failwise_replica_lag_seconds{cluster="shop",node="db2"} 1.5`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("missing %s in\n%s", want, out.String())
		}
	}
}

func TestMetricsOfSeveralClustersStandTogether(t *testing.T) {
	shop := NewMetrics("shop")
	till := shop.For("till")
	shop.probe("db1", check.Result{Type: check.Connect, Outcome: rules.OK})
	till.probe("db1", check.Result{Type: check.Connect, Outcome: rules.OK})
	till.operation("switch", false, time.Second, time.Millisecond)
	shop.probe("db1", check.Result{Type: check.Connect, Outcome: rules.OK})
	var out strings.Builder
	shop.Write(t.Context(), &out)
	want := `# HELP failwise_probes_total Probes that ended.
# TYPE failwise_probes_total counter
failwise_probes_total{cluster="shop",node="db1",type="connect",outcome="ok"} 2
failwise_probes_total{cluster="till",node="db1",type="connect",outcome="ok"} 1
# HELP`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("page:\n%s\nwant it to begin with\n%s", out.String(), want)
	}
	var none *Metrics
	if none.For("till") != nil {
		t.Error("without metrics another cluster has some")
	}
}

func TestMetricsPageListsEveryMetricWithItsLabels(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(failwise_[a-z_]+)` \\| (?:gauge|counter|histogram) \\| ([^|]*) ?\\|").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = strings.NewReplacer("`", "", " ", "").Replace(row[2])
	}
	real := descriptions()
	for name, labels := range real {
		if got, found := listed[name]; !found || got != labels {
			t.Errorf("docs/metrics.md says %q of %s, its labels are %q", got, name, labels)
		}
	}
	for name := range listed {
		if _, found := real[name]; !found {
			t.Errorf("docs/metrics.md lists %s, which does not exist", name)
		}
	}
	for _, name := range regexp.MustCompile(`failwise_[a-z_]+`).FindAllString(string(page), -1) {
		if _, found := real[name]; !found {
			t.Errorf("docs/metrics.md mentions %s, which does not exist", name)
		}
	}
}
