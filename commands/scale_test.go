package commands

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manyWatched is one process that watches many clusters of fakes.
type manyWatched struct {
	t       testing.TB
	fakes   *fakes
	dir     string
	metrics string
	cmd     *exec.Cmd
	out     *output
	done    chan struct{}
}

// watchFakes starts the fakes and a watcher of all of them.
func watchFakes(t testing.TB, clusters int) *manyWatched {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback interface, and /proc")
	}
	m := &manyWatched{t: t, fakes: startFakes(t, clusters), dir: t.TempDir(), metrics: freeAddress(t), out: &output{}, done: make(chan struct{})}
	if err := os.WriteFile(m.config(), []byte(m.fakes.config(filepath.Join(m.dir, "state"), m.metrics)), 0o600); err != nil {
		t.Fatal(err)
	}
	m.cmd = exec.Command("failwise", "--config", m.config(), "watch", "--all")
	m.cmd.Env = append(os.Environ(), "FAILWISE_PASSWORD=secret")
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill()
		<-m.done
	})
	return m
}

func (m *manyWatched) config() string { return filepath.Join(m.dir, "failwise.yaml") }

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// sample is what a process says of itself.
type processSample struct {
	at                                            time.Time
	cpu, resident, heap, goroutines, threads, fds float64
	page                                          string
}

// sample reads the metrics. The heap is the least of some scrapes: garbage comes and
// goes, what is kept stays.
func (m *manyWatched) sample() processSample {
	m.t.Helper()
	s := m.scrape()
	for range 8 {
		time.Sleep(500 * time.Millisecond)
		next := m.scrape()
		next.heap, next.goroutines = min(next.heap, s.heap), min(next.goroutines, s.goroutines)
		s = next
	}
	return s
}

func (m *manyWatched) scrape() processSample {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metrics+"/metrics", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.out)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	s := processSample{at: time.Now(), page: string(page)}
	value := func(name string) float64 {
		f := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.page)
		if f == nil {
			m.t.Fatalf("no metric %s in\n%.2000s", name, s.page)
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			m.t.Fatal(err)
		}
		return v
	}
	s.cpu, s.resident, s.heap = value("process_cpu_seconds_total"), value("process_resident_memory_bytes"), value("go_memstats_heap_alloc_bytes")
	s.goroutines, s.threads, s.fds = value("go_goroutines"), value("go_threads"), value("process_open_fds")
	return s
}

// healthy waits until the metrics have all nodes online and every cluster with a
// candidate.
func (m *manyWatched) healthy() {
	m.t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		var s processSample
		if m.listens() {
			s = m.scrape()
			online := strings.Count(s.page, `state="online"} 1`)
			candidates := strings.Count(s.page, "\nfailwise_candidate{")
			if online == 3*m.fakes.clusters && candidates == m.fakes.clusters {
				return
			}
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("%d clusters are never all well:\n%s\n%s", m.fakes.clusters, s.page, m.out)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (m *manyWatched) listens() bool {
	c, err := net.Dial("tcp", m.metrics)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// stop ends the watcher and checks that it ends well.
func (m *manyWatched) stop() {
	m.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatal(err)
	}
	select {
	case <-m.done:
	case <-time.After(time.Minute):
		m.t.Fatalf("does not end:\n%s", m.out)
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 0 {
		m.t.Errorf("exit code %d\n%s", code, m.out)
	}
}

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
	m := watchFakes(t, clusters)
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
	stormy := m.fakes.say("report")
	after := m.sample()
	m.stop()

	const interval, budget = time.Second, 5 * time.Second
	seconds := during.at.Sub(before.at).Seconds()
	t.Logf("%d clusters: longest time between probes %s when calm, %s in all (%s); faults %v", clusters, calm.Gap, stormy.Gap, stormy.GapOf, stormy.Faults)
	t.Logf("%.1f %% of a core while a tenth fails; %.0f MB resident, %.0f threads, %.0f files", 100*(during.cpu-before.cpu)/seconds, during.resident/1e6, during.threads, during.fds)
	t.Logf("heap %.1f MB before, %.1f MB after; goroutines %.0f before, %.0f after", before.heap/1e6, after.heap/1e6, before.goroutines, after.goroutines)
	if late := stormy.Gap - interval; late > budget+time.Second {
		t.Errorf("a probe of %s was %s late", stormy.GapOf, late)
	}
	if want := int(seconds) * clusters * 3 / 2; stormy.Probes < want {
		t.Errorf("only %d probes, want more than %d", stormy.Probes, want)
	}
	if limit := 1.1*before.goroutines + 20; after.goroutines > limit {
		t.Errorf("%.0f goroutines, %.0f before", after.goroutines, before.goroutines)
	}
	if limit := 1.3*before.heap + 8e6; after.heap > limit {
		t.Errorf("%.1f MB of heap, %.1f MB before", after.heap/1e6, before.heap/1e6)
	}
	if whole && (during.cpu-before.cpu)/seconds > 0.5 {
		t.Errorf("more than half a core")
	}
}

// BenchmarkWatch measures what a process that watches calm clusters costs: percent
// of one core and resident megabytes. The fakes run in another process.
func BenchmarkWatch(b *testing.B) {
	for _, clusters := range []int{1, 30, 300} {
		b.Run(fmt.Sprintf("clusters=%d", clusters), func(b *testing.B) {
			m := watchFakes(b, clusters)
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
		})
	}
}
