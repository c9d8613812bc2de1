package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"failwise/failover/sandbox"
)

// site is a sandbox with a configuration file for it.
type site struct {
	t       *testing.T
	cluster *sandbox.Cluster
	dir     string
	secrets []string
}

func newSite(t *testing.T, o sandbox.Options) *site {
	t.Helper()
	s := &site{t: t, cluster: sandbox.ForTest(t, o), dir: t.TempDir()}
	a := s.cluster.Accounts()
	secretFile := func(name string, acc sandbox.Account) string {
		path := filepath.Join(s.dir, name+".password")
		if err := os.WriteFile(path, []byte(acc.Password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.secrets = append(s.secrets, acc.Password)
		return path
	}
	secret := func(name string, acc sandbox.Account) string {
		return fmt.Sprintf("{user: %s, password_file: %s}", acc.User, secretFile(name, acc))
	}
	var nodes []string
	for _, n := range s.cluster.Nodes() {
		nodes = append(nodes, fmt.Sprintf("{name: %s, address: %q}", n.Name(), n.Address()))
	}
	text := fmt.Sprintf("state_dir: %s\nclusters:\n  lab:\n    nodes: [%s]\n    user: %s\n    password_file: %s\n    manage: %s\n    replication: %s\n    probe: {interval: 500ms}\n    ssl_mode: PREFERRED\n",
		filepath.Join(s.dir, "state"), strings.Join(nodes, ", "), a.Monitor.User, secretFile("monitor", a.Monitor), secret("act", a.Act), secret("repl", a.Repl))

	if err := os.WriteFile(s.config(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) config() string { return filepath.Join(s.dir, "failwise.yaml") }

// output is what a running command writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a command that was started.
type running struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	err  error
}

func (s *site) start(args ...string) *running {
	s.t.Helper()
	r := &running{t: s.t, out: &output{}, done: make(chan struct{})}
	r.cmd = exec.Command("failwise", append([]string{"--config", s.config()}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	s.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
	})
	return r
}

// says waits until the command has written a text.
func (r *running) says(text string) {
	r.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !strings.Contains(r.out.String(), text) {
		if time.Now().After(deadline) {
			r.t.Fatalf("never said %q:\n%s", text, r.out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ends waits for the end and returns the exit code.
func (r *running) ends() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(60 * time.Second):
		r.t.Fatalf("did not end:\n%s", r.out)
	}
	var exit *exec.ExitError
	if errors.As(r.err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func (r *running) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// run runs a command to its end.
func (s *site) run(args ...string) (code int, out string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "failwise", append([]string{"--config", s.config()}, args...)...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), string(b)
	case err != nil:
		s.t.Fatal(err)
	}
	return 0, string(b)
}

// must runs a command that has to end with a code and say something.
func (s *site) must(code int, says string, args ...string) {
	s.t.Helper()
	got, out := s.run(args...)
	if got != code || !strings.Contains(out, says) {
		s.t.Errorf("failwise %s: exit %d, want %d and %q in:\n%s", strings.Join(args, " "), got, code, says, out)
	}
}

// noSecrets looks for passwords in everything that was written.
func (s *site) noSecrets(outputs ...string) {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.dir, "state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		outputs = append(outputs, string(b))
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	for _, secret := range s.secrets {
		for _, o := range outputs {
			if strings.Contains(o, secret) {
				s.t.Errorf("a password was written: …%s…", strings.ReplaceAll(o, secret, "THE PASSWORD"))
			}
		}
	}
}

func TestWatcherAndItsCommands(t *testing.T) {
	s := newSite(t, sandbox.Options{SemiSync: true})
	s.must(1, "no watcher", "status")
	s.must(2, "CRITICAL", "check", "watch")
	s.must(0, "db1", "topology")
	s.must(0, "db2", "candidates")

	first := s.start("watch")
	first.says("watching lab: primary db1, policy automatic")
	first.says("node=db3 state=online")
	s.must(0, "db1", "status")
	s.must(0, "coordinator", "check", "watch")
	s.must(0, "nothing is wrong", "why")

	second := s.start("watch")
	second.says("observing")
	second.signal(syscall.SIGTERM)
	if code := second.ends(); code != 0 {
		t.Errorf("a watcher that got SIGTERM ended with %d:\n%s", code, second.out)
	}

	s.must(0, "maintenance for", "policy", "maintenance", "--for", "1h", "--reason", "a test")
	s.must(0, "policy maintenance", "status") // at once: the command has waited for the watcher
	first.says("policy is maintenance")
	s.must(0, "automatic", "policy", "automatic")
	s.must(0, "policy automatic", "status")
	first.says("policy is automatic")

	s.must(0, "db2 is the primary; writes were blocked for", "switch", "--to", "db2", "--reason", "a test")
	s.must(0, "db2", "topology")
	s.must(0, "switch", "history")

	first.signal(syscall.SIGKILL)
	first.ends()
	s.must(1, "no watcher", "status")
	s.must(0, "db1 is the primary", "switch", "--to", "db1")

	once := s.start("watch", "--once")
	once.says("node=db1 state=online")
	time.Sleep(time.Second)
	sandbox.Break(t, "kill", s.cluster.Node(0))
	if code := once.ends(); code != 10 {
		t.Errorf("watch --once ended with %d after a failover, want 10:\n%s", code, once.out)
	}
	s.must(1, "latest_not_fatal", "failover", "--to", "db3", "--reason", "it is well")
	s.must(1, "age_limit", "failover", "--to", "db3", "--ignore", "latest_not_fatal", "--reason", "too soon")
	s.noSecrets(first.out.String(), second.out.String(), once.out.String())
}

func TestManualPolicyHoldsUntilAskedFor(t *testing.T) {
	s := newSite(t, sandbox.Options{SemiSync: true})
	s.must(0, "manual", "policy", "manual")
	w := s.start("watch")
	w.says("policy is manual")
	w.says("node=db1 state=online")
	active := sandbox.Break(t, "kill", s.cluster.Node(0))
	w.says("reason=policy_manual")
	s.must(2, "policy_manual", "check", "watch")
	s.must(0, "policy_manual", "why")
	s.must(0, "is the primary; first write after", "failover", "--reason", "by hand")
	if err := active.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.says("it is not the primary: set read-only")
	s.must(0, "db1 follows", "recover", "db1")
	s.must(0, "has no transaction", "recover", "db1", "--show-errant")
	s.must(0, "recover of db1 was done", "why")
	s.must(0, "db1", "topology")
	w.signal(syscall.SIGINT)
	if code := w.ends(); code != 0 {
		t.Errorf("SIGINT: exit %d\n%s", code, w.out)
	}
	s.noSecrets(w.out.String())
}
