package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"failwise/failover/journal"
)

const holdEnv = "FAILWISE_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		os.Exit(hold(dir))
	}
	goleak.VerifyTestMain(m)
}

// hold takes the lock in dir, prints its token and keeps it until stdin ends.
func hold(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	lease, err := NewFile(journal.NewDir(dir), "child").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(uint64(lease.Token()))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

// startHolder runs hold in a second process and returns its token.
func startHolder(t *testing.T, dir string) (*exec.Cmd, Token) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), holdEnv+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("child: %q, %v", line, err)
	}
	token, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatalf("child: %q", line)
	}
	return child, Token(token)
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func acquire(t *testing.T, l *File) Lease {
	t.Helper()
	lease, err := l.Acquire(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release(context.Background()) })
	return lease
}

func isLost(l Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

func TestSecondProcessObservesUntilTheHolderIsKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c1")
	child, first := startHolder(t, dir)
	l := NewFile(journal.NewDir(dir), "w2")

	var held *HeldError
	if _, err := l.Acquire(soon(t)); !errors.As(err, &held) || !errors.Is(err, ErrHeld) || errors.Is(err, ErrUnavailable) {
		t.Fatalf("acquire: %v", err)
	}
	host, _ := os.Hostname()
	if h := held.Holder; h.PID != child.Process.Pid || h.Watcher != "child" || h.Host != host || h.Token != first || time.Since(h.Since) > time.Minute {
		t.Errorf("holder %+v", h)
	}
	if want := fmt.Sprintf("held by watcher child (pid %d) on %s since 2", child.Process.Pid, host); !strings.HasPrefix(held.Error(), want) {
		t.Errorf("got  %s\nwant %s…", held, want)
	}
	if h, ok, err := l.Holder(soon(t)); !ok || err != nil || h.PID != child.Process.Pid {
		t.Errorf("Holder: %+v, %v, %v", h, ok, err)
	}

	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if h, ok, err := l.Holder(soon(t)); ok || err != nil {
		t.Errorf("Holder after its death: %+v, %v, %v", h, ok, err)
	}
	lease := acquire(t, l)
	if lease.Token() <= first {
		t.Errorf("token %d after %d", lease.Token(), first)
	}
	if err := lease.Check(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestTokensOnlyGrow(t *testing.T) {
	dir := t.TempDir()
	l := NewFile(journal.NewDir(dir), "w1")
	var last Token
	draw := func(what string) {
		t.Helper()
		lease := acquire(t, l)
		if lease.Token() <= last {
			t.Errorf("%s: token %d after %d", what, lease.Token(), last)
		}
		last = lease.Token()
		if err := lease.Release(soon(t)); err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		draw("in turn")
	}
	if err := os.Remove(filepath.Join(dir, tokenName)); err != nil {
		t.Fatal(err)
	}
	draw("token file removed")
	if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
		t.Fatal(err)
	}
	draw("lock file emptied")
	if err := os.WriteFile(filepath.Join(dir, tokenName), []byte("many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(soon(t)); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), `"many", not a number`) {
		t.Errorf("damaged token: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, tokenName), []byte("100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	draw("token repaired")
	if last != 101 {
		t.Errorf("token %d after the damaged one was repaired to 100: the failed try kept the lock or drew one", last)
	}
}

func TestReleasedLeaseIsLostAndFree(t *testing.T) {
	l := NewFile(journal.NewDir(t.TempDir()), "w1")
	lease := acquire(t, l)
	if isLost(lease) {
		t.Fatal("lost at once")
	}
	for range 2 {
		if err := lease.Release(soon(t)); err != nil {
			t.Error(err)
		}
	}
	if !isLost(lease) || !errors.Is(lease.Check(soon(t)), ErrLost) {
		t.Error("a released lease is not lost")
	}
	if _, ok, err := l.Holder(soon(t)); ok || err != nil {
		t.Error(ok, err)
	}
	acquire(t, l)
}

func TestRemovedLockFileLosesTheLease(t *testing.T) {
	dir := t.TempDir()
	lease := acquire(t, NewFile(journal.NewDir(dir), "w1"))
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	other := acquire(t, NewFile(journal.NewDir(dir), "w2"))
	select {
	case <-lease.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("two watchers hold the lock and neither knows")
	}
	if err := lease.Check(soon(t)); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := other.Check(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestStalledDirectoryIsNotALostLock(t *testing.T) {
	dir := journal.NewDir(t.TempDir())
	lease := acquire(t, NewFile(dir, "w1"))
	thaw := make(chan struct{})
	stalled := make(chan struct{})
	go func() {
		_, _ = journal.Do(context.Background(), dir, "hang", func() (struct{}, error) {
			close(stalled)
			<-thaw
			return struct{}{}, nil
		})
	}()
	<-stalled
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := lease.Check(short); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrLost) {
		t.Errorf("check: %v", err)
	}
	if isLost(lease) {
		t.Error("lost")
	}
	if _, err := NewFile(dir, "w2").Acquire(short); !errors.Is(err, ErrUnavailable) || !errors.Is(err, journal.ErrStalled) || errors.Is(err, ErrHeld) {
		t.Errorf("acquire: %v", err)
	}
	close(thaw)
	if err := lease.Check(soon(t)); err != nil {
		t.Errorf("after the stall: %v", err)
	}
}

// A lock that the disk grants after the caller gave up must not stay taken.
func TestLockGrantedTooLateIsGivenBack(t *testing.T) {
	path := t.TempDir()
	token := filepath.Join(path, tokenName)
	if err := syscall.Mkfifo(token, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := journal.NewDir(path)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := NewFile(dir, "w1").Acquire(short); !errors.Is(err, journal.ErrStalled) {
		t.Fatalf("acquire: %v", err)
	}
	w, err := os.OpenFile(token, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("5\n"); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	// The same directory: the late attempt has ended when this one begins.
	if lease := acquire(t, NewFile(dir, "w2")); lease.Token() != 7 {
		t.Errorf("token %d, want 7: 6 was drawn by the late attempt", lease.Token())
	}
}

func TestChildrenDoNotInheritTheLock(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	l := NewFile(journal.NewDir(t.TempDir()), "w1")
	lease := acquire(t, l)
	child := exec.Command(sleep, "30")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if err := lease.Release(soon(t)); err != nil {
		t.Fatal(err)
	}
	acquire(t, l)
}

func TestLookingAtTheLockNeverKeepsItFromAWatcher(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	looked := make(chan error, 1)
	go func() {
		l := NewFile(journal.NewDir(dir), "")
		for {
			select {
			case <-stop:
				looked <- nil
				return
			default:
			}
			if _, _, err := l.Holder(context.Background()); err != nil {
				looked <- err
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	for range 20 {
		lease := acquire(t, NewFile(journal.NewDir(dir), "w1"))
		if err := lease.Release(soon(t)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-looked; err != nil {
		t.Error(err)
	}
}

func TestDirectoryThatCannotBeUsedIsUnavailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewFile(journal.NewDir(file), "w1").Acquire(soon(t))
	if !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s/lock: take the lock: mkdir %s: not a directory", file, file); err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}
