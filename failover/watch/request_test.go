package watch

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"failwise/failover/promote"
)

// idle is a watcher whose loop does not run.
func idle(t *testing.T) *Watcher {
	t.Helper()
	w, err := New(muteConfig(t, refusing(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func TestAnAnswerThatCameBeforeTheLoopEndedIsGiven(t *testing.T) {
	for range 32 {
		w := idle(t)
		answer := make(chan Answer, 1)
		go func() { answer <- w.Request(context.Background(), Request{Operation: "switch"}, nil) }()
		(<-w.inbox)()
		close(w.done)
		if a := <-answer; errors.Is(a.Err, ErrStopped) {
			t.Fatalf("the answer was lost: %v", a.Err)
		}
	}
}

func TestASecondRequestDoesNotTakeTheFirstOnesPlace(t *testing.T) {
	w := idle(t)
	first := &operation{}
	w.forced = first
	var refusal error
	w.begin(context.Background(), Request{Operation: "failover"}, nil, func(_ promote.Result, err error) { refusal = err })
	if !errors.Is(refusal, ErrBusy) || w.forced != first {
		t.Errorf("refusal %v; the first is still waiting: %v", refusal, w.forced == first)
	}
}

func TestAWatcherThatStopsBeginsNothing(t *testing.T) {
	w := idle(t)
	w.stopped = true
	var refusal error
	w.begin(context.Background(), Request{Operation: "switch"}, nil, func(_ promote.Result, err error) { refusal = err })
	if !errors.Is(refusal, ErrStopped) {
		t.Errorf("refusal %v", refusal)
	}
}

func TestACommandThatAsksNothingDoesNotKeepTheWatcher(t *testing.T) {
	cfg := muteConfig(t, refusing(t))
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := w.Run(ctx)
		ended <- err
	}()
	var c net.Conn
	for limit := time.Now().Add(20 * time.Second); ; {
		if c, err = net.Dial("unix", filepath.Join(cfg.Dir, controlName)); err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	defer func() { _ = c.Close() }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the watcher has not ended")
	}
}

func TestWatcherThatLostTheLockLeavesItsSuccessorsSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), controlName)
	first, err := listenControl(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := listenControl(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the successor cannot be reached: %v", err)
	}
	_ = c.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("unix", path); err == nil {
		t.Error("a closed socket answers")
	}
}
