package commands

import (
	"context"
	"errors"
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
	process *running
	out     *output
}

// prepareFakes starts clusters of fakes and writes a configuration for them.
func prepareFakes(t testing.TB, clusters int) *manyWatched {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback interface, and /proc")
	}
	m := &manyWatched{t: t, fakes: startFakes(t, clusters), dir: t.TempDir(), metrics: freeAddress(t)}
	m.configure(func(text string) string { return text })
	return m
}

// configure writes the configuration with a change.
func (m *manyWatched) configure(change func(string) string) {
	m.t.Helper()
	text := change(m.fakes.config(filepath.Join(m.dir, "state"), m.metrics))
	if err := os.WriteFile(m.config(), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *manyWatched) config() string { return filepath.Join(m.dir, "failwise.yaml") }

// start starts the watcher of all clusters.
func (m *manyWatched) start() {
	m.t.Helper()
	m.process = m.run("watch", "--all")
	m.out = m.process.out
}

func (m *manyWatched) says(text string) {
	m.t.Helper()
	m.process.says(text)
}

func (m *manyWatched) command(args ...string) *exec.Cmd {
	cmd := exec.Command("failwise", append([]string{"--config", m.config()}, args...)...)
	cmd.Env = append(os.Environ(), "FAILWISE_PASSWORD=secret")
	return cmd
}

// run starts a command.
func (m *manyWatched) run(args ...string) *running {
	m.t.Helper()
	r := &running{t: m.t, cmd: m.command(args...), out: &output{}, done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	m.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
	})
	return r
}

// must runs a command that has to end with a code and say something.
func (m *manyWatched) must(code int, says string, args ...string) {
	m.t.Helper()
	b, err := m.command(args...).CombinedOutput()
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		m.t.Fatal(err)
	}
	if got != code || !strings.Contains(string(b), says) {
		m.t.Errorf("failwise %s: exit %d, want %d and %q in:\n%s", strings.Join(args, " "), got, code, says, b)
	}
}

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

// sample reads the metrics some times and keeps the least: probes in flight and what
// they need come and go, what is kept stays.
func (m *manyWatched) sample() processSample {
	m.t.Helper()
	s := m.scrape()
	for range 20 {
		time.Sleep(500 * time.Millisecond)
		next := m.scrape()
		next.heap, next.goroutines = min(next.heap, s.heap), min(next.goroutines, s.goroutines)
		s = next
	}
	return s
}

// scrape reads the metrics once. On a machine that is very busy the answer may be
// cut off by its time limit: the next one counts.
func (m *manyWatched) scrape() processSample {
	m.t.Helper()
	var s processSample
	var err error
	for range 20 {
		if s.page, err = m.page(); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.out)
	}
	s.at = time.Now()
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
	s.cpu, s.resident, s.heap = value("process_cpu_seconds_total"), value("process_resident_memory_bytes"), value("go_memstats_next_gc_bytes")/2
	// The next collection is due when the heap has doubled: half of that is what the
	// last one has left.
	s.goroutines, s.threads, s.fds = value("go_goroutines"), value("go_threads"), value("process_open_fds")
	return s
}

func (m *manyWatched) page() (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metrics+"/metrics", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	return string(page), err
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
		time.Sleep(time.Second)
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
	m.process.signal(syscall.SIGTERM)
	if code := m.process.ends(); code != 0 {
		m.t.Errorf("exit code %d\n%s", code, m.out)
	}
}
