package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"failwise/failover/sandbox"
)

// childMode names what this test binary does instead of testing, when another
// run of it has started it.
const childMode = "SANDBOX_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// child starts a cluster, prints its directory and pids, and ends as told.
func child(mode string) error {
	o := sandbox.Options{Nodes: 2, TrapSignals: true}
	if os.Getuid() == 0 {
		o.LoopBytes = 256 << 20
	}
	c, err := sandbox.New(context.Background(), o)
	if err != nil {
		return err
	}
	defer c.Close()
	if os.Getuid() == 0 {
		for _, name := range []string{"drop", "disk-stall"} {
			if err := start(c, name); err != nil {
				return err
			}
		}
	}
	fmt.Println(c.Dir(), c.Node(0).Pid(), c.Node(1).Pid())
	if mode == "panic" {
		panic("as told")
	}
	select {} // until a signal
}

func start(c *sandbox.Cluster, name string) error {
	fault, err := sandbox.LookupFault(name)
	if err != nil {
		return err
	}
	_, err = fault.Start(context.Background(), c.Node(0))
	return err
}

// spawn runs a child and returns what it started.
func spawn(t *testing.T, mode string) (cmd *exec.Cmd, dir string, pids []int) {
	t.Helper()
	sandbox.ForTest(t, sandbox.Options{Nodes: 1}) // skips where there is no server, and holds a slot
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	if mode == "panic" {
		cmd.Stderr = nil // its trace is no news
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended where the test passes
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(line)
	for _, field := range fields[1:] {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return cmd, fields[0], pids
}

// running tells whether a process exists and is no zombie.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func assertNothingLeft(t *testing.T, dir string, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("server %d is gone", pid), func() bool { return !running(pid) })
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("a file system is still mounted in %s", dir)
	}
}

// tables lists the firewall tables that a process's sandboxes made.
func tables(t *testing.T, pid int) string {
	t.Helper()
	if os.Getuid() != 0 {
		return ""
	}
	out, err := exec.Command("nft", "list", "tables").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, fmt.Sprintf("failwise_%d_", pid)) {
			found.WriteString(line)
		}
	}
	return found.String()
}

func TestKilledProcessLeavesNothingPastTheNextStart(t *testing.T) {
	cmd, dir, pids := spawn(t, "hold")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	// Node 0's disk is frozen, so only node 1 can end by itself.
	eventually(t, "the kernel ends the server", func() bool { return !running(pids[1]) })

	sandbox.ForTest(t, sandbox.Options{Nodes: 1})
	assertNothingLeft(t, dir, pids)
	if left := tables(t, cmd.Process.Pid); left != "" {
		t.Errorf("firewall tables are left: %s", left)
	}
}

func TestSignalledProcessCleansUpAndDiesOfTheSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, dir, pids := spawn(t, "hold")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is looked at below
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != sig {
				t.Errorf("it ended with %s, want %s", cmd.ProcessState, sig)
			}
			assertNothingLeft(t, dir, pids)
			if left := tables(t, cmd.Process.Pid); left != "" {
				t.Errorf("firewall tables are left: %s", left)
			}
		})
	}
}

func TestPanickingProcessCleansUp(t *testing.T) {
	cmd, dir, pids := spawn(t, "panic")
	if err := cmd.Wait(); err == nil {
		t.Error("the panic was lost")
	}
	assertNothingLeft(t, dir, pids)
}

func TestContextEndClosesCluster(t *testing.T) {
	spare := sandbox.ForTest(t, sandbox.Options{Nodes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := sandbox.New(ctx, sandbox.Options{Nodes: 2})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	pids := []int{c.Node(0).Pid(), c.Node(1).Pid()}
	cancel()
	eventually(t, "the directory is gone", func() bool {
		_, err := os.Stat(c.Dir())
		return errors.Is(err, fs.ErrNotExist)
	})
	assertNothingLeft(t, c.Dir(), pids)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if spare.Node(0).Pid() == 0 {
		t.Error("the neighbour was ended too")
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	sandbox.ForTest(t, sandbox.Options{Nodes: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if c, err := sandbox.New(ctx, sandbox.Options{Nodes: 1}); err == nil {
		c.Close()
		t.Error("a cluster was started")
	}
}
