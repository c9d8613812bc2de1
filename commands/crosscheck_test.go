package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

// The plugin that users have today, from the package monitoring-plugins.
const checkMySQL = "/usr/lib/nagios/plugins/check_mysql"

// crossCause is one cause on which both plugins are asked.
type crossCause struct {
	cause string
	// fault is the sandbox's, on node; "" breaks nothing.
	fault string
	node  int
	// ours are the words after "failwise check"; TARGET is the node.
	ours string
	// replica asks check_mysql for the replication (-S).
	replica bool
	// elsewhere is an address in place of the node's.
	elsewhere string
	why       string
}

var crossCauses = []crossCause{
	{cause: "healthy primary", ours: "connect TARGET", why: "the same"},
	{cause: "name does not resolve", ours: "connect TARGET", elsewhere: "does-not-exist.invalid", why: "check_mysql takes it for wrong usage"},
	{cause: "nothing listens", fault: "kill", ours: "connect TARGET", why: "the same"},
	{cause: "frozen process", fault: "freeze", ours: "connect TARGET -t 3s", why: "check_mysql has no time limit of its own and hangs until the caller kills it"},
	{cause: "packets are dropped", fault: "drop", ours: "connect TARGET -t 3s", why: "as above; the outcome tells it from a frozen process"},
	{cause: "no free connection", fault: "full", ours: "connect TARGET", why: "the server lives and says so: WARNING unless --critical-on too_many_connections"},
	{cause: "wrong password", fault: "wrong-password", ours: "connect TARGET", why: "the check has no evidence about the server: UNKNOWN unless --critical-on wrong_credentials"},
	{cause: "locked account", fault: "locked-account", ours: "connect TARGET", why: "as above"},
	{cause: "expired password", fault: "expired-account", ours: "connect TARGET", why: "MariaDB lets it in and refuses the statement, which check_mysql never sends; MySQL refuses the login"},
	{cause: "writes are locked, asked by a read", fault: "locked", ours: "connect TARGET", why: "reads work: nobody can tell by reading"},
	{cause: "writes are locked, asked by a write", fault: "locked", ours: "insert TARGET -t 3s", why: "check_mysql writes nothing"},
	{cause: "healthy replica", ours: "replica TARGET", node: 1, replica: true, why: "check_mysql 2.3 asks with SHOW SLAVE STATUS, which MySQL 8.4 and later do not know"},
	{cause: "primary frozen, asked at the replica, heartbeat above 1s", fault: "freeze primary", ours: "replica TARGET --critical-heartbeat 1s", node: 1, replica: true, why: "both threads run and lag is 0 until the replica's net timeout: only the heartbeat shows it"},
	{cause: "IO thread stopped", fault: "io-stopped", ours: "replica TARGET", node: 1, replica: true, why: "the same; on MySQL check_mysql says so of every replica"},
	{cause: "SQL thread stopped by an error", fault: "sql-error", ours: "replica TARGET", node: 1, replica: true, why: "as above; failwise names the error number"},
	{cause: "replica delayed by configuration, -w 10 -c 60", fault: "delayed", ours: "replica TARGET -w 10s -c 60s", node: 1, replica: true, why: "the delay is wanted: only lag beyond it counts"},
	{cause: "errant transaction on a replica", fault: "errant", ours: "replica TARGET -H PRIMARY -H TARGET", node: 1, replica: true, why: "check_mysql does not look; such a replica cannot be promoted"},
}

// crossLimit ends a check_mysql that hangs.
const crossLimit = 4 * time.Second

// TestCrossCheckWithCheckMySQL holds the table in docs/check.md: both plugins'
// verdicts on the same causes of real servers.
func TestCrossCheckWithCheckMySQL(t *testing.T) {
	if _, err := os.Stat(checkMySQL); err != nil {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skip("needs monitoring-plugins: ", err)
	}
	if testing.Short() {
		t.Skip("starts real servers and waits for what hangs: a minute")
	}
	theirs, ours := map[string][]string{}, map[string][]string{}
	for _, flavour := range sandbox.Flavours() {
		cluster := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, Nodes: 2})
		heartbeat(t, cluster)
		for _, c := range crossCauses {
			a, b := crossCheck(t, cluster, c)
			theirs[c.cause] = append(theirs[c.cause], a)
			ours[c.cause] = append(ours[c.cause], b)
			t.Logf("%s, %s: check_mysql %s, failwise %s", flavour, c.cause, a, b)
		}
		if err := cluster.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	b.WriteString("| cause | check_mysql | failwise | why they differ |\n|---|---|---|---|\n")
	for _, c := range crossCauses {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.cause, bothFlavours(theirs[c.cause]), bothFlavours(ours[c.cause]), c.why)
	}
	generatedPart(t, "check.md", "cross-check", b.String())
}

