package watch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/hooks"
)

func routeNode(t *testing.T) Node {
	t.Helper()
	a, err := check.ParseAddress("127.0.0.1:3307", 3306)
	if err != nil {
		t.Fatal(err)
	}
	return Node{Name: "db1", Monitor: check.Server{Name: "db1", Address: a}}
}

func TestRouteExitCodes(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   failover.Route
	}{
		{"exit 0", failover.RouteDead},
		{"exit 3", failover.RouteSees},
		{"exit 2", failover.RouteUnknown},
		{"exit 1", failover.RouteUnknown},
		{"kill -9 $$", failover.RouteUnknown},
	} {
		r := Route{Argv: []string{"/bin/sh", "-c", tt.script}}
		if a := r.ask(t.Context(), "prod", routeNode(t)); a.Route != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.script, a.Route, a.Evidence, tt.want)
		}
	}
	r := Route{Argv: []string{"/nonexistent/route"}}
	if a := r.ask(t.Context(), "prod", routeNode(t)); a.Route != failover.RouteUnknown || a.Evidence == "" {
		t.Errorf("a missing command: %s %q, want unknown with its error", a.Route, a.Evidence)
	}
}

func TestHungRouteIsNoAnswerAndLeavesNoProcess(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := Route{Argv: []string{"/bin/sh", "-c", "sleep 300 & echo $! > " + pidFile + "; wait"}, Timeout: 300 * time.Millisecond}
	a := r.ask(t.Context(), "prod", routeNode(t))
	if a.Route != failover.RouteUnknown || !strings.Contains(a.Evidence, "no answer in") {
		t.Errorf("got %s %q", a.Route, a.Evidence)
	}
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for alive(strings.TrimSpace(string(pid))) {
		if time.Now().After(deadline) {
			t.Fatal("the route's child is still there")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestRouteIsToldTheNode(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	own := Route{Argv: []string{"/bin/sh", "-c", "echo $FAILWISE_CLUSTER $FAILWISE_NODE $FAILWISE_HOST $FAILWISE_PORT > " + out}}
	own.ask(t.Context(), "prod", routeNode(t))
	if got := readFile(t, out); got != "prod db1 127.0.0.1 3307\n" {
		t.Errorf("environment: %q", got)
	}
	script := filepath.Join(t.TempDir(), "secondary_check")
	write(t, script, "#!/bin/sh\necho \"$@\" > "+out+"\nexit 3\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	mha := Route{Argv: []string{script, "-s", "far1"}, Contract: hooks.ContractMHA, User: "mha"}
	if a := mha.ask(t.Context(), "prod", routeNode(t)); a.Route != failover.RouteSees {
		t.Errorf("MHA exit 3: %s", a.Route)
	}
	want := "-s far1 --user=mha --master_host=127.0.0.1 --master_ip=127.0.0.1 --master_port=3307\n"
	if got := readFile(t, out); got != want {
		t.Errorf("arguments: %q, want %q", got, want)
	}
	named := Route{Argv: []string{script, "--user=ops"}, Contract: hooks.ContractMHA}
	named.ask(t.Context(), "prod", routeNode(t))
	want = "--user=ops --master_host=127.0.0.1 --master_ip=127.0.0.1 --master_port=3307\n"
	if got := readFile(t, out); got != want {
		t.Errorf("arguments without a user of its own: %q, want %q", got, want)
	}
}

func TestJointRoute(t *testing.T) {
	const (
		d = failover.RouteDead
		s = failover.RouteSees
		u = failover.RouteUnknown
	)
	for _, tt := range []struct {
		answers       []failover.Route
		all, majority failover.Route
	}{
		{nil, u, u},
		{[]failover.Route{u, u}, u, u},
		{[]failover.Route{d}, d, d},
		{[]failover.Route{s}, s, s},
		{[]failover.Route{d, d}, d, d},
		{[]failover.Route{d, u}, u, d},
		{[]failover.Route{d, s}, s, s},
		{[]failover.Route{d, d, s}, s, d},
		{[]failover.Route{d, s, s}, s, s},
	} {
		var answers []answer
		for _, r := range tt.answers {
			answers = append(answers, answer{Route: r})
		}
		if got := jointRoute(answers, false); got != tt.all {
			t.Errorf("%v, all: %s, want %s", tt.answers, got, tt.all)
		}
		if got := jointRoute(answers, true); got != tt.majority {
			t.Errorf("%v, majority: %s, want %s", tt.answers, got, tt.majority)
		}
	}
}

func TestRoutesAreAskedInParallel(t *testing.T) {
	dir := t.TempDir()
	meet := func(own, other string) Route {
		return Route{Argv: []string{"/bin/sh", "-c", "touch " + own + "; until [ -e " + other + " ]; do sleep 0.01; done"}, Timeout: 20 * time.Second}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	joint, _ := askRoutes(context.Background(), []Route{meet(a, b), meet(b, a)}, false, "prod", routeNode(t))
	if joint != failover.RouteDead {
		t.Errorf("two routes that wait for each other: %s", joint)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMHAScriptsAreToldTheManagingAccount(t *testing.T) {
	n := routeNode(t)
	n.Manage = check.Server{User: "act", Secret: check.NewSecret("hush")}
	want := hooks.MHAFacts{OldUser: "act", OldPassword: "hush", NewUser: "act", NewPassword: "hush", OldFollows: true}
	if got := hookFacts([]Node{n}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := hookFacts(nil); got != (hooks.MHAFacts{}) {
		t.Errorf("without nodes: %+v", got)
	}
}
