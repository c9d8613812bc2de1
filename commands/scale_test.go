package commands

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestScale fails a tenth of many fake nodes at random and looks whether any node
// waits for its probe, and whether the watcher grows. FAILWISE_MATRIX=full makes it the
// whole run of 300 clusters and five minutes.
func TestScale(t *testing.T) {
	clusters, lasts := 60, 25*time.Second
	whole := os.Getenv("FAILWISE_MATRIX") == "full"
	switch {
	case whole:
		clusters, lasts = 300, 5*time.Minute
	case testing.Short():
		t.Skip("takes 45 s")
	}
	m := prepareFakes(t, clusters)
	m.start()
	m.healthy()
	m.fakes.say("restart")
	time.Sleep(5 * time.Second)
	calm := m.fakes.say("report")
	before := m.sample()
	m.fakes.say("chaos")
	time.Sleep(lasts)
	during := m.scrape()
	m.fakes.say("calm")
	m.healthy()
	time.Sleep(5 * time.Second)
	stormy := m.fakes.say("report")
	after := m.sample()
	m.stop()

	const interval, budget = time.Second, 5 * time.Second
	seconds := during.at.Sub(before.at).Seconds()
	t.Logf("%d clusters, %d probes: longest time between probes %s when calm, %s in all (%s); the machine was late by %s; faults %v",
		clusters, stormy.Probes, calm.Gap, stormy.Gap, stormy.GapOf, stormy.Starved, stormy.Faults)
	t.Logf("%.1f %% of a core while a tenth fails; %.0f MB resident, %.0f threads, %.0f files", 100*(during.cpu-before.cpu)/seconds, during.resident/1e6, during.threads, during.fds)
	t.Logf("heap %.1f MB before, %.1f MB after; goroutines %.0f before, %.0f after", before.heap/1e6, after.heap/1e6, before.goroutines, after.goroutines)
	// Two processes are late where the machine is.
	if late := stormy.Gap - interval; late > budget+time.Second+2*stormy.Starved {
		t.Errorf("a probe of %s was %s late, the machine %s", stormy.GapOf, late, stormy.Starved)
	}
	if want, got := int(seconds)*clusters*3/2, stormy.Probes-calm.Probes; got < want {
		t.Errorf("only %d probes, want more than %d", got, want)
	}
	if len(stormy.Faults) == 0 {
		t.Error("no node was made to fail")
	}
	if limit := 1.1*before.goroutines + 20; after.goroutines > limit {
		t.Errorf("%.0f goroutines, %.0f before", after.goroutines, before.goroutines)
	}
	if limit := 1.3*before.heap + 8e6; after.heap > limit {
		t.Errorf("%.1f MB of heap, %.1f MB before", after.heap/1e6, before.heap/1e6)
	}
	// Half a core is the goal, and about what it takes; a busy machine makes it a bit
	// more.
	if whole && (during.cpu-before.cpu)/seconds > 0.6 {
		t.Errorf("much more than half a core")
	}
}

// BenchmarkWatch measures what a process that watches calm clusters costs: percent
// of one core and resident megabytes. The fakes run in another process.
func BenchmarkWatch(b *testing.B) {
	for _, clusters := range []int{1, 30, 300} {
		b.Run(fmt.Sprintf("clusters=%d", clusters), func(b *testing.B) {
			m := prepareFakes(b, clusters)
			m.start()
			m.healthy()
			time.Sleep(5 * time.Second)
			before := m.fakes.say("restart")
			first := m.scrape()
			time.Sleep(30 * time.Second)
			last := m.scrape()
			report := m.fakes.say("report")
			seconds := last.at.Sub(first.at).Seconds()
			m.stop()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(100*(last.cpu-first.cpu)/seconds, "%core")
			b.ReportMetric(float64(report.Probes-before.Probes)/seconds, "probes/s")
			b.ReportMetric(last.resident/1e6, "RSS-MB")
			b.ReportMetric(last.goroutines, "goroutines")
			b.ReportMetric(last.threads, "threads")
			b.ReportMetric(last.fds, "files")
			b.ReportMetric(report.Gap.Seconds(), "longest-gap-s")
			b.ReportMetric(report.Starved.Seconds(), "machine-late-s")
		})
	}
}
