package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/watch"
	"failwise/rules"
)

// calmReport is a cluster about which there is nothing to say.
func calmReport(name string) report {
	r := report{cluster: name, snapshot: watch.Snapshot{Cluster: name, Winner: "db2"}}
	r.snapshot.Engine.Policy.Policy = failover.Automatic
	for i := range 3 {
		n := failover.NodeSnapshot{Name: fmt.Sprintf("db%d", i+1), Role: failover.Replica, Stage: failover.Up, State: rules.Online, Outcome: rules.OK}
		if i == 0 {
			n.Role = failover.Primary
		}
		r.snapshot.Engine.Nodes = append(r.snapshot.Engine.Nodes, n)
		r.snapshot.Nodes = append(r.snapshot.Nodes, watch.NodeView{Name: n.Name})
	}
	return r
}

// alarmed is a cluster with an alarm on one node that fails it after left.
func alarmed(name string, node int, left time.Duration) report {
	r := calmReport(name)
	n := &r.snapshot.Engine.Nodes[node]
	n.State, n.Stage = rules.Timeout, failover.HalfDown
	n.Alarms = []failover.AlarmStatus{{Outcome: rules.SocketConnectTimeout, Action: rules.Fail, Count: 3, Threshold: 8, Left: &left, Running: true}}
	return r
}

func TestFleetBlockShowsTheMostUrgentClustersFirst(t *testing.T) {
	var reports []report
	for i := range 285 {
		reports = append(reports, calmReport(fmt.Sprintf("calm-%d", i)))
	}
	held := alarmed("held", 0, 0)
	held.snapshot.Engine.Nodes[0].Stage = failover.NearlyDown
	held.snapshot.Engine.Nodes[0].Hold = &failover.HoldStatus{Reason: failover.ReplicaSeesPrimary, Since: 20 * time.Second}
	busy := calmReport("busy")
	busy.snapshot.Engine.Operation = "failover of db1"
	refused := calmReport("refused")
	refused.snapshot.Winner, refused.snapshot.Refusal = "", "db2 and db3 have each what the other lacks"
	asleep := calmReport("asleep")
	asleep.snapshot.Engine.Policy = failover.PolicyState{Policy: failover.Maintenance, Detail: "by root@ops"}
	by := calmReport("by-hand")
	by.snapshot.Engine.Policy.Policy = failover.Manual
	reports = append(reports,
		report{cluster: "new", trouble: "it starts", starting: true}, asleep, refused, by,
		alarmed("later", 0, 70*time.Second), alarmed("replica", 2, 5*time.Second), alarmed("sooner", 0, 8*time.Second),
		report{cluster: "unread", trouble: "not watched: statemap.properties:3: no state sleeping"}, held, busy,
		alarmed("a-cluster-with-a-very-long-name", 1, 90*time.Second), alarmed("r3", 1, 91*time.Second), alarmed("r4", 1, 92*time.Second),
		alarmed("r5", 1, 93*time.Second), alarmed("r6", 1, 94*time.Second))
	lines := fleetBlock(reports, painter{}, 80)
	if len(lines) != fleetRows+2 {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		if n := len([]rune(l)); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	if want := "── 300 clusters ── 286 calm (1 manual), 1 at work, 1 held, 1 not watched, "; !strings.HasPrefix(lines[0], want) {
		t.Errorf("head %q, want %q", lines[0], want)
	}
	for i, want := range []string{
		"busy           failover of db1",
		"held           db1      primary nearly_down timeout holds: replica_sees_primary",
		"unread         not watched: statemap.properties:3: no state sleeping",
		"sooner         db1      primary half_down   timeout 3/8, fail in 8s",
		"later          db1      primary half_down   timeout 3/8, fail in 70s",
		"replica        db3      replica half_down   timeout 3/8, fail in 5s",
		"a-cluster-wit… db2      replica half_down   timeout 3/8, fail in 90s",
	} {
		if lines[1+i] != want {
			t.Errorf("row %d is %q, want %q", i, lines[1+i], want)
		}
	}
	if want := "… and 4 more: failwise status --cluster NAME"; lines[len(lines)-1] != want {
		t.Errorf("last line %q, want %q", lines[len(lines)-1], want)
	}
}

func TestFleetBlockOfCalmClustersIsOneLine(t *testing.T) {
	lines := fleetBlock([]report{calmReport("a"), calmReport("b")}, painter{}, 80)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "── 2 clusters ── 2 calm ─") {
		t.Errorf("%q", lines)
	}
}

