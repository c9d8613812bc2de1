package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/failover/hooks"
)

// write puts a file into a directory of its own and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, environ ...string) (*Config, error) {
	t.Helper()
	c, _, err := Load(Options{File: write(t, "failwise.yaml", text), Environ: environ})
	return c, err
}

const whole = `
state_dir: state
metrics: 127.0.0.1:9100
watcher: {name: w1, id: 7}
journal: {max_size: 50}
defaults:
  user: monitor
  password_file: secret
  tick: 5s
clusters:
  prod:
    nodes:
      - db1
      - {name: two, host: "db2", port: 3307, promote: prefer, site: east, admin_port: 33062}
      - {host: "[::1]:3308", promote: never}
      - unix:/run/db.sock
    profile: mha
    settle: 2
    quota_refill: 24h
    max_lost_transactions: 0
    probe: {types: [connect, insert], interval: 2s, limits: {login: 1s}}
    manage: {user: act, password_command: [pass, show, act]}
    confirm:
      replicas: passive
      require: majority
      routes: [[/bin/route, a], {command: [/bin/mha], contract: mha, timeout: 1s}]
    hooks:
      fence: {command: [/bin/fence, now], timeout: 5s, on_failure: abort}
      promoted: [/bin/moved]
    webhooks: [https://example.org/token, {url: "http://example.org/", events: [failed]}]
    lock: {etcd: {endpoints: [a:2379], ttl: 5s, ca: ca.pem}}
  test:
    nodes: [t1, t2]
    port: 3310
`

func TestLoadReadsEverything(t *testing.T) {
	c, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(c.File)
	if want := filepath.Join(dir, "state"); c.StateDir != want {
		t.Errorf("state_dir %s, want %s", c.StateDir, want)
	}
	if c.Watcher != (Watcher{"w1", 7}) || c.Metrics != "127.0.0.1:9100" || c.JournalMaxSize != 50<<20 || c.LogFormat != "logfmt" {
		t.Errorf("process: %+v", c)
	}
	prod, err := c.Cluster("prod")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, n := range prod.Nodes {
		nodes = append(nodes, n.Name+" "+n.Address.String()+" "+n.Promote.String()+" "+n.Site)
	}
	want := []string{
		"db1:3306 db1:3306 neutral ", "two db2:3307 prefer east", "[::1]:3308 [::1]:3308 never ",
		"unix:/run/db.sock unix:/run/db.sock neutral ",
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Error(diff)
	}
	if prod.Nodes[1].AdminPort != 33062 {
		t.Errorf("admin_port %d", prod.Nodes[1].AdminPort)
	}
	// tick from defaults beats the profile; interval is its own; budget is the profile's.
	if tm := prod.Timings; tm.Tick != 5*time.Second || tm.ProbeInterval != 2*time.Second ||
		tm.ProbeBudget != 5*time.Second || tm.AgeLimit != 8*time.Hour || tm.Settle != 2 {
		t.Errorf("timings %+v", tm)
	}
	if prod.Probe.Limits.Login != time.Second || prod.Probe.Limits.Total != 5*time.Second || len(prod.Probe.Types) != 2 {
		t.Errorf("probe %+v", prod.Probe)
	}
	if prod.Monitor.User != "monitor" || prod.Monitor.PasswordFile != filepath.Join(dir, "secret") {
		t.Errorf("monitor %+v", prod.Monitor)
	}
	if prod.Manage.User != "act" || len(prod.Manage.PasswordCommand) != 3 || prod.Manage.PasswordFile != "" {
		t.Errorf("manage %+v", prod.Manage)
	}
	if prod.MaxLostTransactions != 0 || prod.QuotaRefill.After != 24*time.Hour || !prod.EnforceReadOnly || prod.Policy != "automatic" {
		t.Errorf("cluster %+v", prod)
	}
	if r := prod.Confirm.Routes; len(r) != 2 || r[0].Timeout != 5*time.Second || r[1].Contract != hooks.ContractMHA || r[1].Timeout != time.Second {
		t.Errorf("routes %+v", r)
	}
	if h := prod.Hooks.Hooks[hooks.Fence]; len(h) != 1 || h[0].OnFailure != hooks.Abort || h[0].Timeout != 5*time.Second {
		t.Errorf("fence hook %+v", h)
	}
	if h := prod.Hooks.Hooks[hooks.Promoted]; len(h) != 1 || h[0].Argv[0] != "/bin/moved" {
		t.Errorf("promoted hook %+v", h)
	}
	if e := prod.Lock.Etcd; e == nil || e.TTL != 5*time.Second || e.CAFile != filepath.Join(dir, "ca.pem") {
		t.Errorf("lock %+v", e)
	}
	test, err := c.Cluster("test")
	if err != nil {
		t.Fatal(err)
	}
	if test.Nodes[0].Address.String() != "t1:3310" || test.Manage.User != "monitor" || test.MaxLostTransactions != -1 {
		t.Errorf("test %+v", test)
	}
	if _, found := test.Node("t2"); !found {
		t.Error("t2 is not found without its port")
	}
	var choice *ChoiceError
	if _, err := c.Cluster(""); !errors.As(err, &choice) || len(choice.Clusters) != 2 {
		t.Errorf("no name among two: %v", err)
	}
	for _, s := range prod.Settings() {
		if s.Key == "webhooks" && strings.Contains(s.Value, "token") {
			t.Errorf("a webhook's secret shows: %s", s.Value)
		}
	}
}

