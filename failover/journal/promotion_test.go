package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 3, 1, 3, 12, 0, 123e6, time.UTC)

func failover(token uint64) Operation {
	return Operation{Kind: OpFailover, Time: began, Token: token, By: "w1", OldPrimary: "db1", NewPrimary: "db2", Plan: json.RawMessage(`{"steps":["fence"]}`)}
}

func TestUnfinishedOperationIsFoundAndResumed(t *testing.T) {
	dir := NewDir(t.TempDir())
	if got, err := Unfinished(soon(t), dir); len(got) != 0 || err != nil {
		t.Fatal(got, err)
	}
	l, err := BeginOperation(soon(t), dir, failover(7))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []StepEntry{
		{Time: began, Mark: StepBegin, Step: "starve", Target: "db2"},
		{Time: began, Mark: StepDone, Step: "starve", Target: "db2"},
		{Time: began, Mark: StepBegin, Step: "fence", Target: "db1", Data: json.RawMessage(`{"x":1}`)},
	} {
		if err := l.Step(soon(t), e); err != nil {
			t.Fatal(err)
		}
		// On disk before the step is done: another process would see it.
		found, err := Unfinished(soon(t), NewDir(dir.Path()))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if got := found[0].Last(e.Step, e.Target); got != e.Mark {
			t.Errorf("%s is %v, want %v", e.Step, got, e.Mark)
		}
	}
	if err := l.Close(soon(t)); err != nil { // the watcher dies here
		t.Fatal(err)
	}
	if err := l.Step(soon(t), StepEntry{}); err == nil {
		t.Error("step after Close")
	}

	found, err := Unfinished(soon(t), dir)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	want := failover(7)
	want.ID = "20260301T031200.123Z-7"
	if diff := cmp.Diff(want, found[0].Operation); diff != "" {
		t.Error(diff)
	}
	if found[0].Last("starve", "db2") != StepDone || found[0].Last("fence", "db1") != StepBegin || found[0].Last("open", "db2") != MarkUnset {
		t.Errorf("entries %+v", found[0].Entries)
	}
	r := ResumeOperation(dir, found[0])
	if err := r.Step(soon(t), StepEntry{Time: began, Mark: StepDone, Step: "fence", Target: "db1"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(soon(t), began.Add(time.Second), "done", "db2 is the primary"); err != nil {
		t.Fatal(err)
	}
	if found, err := Unfinished(soon(t), dir); len(found) != 0 || err != nil {
		t.Fatal(found, err)
	}
	all, err := Operations(soon(t), dir)
	if err != nil || len(all) != 1 || len(all[0].Entries) != 6 {
		t.Fatal(all, err)
	}
	for i, e := range all[0].Entries {
		if e.Seq != i {
			t.Errorf("entry %d has seq %d", i, e.Seq)
		}
	}
	if result, ok := all[0].Ended(); !ok || result != "done" {
		t.Errorf("ended %q, %v", result, ok)
	}
}

func TestCutOffPromotionLogIsStillFound(t *testing.T) {
	dir := NewDir(t.TempDir())
	l, err := BeginOperation(soon(t), dir, failover(3))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Step(soon(t), StepEntry{Time: began, Mark: StepBegin, Step: "starve"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir.Path(), operationsName, l.Operation().ID+operationSuffix)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) {
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Unfinished(soon(t), dir)
		if err != nil || len(found) != 1 || found[0].Operation.ID != l.Operation().ID {
			t.Fatalf("cut at %d: %+v, %v", cut, found, err)
		}
		if cut%50 != 0 {
			continue
		}
		r := ResumeOperation(dir, found[0])
		if err := r.Finish(soon(t), began, "undone", ""); err != nil {
			t.Fatal(err)
		}
		if found, err := Unfinished(soon(t), dir); err != nil || len(found) != 0 {
			t.Fatalf("cut at %d, finished: %+v, %v", cut, found, err)
		}
	}
}

func TestOldFinishedOperationsAreDeletedUnfinishedKept(t *testing.T) {
	dir := NewDir(t.TempDir())
	path := filepath.Join(dir.Path(), operationsName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	ended, err := json.Marshal(StepEntry{Seq: 1, Time: began, Mark: OperationEnded, Result: "done"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range keepOperations + 20 {
		content := append(ended, '\n')
		if i == 5 {
			content = nil
		}
		if err := os.WriteFile(filepath.Join(path, fmt.Sprintf("2026%04d-1.jsonl", i)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Operations(soon(t), dir)
	if err != nil || len(all) != keepOperations+1 || all[0].Operation.ID != "20260005-1" {
		t.Errorf("%d logs, first %+v, %v", len(all), all[0], err)
	}
	if left, _ := os.ReadDir(path); len(left) != keepOperations+1 {
		t.Errorf("%d files left", len(left))
	}
}

// fakeLog is a log file behind a gate, or one that fails.
type fakeLog struct {
	gate chan struct{}
	err  error
	got  []byte
}

func (f *fakeLog) Write(b []byte) (int, error) {
	if f.gate != nil {
		<-f.gate
	}
	if f.err != nil {
		return 0, f.err
	}
	f.got = append(f.got, b...)
	return len(b), nil
}
func (f *fakeLog) Sync() error  { return f.err }
func (f *fakeLog) Close() error { return nil }

func TestStalledPromotionLogCostsOneSecondOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLog{gate: make(chan struct{})}
		op := failover(1)
		op.ID = "x"
		l := newPromotionLog("d", op, 0)
		l.open = func() (logFile, error) { return f, nil }
		go l.run()
		begin := time.Now()
		if err := l.begin(t.Context()); !errors.Is(err, ErrStalled) || time.Since(begin) != SyncWait {
			t.Errorf("begin: %v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		for i := range 10 {
			if err := l.Step(t.Context(), StepEntry{Mark: StepBegin, Step: fmt.Sprint(i)}); !errors.Is(err, ErrStalled) {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("ten more steps took %s", took)
		}
		close(f.gate)
		synctest.Wait()
		if err := l.Step(t.Context(), StepEntry{Mark: StepBegin, Step: "10"}); err != nil {
			t.Errorf("after the stall: %v", err)
		}
		if err := l.Finish(t.Context(), began, "done", ""); err != nil {
			t.Error(err)
		}
		o := parseOperation("x", f.got)
		if len(o.Entries) != 13 {
			t.Errorf("%d entries reached the disk, want 13", len(o.Entries))
		}
	})
}

func TestFailedWritesArriveWithTheNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLog{err: errors.New("no space left on device")}
		op := failover(1)
		op.ID = "x"
		l := newPromotionLog("d", op, 0)
		l.open = func() (logFile, error) { return f, nil }
		go l.run()
		if err := l.begin(t.Context()); !errors.Is(err, f.err) {
			t.Errorf("begin: %v", err)
		}
		f.err = nil
		if err := l.Step(t.Context(), StepEntry{Mark: StepBegin, Step: "starve"}); err != nil {
			t.Error(err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if o := parseOperation("x", f.got); len(o.Entries) != 2 || o.Operation.OldPrimary != "db1" {
			t.Errorf("%+v", o)
		}
	})
}

func TestStepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLog{gate: make(chan struct{})}
		l := newPromotionLog("d", Operation{ID: "x"}, 0)
		l.open = func() (logFile, error) { return f, nil }
		go l.run()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if err := l.Step(ctx, StepEntry{Mark: StepBegin}); !errors.Is(err, ErrStalled) || time.Since(begin) != 100*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		if err := l.Close(t.Context()); !errors.Is(err, ErrStalled) {
			t.Errorf("close: %v", err)
		}
		close(f.gate)
		<-l.done
	})
}
