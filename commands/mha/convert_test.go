package mha

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"failwise/check"
	"failwise/commands/config"
)

// convert runs both files' texts through; global may be empty.
func convert(t *testing.T, app, global string) (string, error) {
	t.Helper()
	a, err := Parse("app1.cnf", []byte(app))
	if err != nil {
		return "", err
	}
	var g *File
	if global != "" {
		if g, err = Parse("global.cnf", []byte(global)); err != nil {
			return "", err
		}
	}
	r, err := Convert("app1", a, g)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := r.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String(), nil
}

// load reads the output back as failwise does.
func load(t *testing.T, text string) (*config.Cluster, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "failwise.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load(config.Options{File: path})
	if err != nil {
		return nil, err
	}
	if len(c.Clusters) != 1 {
		t.Fatalf("%d clusters, want 1", len(c.Clusters))
	}
	return c.Clusters[0], nil
}

func TestEverySettingIsCarriedOverOrNamed(t *testing.T) {
	for _, p := range Parameters() {
		value := map[string]string{"port": "3307", "ping_interval": "7", "ping_type": "INSERT", "hostname": "db9", "ip": "10.9.9.9"}[p.Name]
		if value == "" {
			value = "1"
		}
		app := "[server1]\nhostname=db1\n[server2]\nhostname=db2\n" + p.Name + "=" + value + "\n"
		if !p.Server {
			app = "[server default]\n" + p.Name + "=" + value + "\n[server1]\nhostname=db1\n"
		}
		without, err := convert(t, "[server1]\nhostname=db1\n[server2]\nhostname=db2\n", "")
		if !p.Server {
			without, err = convert(t, "[server default]\n[server1]\nhostname=db1\n", "")
		}
		if err != nil {
			t.Fatal(err)
		}
		with, err := convert(t, app, "")
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if with == without {
			t.Errorf("%s: neither carried over nor named", p.Name)
		}
		if p.Becomes == "" && !strings.Contains(with, ": "+p.Name+"=") {
			t.Errorf("%s has no equal and is not named", p.Name)
		}
		if p.Becomes == "" && p.Why == "" {
			t.Errorf("%s: no reason why it has no equal", p.Name)
		}
		if _, err := load(t, with); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestServersOwnValueBeatsApplicationBeatsGlobal(t *testing.T) {
	text, err := convert(t,
		"[server default]\nuser=app\nport=3307\n[server2]\nhostname=db2\n[server10]\nhostname=db10\nport=3306\n[server1]\nhostname=db1\ncandidate_master=1\nno_master=0\n[server3]\nhostname=db3\nip=::1\ncandidate_master=1\nno_master=1\n",
		"[server default]\nuser=global\nport=3308\nping_interval=5\nrepl_user=repl\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range c.Nodes {
		got = append(got, n.Name+" "+n.Address.String()+" "+n.Promote.String())
	}
	want := "db1 db1:3307 prefer, db2 db2:3307 neutral, db3 [::1]:3307 never, db10 db10:3306 neutral"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("nodes %s\nwant  %s", s, want)
	}
	if c.Monitor.User != "app" || c.Replication.User != "repl" {
		t.Errorf("users %q and %q, want app and repl", c.Monitor.User, c.Replication.User)
	}
	if c.Timings.Tick.String() != "5s" || c.Timings.ProbeInterval.String() != "5s" || c.Policy != "manual" || c.Profile.String() != "mha" {
		t.Errorf("tick %v, interval %v, policy %s, profile %s", c.Timings.Tick, c.Timings.ProbeInterval, c.Policy, c.Profile)
	}
}

func TestProbeTypes(t *testing.T) {
	for value, want := range map[string]check.Type{"": check.Select, "ping_type=SELECT": check.Select, "ping_type=connect": check.Connect, "ping_type=Insert": check.Insert} {
		text, err := convert(t, "[server default]\n"+value+"\n[server1]\nhostname=db1\n", "")
		if err != nil {
			t.Fatal(err)
		}
		c, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Probe.Types) != 1 || c.Probe.Types[0] != want {
			t.Errorf("%s: types %v, want %s", value, c.Probe.Types, want)
		}
	}
}

func TestScriptsBecomeHooksInMHAsOrder(t *testing.T) {
	text, err := convert(t, "[server default]\nssh_user=ops\nshutdown_script=/x/power\nmaster_ip_failover_script=/x/ip --vip=10.0.0.1\nreport_script=\"/x/report 'a b'\"\nmaster_ip_online_change_script=/x/online\nsecondary_check_script=/x/second -s a -s b\n[server1]\nhostname=db1\n", "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for event, list := range c.Hooks.Hooks {
		for i, h := range list {
			got = append(got, event.String()+string(rune('1'+i))+" "+h.Script.String()+" "+strings.Join(h.Argv, "|")+" "+h.SSHUser)
		}
	}
	for _, want := range []string{
		"fence1 master_ip_failover /x/ip|--vip=10.0.0.1 ops", "fence2 shutdown /x/power ops", "fence3 master_ip_online_change /x/online ops",
		"promoted1 master_ip_failover /x/ip|--vip=10.0.0.1 ops", "promoted2 master_ip_online_change /x/online ops",
		"finished1 report /x/report|a b ops", "failed1 report /x/report|a b ops",
	} {
		found := false
		for _, g := range got {
			found = found || g == want
		}
		if !found {
			t.Errorf("no hook %s in %q", want, got)
		}
	}
	if len(got) != 7 || len(c.Confirm.Routes) != 1 || strings.Join(c.Confirm.Routes[0].Command, "|") != "/x/second|-s|a|-s|b|--user=ops" {
		t.Errorf("%d hooks, routes %v", len(got), c.Confirm.Routes)
	}
}