func TestLaterSourceWins(t *testing.T) {
	path := write(t, "failwise.yaml", "defaults: {tick: 1s, quota: 1, user: a}\nclusters:\n  c:\n    nodes: [n]\n    tick: 2s\n    quota: 2\n")
	c, _, err := Load(Options{
		File: path, Environ: []string{"FAILWISE_QUOTA=3", "FAILWISE_USER=b", "FAILWISE_PROBE_TYPES=select,insert"},
		Flags: map[string]string{"user": "f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range c.Clusters[0].Settings() {
		got[s.Key] = s.Value + " from " + s.Origin
	}
	for key, want := range map[string]string{
		"tick": "2s from " + path + ":5", "quota": "3 from environment FAILWISE_QUOTA", "user": "f from flag --user",
		"profile": "tungsten from default", "age_limit": "10m from profile tungsten",
		"probe.types": "[select, insert] from environment FAILWISE_PROBE_TYPES", "nodes": "[n] from " + path + ":4",
	} {
		if got[key] != want {
			t.Errorf("%s: %s, want %s", key, got[key], want)
		}
	}
}

func TestClusterByFlagsIsManual(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		flags            map[string]string
		environ          []string
	}{
		{"alone", "", "manual", nil, nil},
		{"against the file", "defaults: {policy: automatic}", "manual", nil, nil},
		{"against the environment", "", "manual", nil, []string{"FAILWISE_POLICY=automatic"}},
		{"told otherwise", "", "automatic", map[string]string{"policy": "automatic"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _, err := Load(Options{
				File: write(t, "f.yaml", c.text), Hosts: []string{"db2:3307", "db1"}, Flags: c.flags, Environ: c.environ,
			})
			if err != nil {
				t.Fatal(err)
			}
			cluster, err := cfg.Cluster("")
			if err != nil {
				t.Fatal(err)
			}
			if cluster.Policy != c.want || !cluster.AdHoc || len(cluster.Nodes) != 2 || cluster.Name != "db1_3306" {
				t.Errorf("%+v", cluster)
			}
		})
	}
}

func TestNoFileIsNoError(t *testing.T) {
	t.Chdir(t.TempDir())
	c, _, err := Load(Options{Environ: []string{"HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cluster(""); err == nil || err.Error() != "no cluster is configured" {
		t.Errorf("%v", err)
	}
	if c.Server.Port() != 3306 {
		t.Errorf("port %d", c.Server.Port())
	}
}

func TestFoundFileMustBeTrustworthy(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("failwise.yaml", []byte("clusters: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("failwise.yaml", 0o602); err != nil {
		t.Fatal(err)
	}
	var untrusted *UntrustedError
	if _, _, err := Load(Options{}); !errors.As(err, &untrusted) {
		t.Errorf("%v", err)
	}
	if _, _, err := Load(Options{File: "failwise.yaml"}); err != nil {
		t.Errorf("a file that was named: %v", err)
	}
}

func TestMisspelledVariableWarns(t *testing.T) {
	_, warnings, err := Load(Options{File: write(t, "f.yaml", ""), Environ: []string{
		"FAILWISE_USR=x", "FAILWISE_MYSQLD=/x", "FAILWISE_EVENT=fence", "FAILWISE_CLUSTER=c", "FAILWISE_PASSWORD=x",
	}})
	want := []string{"environment variable FAILWISE_USR sets nothing; did you mean FAILWISE_USER?"}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// FuzzLoad demands a located error or a configuration, never a panic.
func FuzzLoad(f *testing.F) {
	f.Add(whole)
	f.Add("clusters: {a: {nodes: [x, x]}}")
	f.Add("a: &a [*a]")
	f.Add("clusters: &c\n  a: *c")
	f.Fuzz(func(t *testing.T, text string) {
		p := &problems{}
		r := &reader{file: "f", dir: "/d", problems: p}
		doc := r.document([]byte(text))
		b := builder{problems: p, file: "f", dir: "/d"}
		for i := range doc.clusters {
			b.cluster("c", &doc.clusters[i], doc.defaults, nil, nil, nil)
		}
		for _, problem := range p.list {
			if strings.ContainsAny(problem.Text, "\n\r") || problem.Line < 1 && problem.Source != "f" {
				t.Errorf("%q", problem.String())
			}
		}
	})
}

// FuzzHosts demands of every list of -H either a cluster of as many nodes or an
// error of one line, never a panic.
func FuzzHosts(f *testing.F) {
	f.Add("db1\ndb2:3307\n[::1]:3308\nunix:/run/x.sock", "3306", "")
	f.Add("db1,db2\n::1\ndb1:0", "0", "/run/s")
	f.Fuzz(func(t *testing.T, hosts, port, socket string) {
		o := Options{File: os.DevNull, Hosts: strings.Split(hosts, "\n"), Socket: socket, Flags: map[string]string{"port": port}}
		c, _, err := Load(o)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%q", err)
			}
			return
		}
		want := len(o.Hosts)
		if socket != "" {
			want++
		}
		if len(c.Clusters) != 1 || len(c.Clusters[0].Nodes) != want || c.Clusters[0].Name == "" || c.Clusters[0].Policy != "manual" {
			t.Errorf("%+v", c.Clusters)
		}
	})
}