func TestFleetBlockCountsTheNodesInTheSamePlight(t *testing.T) {
	r := alarmed("two", 1, 30*time.Second)
	r.snapshot.Engine.Nodes[2] = alarmed("", 2, 20*time.Second).snapshot.Engine.Nodes[2]
	r.snapshot.Engine.Nodes[0] = alarmed("", 0, 40*time.Second).snapshot.Engine.Nodes[0]
	lines := fleetBlock([]report{r}, painter{}, 120)
	if want := "two            db1      primary half_down   timeout 3/8, fail in 40s"; lines[1] != want {
		t.Errorf("the primary's alarm counts first: %q, want %q", lines[1], want)
	}
	r.snapshot.Engine.Nodes[0] = calmReport("").snapshot.Engine.Nodes[0]
	lines = fleetBlock([]report{r}, painter{}, 120)
	if want := "two            db3      replica half_down   timeout 3/8, fail in 20s, and 1 more"; lines[1] != want {
		t.Errorf("%q, want %q", lines[1], want)
	}
}

func TestFilesWantedNamesTheLimit(t *testing.T) {
	cluster := watch.Config{Nodes: make([]watch.Node, 3), Probe: watch.Probing{Types: []check.Type{check.Connect, check.Insert}}}
	many := make([]watch.Config, 300)
	for i := range many {
		many[i] = cluster
	}
	if text := filesWanted(1024, cluster); text != "" {
		t.Errorf("one cluster and 1024 files: %s", text)
	}
	if text := filesWanted(1<<19, many...); text != "" {
		t.Errorf("300 clusters and half a million files: %s", text)
	}
	text := filesWanted(4096, many...)
	if !strings.Contains(text, "these 300 clusters may need 11464 open files") || !strings.Contains(text, "the limit is 4096") || !strings.Contains(text, "LimitNOFILE=") {
		t.Errorf("300 clusters and 4096 files: %q", text)
	}
}

func TestWatchAllGoesOnWithTheClustersThatItCanWatch(t *testing.T) {
	m := prepareFakes(t, 3)
	broken := filepath.Join(m.dir, "broken.properties")
	if err := os.WriteFile(broken, []byte("socket_io_error.state = sleeping\nsocket_io_error.threshold = 0\nsocket_io_error.action = fail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.configure(func(text string) string {
		return strings.Replace(text, "  c001: {", "  c001: {statemap: "+broken+", ", 1)
	})
	m.start()
	m.says(`msg="watching c000: primary db1, policy manual`)
	m.says(`msg="watching c002: primary db1, policy manual`)
	m.says(`msg="cluster c001 is not watched: `)
	if n := strings.Count(m.out.String(), "fail at once: socket_io_error"); n != 1 {
		t.Errorf("the rules of two clusters with the same were told %d times:\n%s", n, m.out)
	}
	m.says("cluster=c002 event=probe node=db3 state=online")
	m.must(0, "c000", "--cluster", "c000", "status")
	m.must(0, "nothing is wrong", "--cluster", "c002", "why")
	m.must(1, "no watcher", "--cluster", "c001", "status")
	m.must(2, "3 clusters, and none was chosen: --cluster NAME watches one, --all watches all", "watch")

	// Another watcher of one of them observes.
	second := m.run("--cluster", "c000", "watch", "--metrics", "127.0.0.1:0")
	second.says("observing: ")
	second.signal(syscall.SIGTERM)
	if code := second.ends(); code != 0 {
		t.Errorf("the second watcher ended with %d", code)
	}

	m.must(0, "maintenance", "--cluster", "c002", "policy", "maintenance", "--for", "1h")
	m.says(`msg="policy is maintenance`)
	m.must(1, "policy is manual", "--cluster", "c000", "check", "watch")
	m.must(1, "maintenance", "--cluster", "c002", "check", "watch")

	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	m.process.signal(syscall.SIGHUP)
	m.says(`msg="watching c001: primary db1`)
	m.process.signal(syscall.SIGUSR1)
	for _, name := range []string{"c000", "c001", "c002"} {
		m.says("── " + name + " ── policy ")
	}
	page := m.scrape().page
	for _, want := range []string{`failwise_watcher_answers{cluster="c000"} 1`, `failwise_watcher_answers{cluster="c001"} 1`, `failwise_policy{cluster="c002",policy="maintenance"} 1`} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no metric %s", want)
		}
	}
	seen := map[string]bool{}
	for _, f := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(page, -1) {
		if seen[f[1]] {
			t.Errorf("the type of %s is told twice", f[1])
		}
		seen[f[1]] = true
	}
	m.process.signal(syscall.SIGTERM)
	if code := m.process.ends(); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, m.out)
	}
	if strings.Contains(m.out.String(), "secret") {
		t.Error("the password was written")
	}
}
