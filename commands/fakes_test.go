package commands

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"failwise/check/fakeserver"
)

// fakesReport is what the process with the fake servers tells.
type fakesReport struct {
	Probes int `json:"probes"`
	// Gap is the longest time between two probes of a node that could see them.
	Gap time.Duration `json:"gap"`
	// Starved is the longest time that this process was late itself: so long the
	// machine let nobody run in time.
	Starved time.Duration  `json:"starved"`
	GapOf   string         `json:"gap_of"`
	Faults  map[string]int `json:"faults"`
	Unknown map[string]int `json:"unknown"`
}

// runFakes is the process with the fake servers, on whose addresses the process with
// the watcher is tested: fakes CLUSTERS NETWORK. It writes a line when all listen, and
// obeys the lines of its standard input until that ends.
func runFakes() {
	if err := serveFakes(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakes:", err)
		os.Exit(1)
	}
}

// fakesPort is the port of every fake node: their addresses differ.
const fakesPort = 13306

// fakeAddresses are the nodes of a cluster of fakes, in the network 127.N.0.0/16.
func fakeAddresses(network, cluster int) []string {
	var list []string
	for node := range 3 {
		list = append(list, fmt.Sprintf("127.%d.%d.%d:%d", network, cluster/200+1, (cluster%200)+1, fakesPort+node))
	}
	return list
}

func serveFakes(args []string, in io.Reader, out io.Writer) error {
	clusters, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	network, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var nodes []*fakeserver.Node
	defer func() {
		for _, n := range nodes {
			n.Close()
		}
	}()
	for c := range clusters {
		cluster, err := fakeserver.StartCluster(c, c%2 == 1, fakeAddresses(network, c)...)
		if err != nil {
			return err
		}
		nodes = append(nodes, cluster...)
	}
	fmt.Fprintln(out, "ready")
	chaos := newChaos(nodes)
	defer chaos.stop()
	beat := &metronome{last: time.Now()}
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	go func() {
		for range ticker.C {
			beat.tick(time.Now())
		}
	}()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch lines.Text() {
		case "chaos":
			chaos.start()
		case "calm":
			chaos.stop()
		case "restart":
			beat.restart()
			for _, n := range nodes {
				n.Restart(time.Now())
			}
		}
		r := chaos.report()
		r.Starved = beat.worst()
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// beatEvery is the beat of a [metronome].
const beatEvery = 50 * time.Millisecond

// metronome tells how late a process comes to its turn.
type metronome struct {
	mu   sync.Mutex
	last time.Time
	late time.Duration
}

func (m *metronome) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late, m.last = max(m.late, now.Sub(m.last)-beatEvery), now
}

func (m *metronome) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late = 0
}

func (m *metronome) worst() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late
}

// chaos keeps a tenth of the nodes failing, each in a random way for 3 to 20 s.
type chaos struct {
	nodes  []*fakeserver.Node
	quit   chan struct{}
	failed sync.WaitGroup

	mu     sync.Mutex
	faults map[string]int
	errs   []error
}

func newChaos(nodes []*fakeserver.Node) *chaos {
	return &chaos{nodes: nodes, faults: map[string]int{}}
}

func (c *chaos) start() {
	c.quit = make(chan struct{})
	// One of every ten nodes fails at any time, another one at each turn.
	for first := 0; first+10 <= len(c.nodes); first += 10 {
		ten := c.nodes[first : first+10]
		c.failed.Go(func() {
			for c.breakOne(ten[rand.IntN(len(ten))]) {
			}
		})
	}
}

// breakOne lets a node fail for a while; false when the chaos ends.
func (c *chaos) breakOne(n *fakeserver.Node) bool {
	faults := fakeserver.Faults()
	f := faults[rand.IntN(len(faults))]
	c.mu.Lock()
	c.faults[f.String()]++
	c.mu.Unlock()
	c.set(n, f)
	defer c.set(n, fakeserver.NoFault)
	timer := time.NewTimer(time.Duration(3000+rand.IntN(17000)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.quit:
		return false
	}
}

func (c *chaos) set(n *fakeserver.Node, f fakeserver.Fault) {
	if err := n.Set(f); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs = append(c.errs, err)
	}
}

func (c *chaos) stop() {
	if c.quit != nil {
		close(c.quit)
		c.failed.Wait()
		c.quit = nil
	}
}

func (c *chaos) report() fakesReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := fakesReport{Faults: maps.Clone(c.faults), Unknown: map[string]int{}}
	for _, err := range c.errs {
		r.Unknown[err.Error()]++
	}
	now := time.Now()
	for _, n := range c.nodes {
		r.Probes += n.Probes()
		if gap := n.Gap(now); gap > r.Gap {
			r.Gap, r.GapOf = gap, n.Address()
		}
		for s, count := range n.Unknown() {
			r.Unknown[s] += count
		}
	}
	return r
}

// fakes is a running process with fake servers.
type fakes struct {
	t        testing.TB
	clusters int
	network  int
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
}

// startFakes starts clusters of three fake nodes in a process of their own.
func startFakes(t testing.TB, clusters int) *fakes {
	t.Helper()
	var err error
	for try := range 5 {
		f := &fakes{t: t, clusters: clusters, network: 64 + (os.Getpid()+try*37)%128}
		if err = f.start(); err == nil {
			return f
		}
	}
	t.Fatal(err)
	return nil
}

func (f *fakes) start() error {
	f.cmd = exec.Command("fakes", strconv.Itoa(f.clusters), strconv.Itoa(f.network))
	f.cmd.Stderr = os.Stderr
	var err error
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := f.cmd.Start(); err != nil {
		return err
	}
	f.out = bufio.NewReader(out)
	if line, err := f.out.ReadString('\n'); err != nil || line != "ready\n" {
		_ = f.in.Close()
		return errors.Join(fmt.Errorf("the fakes said %q", line), err, f.cmd.Wait())
	}
	f.t.Cleanup(func() {
		_ = f.in.Close() // it ends with its standard input
		end := time.AfterFunc(20*time.Second, func() { _ = f.cmd.Process.Signal(syscall.SIGKILL) })
		defer end.Stop()
		if err := f.cmd.Wait(); err != nil {
			f.t.Errorf("fakes: %v", err)
		}
	})
	return nil
}

// say gives an order and returns the report.
func (f *fakes) say(order string) fakesReport {
	f.t.Helper()
	var r fakesReport
	if _, err := fmt.Fprintln(f.in, order); err != nil {
		f.t.Fatal(err)
	}
	line, err := f.out.ReadBytes('\n')
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		f.t.Fatalf("%v in %s", err, line)
	}
	for s, n := range r.Unknown {
		f.t.Errorf("fakes: %d times: %s", n, s)
	}
	return r
}

// fakeCluster is the name of a cluster of fakes.
func fakeCluster(c int) string { return fmt.Sprintf("c%03d", c) }

// config is a configuration of these clusters.
func (f *fakes) config(stateDir, metrics string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "state_dir: %s\nmetrics: %s\ndefaults: {user: monitor, probe: {interval: 1s}, policy: manual}\nclusters:\n", stateDir, metrics)
	for c := range f.clusters {
		a := fakeAddresses(f.network, c)
		fmt.Fprintf(&b, "  %s: {nodes: [{name: db1, address: %q}, {name: db2, address: %q}, {name: db3, address: %q}]}\n", fakeCluster(c), a[0], a[1], a[2])
	}
	return b.String()
}
