package commands

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"failwise/failover/sandbox"
)

// askCluster runs a command on a sandbox given by flags alone.
func askCluster(t *testing.T, c *sandbox.Cluster, account sandbox.Account, words ...string) (Exit, string) {
	t.Helper()
	p, out, errs := testProcess("")
	home := t.TempDir()
	p.Environ = func() []string {
		return []string{
			"FAILWISE_USER=" + account.User, "FAILWISE_PASSWORD=" + account.Password, "HOME=" + home, "XDG_STATE_HOME=" + home,
			"FAILWISE_MANAGE_USER=" + c.Accounts().Act.User, "FAILWISE_MANAGE_PASSWORD=" + c.Accounts().Act.Password,
		}
	}
	line := []string{"failwise", "--config", os.DevNull, "--cluster", "shop"}
	for _, n := range c.Nodes() {
		line = append(line, "-H", n.Address())
	}
	code := Main(append(line, words...), p)
	if errs.Len() > 0 {
		t.Errorf("%s: %s", words, errs)
	}
	return Exit(code), out.String()
}

// TestClusterAndDoctorOnRealServers walks one cluster of each flavour through what
// the two commands must tell apart.
func TestClusterAndDoctorOnRealServers(t *testing.T) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, Nodes: 2})
			monitor := c.Accounts().Monitor
			code, out := askCluster(t, c, monitor, "check", "cluster")
			if code != ExitOK || !strings.HasPrefix(out, "OK - shop: primary "+c.Node(0).Address()+", 2 of 2 nodes online, candidates: "+c.Node(1).Address()+", policy manual | nodes_online=2;;;0;2 candidates=1;;;0;1\n") ||
				strings.Count(out, "\n") != 3 {
				t.Errorf("healthy: %s %s", code.Word(), out)
			}
			code, out = askCluster(t, c, monitor, "doctor", "--json")
			var report doctorReport
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != ExitDone || report.Problems != 0 {
				t.Errorf("doctor: %d %v %s", code, err, out)
			}

			// A monitoring user that acts lacks what acting needs, and the DDL's table is missed.
			if err := c.Node(0).Exec(t.Context(), "DROP TABLE failwise.heartbeat"); err != nil {
				t.Fatal(err)
			}
			if err := c.AwaitSync(t.Context(), c.Node(0)); err != nil {
				t.Fatal(err)
			}
			code, out = askCluster(t, c, monitor, "doctor", "--json")
			report = doctorReport{}
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != ExitRefused {
				t.Errorf("doctor without table: %d %v %s", code, err, out)
			}
			if !slices.ContainsFunc(report.Findings, func(f doctorFinding) bool {
				return f.Rule == "heartbeat_table" && f.Node == c.Node(0).Address() && strings.HasPrefix(f.Fix[1], "CREATE TABLE")
			}) {
				t.Errorf("no finding about the heartbeat table: %s", out)
			}

			active := sandbox.Break(t, "io-stopped", c.Node(1))
			if code, out = askCluster(t, c, monitor, "check", "cluster"); code != ExitWarning {
				t.Errorf("stopped replica: %s %s", code.Word(), out)
			}
			if err := active.Heal(t.Context()); err != nil {
				t.Fatal(err)
			}
			sandbox.Break(t, "kill", c.Node(0))
			code, out = askCluster(t, c, monitor, "check", "cluster")
			if code != ExitCritical || !strings.Contains(out, c.Node(0).Address()+" stopped (socket_io_error)") {
				t.Errorf("killed primary: %s %s", code.Word(), out)
			}
		})
	}
}
