package commands

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"failwise/failover/sandbox"
)

// BenchmarkWholeProcess runs one healthy check as a process of its own, beside
// those that users have today; docs/performance.md has the figures. Take turns by
// -benchtime 20x -count 5.
func BenchmarkWholeProcess(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "failwise")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "failwise")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	cluster := sandbox.ForTest(b, sandbox.Options{Nodes: 1})
	monitor, address := cluster.Accounts().Monitor, cluster.Node(0).Address()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		b.Fatal(err)
	}
	options := filepath.Join(b.TempDir(), "my.cnf")
	if err := os.WriteFile(options, []byte("[client]\nuser="+monitor.User+"\npassword="+monitor.Password+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"failwise", []string{binary, "check", "connect", address, "--config", os.DevNull, "--defaults-file", options}},
		{"check_mysql", []string{checkMySQL, "-f", options, "-g", "client", "-H", host, "-P", port}},
		{"mariadb-admin", []string{"mariadb-admin", "--defaults-file=" + options, "-h", host, "-P", port, "ping"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				cmd := exec.Command(c.argv[0], c.argv[1:]...)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