func bothFlavours(verdicts []string) string {
	if verdicts[0] == verdicts[1] {
		return verdicts[0]
	}
	return "MariaDB: " + verdicts[0] + "; MySQL: " + verdicts[1]
}

// heartbeat writes the row that a watcher's insert probes would.
func heartbeat(t *testing.T, cluster *sandbox.Cluster) {
	t.Helper()
	if err := cluster.Node(0).Exec(t.Context(), "REPLACE INTO failwise.heartbeat (id, ts) VALUES (1, UTC_TIMESTAMP(3))"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.AwaitSync(t.Context(), cluster.Node(0)); err != nil {
		t.Fatal(err)
	}
}

// crossCheck breaks a node, asks both and heals it.
func crossCheck(t *testing.T, cluster *sandbox.Cluster, c crossCause) (theirs, ours string) {
	t.Helper()
	broken, fault := cluster.Node(c.node), c.fault
	if name, found := strings.CutSuffix(fault, " primary"); found {
		broken, fault = cluster.Node(0), name
	}
	if c.replica {
		attached(t, cluster)
	}
	if fault != "" {
		active := sandbox.Break(t, fault, broken)
		defer func() {
			if err := active.Heal(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("%s: heal: %v", c.cause, err)
			}
		}()
	}
	if strings.Contains(c.ours, "-heartbeat") {
		time.Sleep(5 * time.Second) // the heartbeat gets older than the limit, on a busy machine too
	}
	address := cluster.Node(c.node).Address()
	if c.elsewhere != "" {
		address = c.elsewhere
	}
	return askCheckMySQL(t, cluster, c, address), askFailwise(t, cluster, c, address)
}

// attached waits until the replicas have recovered from the cause before, and have
// caught up: their IO threads sleep between attempts.
func attached(t *testing.T, cluster *sandbox.Cluster) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		last := sandbox.Replication{}
		connected := 0
		for _, n := range cluster.Nodes()[1:] {
			var err error
			if last, err = n.Replication(t.Context()); err != nil {
				t.Fatal(err)
			}
			if last.IO == "Yes" && last.SQL == "Yes" {
				connected++
			}
		}
		if connected == len(cluster.Nodes())-1 {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("a replica does not follow after a minute: %+v", last)
		}
	}
	// What a delay held back must not come after the next cause's own transaction.
	if err := cluster.AwaitSync(t.Context(), cluster.Node(0)); err != nil {
		t.Fatal(err)
	}
}

func askCheckMySQL(t *testing.T, cluster *sandbox.Cluster, c crossCause, address string) string {
	t.Helper()
	monitor := cluster.Accounts().Monitor
	file := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(file, []byte("[client]\nuser="+monitor.User+"\npassword="+monitor.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "3306"
	}
	args := []string{"-f", file, "-g", "client", "-H", host, "-P", port}
	if c.replica {
		args = append(args, "-S")
		if strings.Contains(c.ours, "-w") {
			args = append(args, "-w", "10", "-c", "60")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), crossLimit)
	defer cancel()
	err = exec.CommandContext(ctx, checkMySQL, args...).Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "hangs"
	case errors.As(err, &exit):
		return Exit(exit.ExitCode()).Word()
	case err != nil:
		t.Fatal(err)
	}
	return ExitOK.Word()
}

func askFailwise(t *testing.T, cluster *sandbox.Cluster, c crossCause, address string) string {
	t.Helper()
	p, out, errs := testProcess("")
	monitor := cluster.Accounts().Monitor
	p.Environ = func() []string {
		return []string{"FAILWISE_USER=" + monitor.User, "FAILWISE_PASSWORD=" + monitor.Password, "HOME=" + t.TempDir()}
	}
	words := strings.Fields("failwise --config " + os.DevNull + " check " + c.ours)
	for i, w := range words {
		words[i] = strings.NewReplacer("TARGET", address, "PRIMARY", cluster.Node(0).Address()).Replace(w)
	}
	code := Exit(Main(words, p))
	if errs.Len() > 0 {
		t.Errorf("%s: %s", c.cause, errs)
	}
	if strings.Contains(out.String(), monitor.Password) {
		t.Errorf("%s: the password shows: %s", c.cause, out)
	}
	t.Log(strings.TrimSpace(out.String()))
	verdict := code.Word()
	for _, word := range strings.FieldsFunc(out.String(), func(r rune) bool { return r == ' ' || r == ':' }) {
		for _, outcome := range outcomeNames() {
			if word == outcome && code != ExitOK {
				return verdict + " `" + outcome + "`"
			}
		}
	}
	return verdict
}