func TestNoPasswordIsCopied(t *testing.T) {
	text, err := convert(t, "[server default]\npassword=hunter2x\nrepl_user=r\nrepl_password='swordfish'\ninit_conf_load_script=/x/load swordfish\n"+
		"report_script=/x/report --password hunter2x -v\nmaster_ip_failover_script=mysql -phunter2x | cat\nmanager_log=/log/hunter2x\n[server1]\nhostname=db1\n",
		"[server default]\npassword=globalpass\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2x", "swordfish", "globalpass"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the output:\n%s", secret, text)
		}
	}
	for _, want := range []string{"password_file: /etc/failwise/app1.password", "password_file: /etc/failwise/app1.replication.password",
		`command: [/x/report, "--password", "-v"]`, "app1.cnf:6: report_script: argument 2 is left out", "app1.cnf:7: master_ip_failover_script: not carried over"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the output:\n%s", want, text)
		}
	}
}

func TestMistakesAreLocated(t *testing.T) {
	for _, tt := range []struct{ app, global, want, hint string }{
		{"[server1]\nhostname=db1\ncandidate_mster=1", "", "app1.cnf:3: unknown parameter candidate_mster", "did you mean candidate_master?"},
		{"[server1]\nhostname=db1\nquota=1", "", "app1.cnf:3: unknown parameter quota", "MHA itself refuses a parameter it does not know"},
		{"[server1]\nhostname=db1", "[server default]\nusr=x", "global.cnf:2: unknown parameter usr", "did you mean user?"},
		{"[server default]\nuser=x", "", "app1.cnf: no section [server1] …: no server is named", "give the application's file, not the global one: that is --global"},
		{"[sever1]\nhostname=db1\n[server1]\nhostname=db1", "", "app1.cnf:1: unknown section [sever1]", "sections are [server default], [server1], [server2] … and [binlog1] …"},
		{"[server1]\nport=3306", "", "app1.cnf:1: [server1] has no hostname", "hostname=db1"},
		{"[server1]\nhostname=db1\n[server2]\nhostname=db1", "", "app1.cnf:4: server db1:3306 is named twice, first at app1.cnf:2", ""},
		{"[server1]\nhostname=db1:3307", "", "app1.cnf:2: hostname is no host name or address", "the port has a setting of its own: port"},
		{"[server1]\nhostname=db1\nport=x", "", "app1.cnf:3: port is no number from 1 to 65535", ""},
		{"[server default]\nping_interval=0\n[server1]\nhostname=db1", "", "app1.cnf:2: ping_interval is no whole number of seconds from 1 to 86400", "ping_interval=3"},
		{"[server default]\nping_type=SELCT\n[server1]\nhostname=db1", "", "app1.cnf:2: ping_type is no type of ping", "MHA knows SELECT, CONNECT and INSERT"},
		{"[server default]\nreport_script='' x\n[server1]\nhostname=db1", "", "app1.cnf:2: report_script names no program", ""},
	} {
		_, err := convert(t, tt.app, tt.global)
		var wrong *Error
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 {
			t.Errorf("%q: %v, want one problem", tt.app, err)
			continue
		}
		if p := wrong.Problems[0]; p.String() != tt.want || p.Hint != tt.hint {
			t.Errorf("%q:\n%s (%s)\nwant %s (%s)", tt.app, p.String(), p.Hint, tt.want, tt.hint)
		}
	}
}

func TestValuesThatOneClusterCannotHoldAreNamed(t *testing.T) {
	text, err := convert(t, "[server default]\nuser=a\ncandidate_master=1\n[server1]\nhostname=db1\nuser=b\n[binlog1]\nhostname=b1\n", "[server default]\n[app2]\nuser=x\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# app1.cnf:3: candidate_master=1: it counts in a server's own section only",
		"# app1.cnf:6: user=b: one value holds for all servers",
		"# app1.cnf:7: [binlog1]: binary log servers are not asked",
		"# global.cnf:2: [app2]: of a global file [server default] counts alone",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add("[server default]\nuser=mha\npassword=x\nping_interval=3\nreport_script=/x | y 'z'\n[server1]\nhostname=db1\n[server2]\nip=::1\nhostname=true\nport=1\n", "[server default]\nport=3307\n")
	f.Add("[server1]\nhostname=123\n[server2]\nhostname=1.5\nsecondary_check_script=a \"b\\\" c\"\n[binlog x]\n", "")
	f.Add("[server1]\nhostname=null\nrepl_user=~\nuser=- a: #b\nno_master=1\n", "x=1")
	const secret = "Zq7~secret~Zq7"
	f.Fuzz(func(t *testing.T, app, global string) {
		if strings.Contains(app+global, "Zq7") {
			t.Skip("the input has the password that is looked for")
		}
		app = strings.ReplaceAll(app, "[server1]\n", "[server1]\npassword="+secret+"\n")
		text, err := convert(t, app, global)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), secret) {
				t.Fatalf("not an error of this package, or not one line: %v", err)
			}
			return
		}
		if strings.Contains(text, secret) {
			t.Fatalf("the password is in the output:\n%s", text)
		}
		if _, err := load(t, text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
