package watch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// descriptions are the metrics of a watcher: name to labels.
func descriptions(t *testing.T) map[string]string {
	t.Helper()
	to := make(chan *prometheus.Desc, 100)
	for _, c := range append(NewMetrics("shop").Collectors(), (&Watcher{cfg: Config{Cluster: "shop"}}).Collector()) {
		c.Describe(to)
	}
	close(to)
	form := regexp.MustCompile(`fqName: "([a-z_]+)".*constLabels: \{cluster="shop"\}, variableLabels: \{([a-z_,]*)\}`)
	found := map[string]string{}
	for d := range to {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		found[m[1]] = m[2]
	}
	return found
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
	real := descriptions(t)
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
