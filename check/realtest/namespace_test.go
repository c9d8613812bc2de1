//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/rules"
)

// lacking skips a test for what this machine lacks, or fails it where nothing
// may be lacking.
func lacking(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// run executes a program and returns an error with its output.
func run(stdin string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return nil
}

// namespace makes a network namespace that ends with the test.
func namespace(t *testing.T) (name string, ip func(args string)) {
	t.Helper()
	if os.Getuid() != 0 {
		lacking(t, "a network namespace needs root")
	}
	for _, program := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(t, "the program "+program+" is missing")
		}
	}
	name = fmt.Sprintf("failwise-check-%d", os.Getpid())
	if err := run("", "ip", "netns", "add", name); err != nil {
		lacking(t, err.Error())
	}
	t.Cleanup(func() {
		if err := run("", "ip", "netns", "del", name); err != nil {
			t.Error(err)
		}
	})
	ip = func(args string) {
		t.Helper()
		if err := run("", append([]string{"ip", "-n", name}, strings.Fields(args)...)...); err != nil {
			t.Fatal(err)
		}
	}
	ip("link set lo up")
	return name, ip
}

func TestRoutesAndRouters(t *testing.T) {
	name, ip := namespace(t)
	ip("addr add 192.0.2.1/24 dev lo")
	ip("route add unreachable 198.51.100.1")
	ip("route add prohibit 198.51.100.2")
	ip("route add blackhole 198.51.100.3")
	filter := `table ip t { chain c { type filter hook input priority 0; policy accept;
		tcp dport 1 reject with tcp reset
		tcp dport 2 reject with icmp port-unreachable
		tcp dport 3 reject with icmp host-unreachable
		tcp dport 4 reject with icmp net-unreachable
		tcp dport 5 reject with icmp host-prohibited
		tcp dport 6 reject with icmp admin-prohibited
		tcp dport 7 reject with icmp net-prohibited
		tcp dport 8 drop
		tcp dport 10 reject with icmp 7 comment "host unknown, which nft has no word for"
		tcp dport 11 reject with icmp prot-unreachable
	}
	chain o { type filter hook output priority 0; policy accept;
		tcp dport 9 drop
	}
	}
	`
	if err := run("", "ip", "netns", "exec", name, "nft", "list", "tables"); err != nil {
		lacking(t, err.Error())
	}
	if err := run(filter, "ip", "netns", "exec", name, "nft", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, address string
		outcome       rules.Outcome
		errno         syscall.Errno
	}{
		{"no route at all", "203.0.113.1:3306", rules.NetworkUnreachable, syscall.ENETUNREACH},
		{"unreachable route", "198.51.100.1:3306", rules.NoRouteToHost, syscall.EHOSTUNREACH},
		{"prohibit route", "198.51.100.2:3306", rules.NetworkUnreachable, syscall.EACCES},
		{"blackhole route", "198.51.100.3:3306", rules.NetworkUnreachable, syscall.EINVAL},
		{"nobody listens", "192.0.2.1:3306", rules.SocketIOError, syscall.ECONNREFUSED},
		{"firewall resets", "192.0.2.1:1", rules.SocketIOError, syscall.ECONNREFUSED},
		{"icmp port unreachable", "192.0.2.1:2", rules.SocketIOError, syscall.ECONNREFUSED},
		{"icmp host unreachable", "192.0.2.1:3", rules.NoRouteToHost, syscall.EHOSTUNREACH},
		{"icmp net unreachable", "192.0.2.1:4", rules.NetworkUnreachable, syscall.ENETUNREACH},
		{"icmp host prohibited", "192.0.2.1:5", rules.NoRouteToHost, syscall.EHOSTUNREACH},
		{"icmp admin prohibited", "192.0.2.1:6", rules.NoRouteToHost, syscall.EHOSTUNREACH},
		{"icmp net prohibited", "192.0.2.1:7", rules.NetworkUnreachable, syscall.ENETUNREACH},
		{"icmp host unknown", "192.0.2.1:10", rules.HostIsDown, syscall.EHOSTDOWN},
		{"icmp protocol unreachable", "192.0.2.1:11", rules.UnexpectedException, syscall.ENOPROTOOPT},
		{"silent drop", "192.0.2.1:8", rules.SocketConnectTimeout, 0},
		{"own firewall drops", "192.0.2.1:9", rules.SocketConnectTimeout, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := check.Options{Dial: inNamespace(name), Limits: check.Limits{Total: 500 * time.Millisecond}}
			p := prober(t, tt.address, check.Connect, o)
			expect(t, inTime(t, o.Limits.Total, func() check.Result { return p.Probe(t.Context()) }), tt.outcome, tt.errno)
		})
	}
}

func TestHostThatAnswersNoARP(t *testing.T) {
	name, ip := namespace(t)
	ip("link add v0 type veth peer name v1")
	ip("addr add 192.0.2.1/24 dev v0")
	ip("link set v0 up")
	ip("link set v1 up")
	o := check.Options{Dial: inNamespace(name), Limits: check.Limits{Total: 10 * time.Second}}
	expect(t, prober(t, "192.0.2.77:3306", check.Connect, o).Probe(t.Context()), rules.NoRouteToHost, syscall.EHOSTUNREACH)
}

func TestNoFreeLocalPort(t *testing.T) {
	name, _ := namespace(t)
	err := run("", "ip", "netns", "exec", name, "sh", "-c", "echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		lacking(t, err.Error())
	}
	l, err := listenIn(name, "127.0.0.1:3306")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := inNamespace(name)
	for range 8 {
		c, err := dial(t.Context(), "tcp", "127.0.0.1:3306")
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	o := check.Options{Dial: dial}
	expect(t, prober(t, "127.0.0.1:3306", check.Connect, o).Probe(t.Context()), rules.OpenFileLimitError, syscall.EADDRNOTAVAIL)
}
