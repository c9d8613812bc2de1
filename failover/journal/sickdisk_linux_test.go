package journal

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"failwise/check/storage/loopdisk"
)

const mib = 1 << 20

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal(what)
}

func TestFrozenDiskDelaysNothing(t *testing.T) {
	disk := loopdisk.New(t, 16*mib)
	path := filepath.Join(disk.Dir, "c1")
	j, err := Open(Options{Dir: path, Queue: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	dir := NewDir(path)
	state := NewStateFile(dir)
	if _, _, err := state.Update(soon(t), func(s *State) error { s.QuotaUsed = 1; return nil }); err != nil {
		t.Fatal(err)
	}
	log, err := BeginOperation(soon(t), dir, failover(1))
	if err != nil {
		t.Fatal(err)
	}

	thaw := disk.Freeze()
	begin := time.Now()
	const n = 5000
	for i := range n {
		j.Append(probe(i))
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("%d appends took %s", n, took)
	}
	begin = time.Now()
	for i, step := range []string{"starve", "fence", "open"} {
		if err := log.Step(t.Context(), StepEntry{Time: began, Mark: StepBegin, Step: step}); !errors.Is(err, ErrStalled) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if took := time.Since(begin); took > SyncWait+time.Second {
		t.Errorf("three steps waited %s", took)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := state.Update(short, func(s *State) error { s.QuotaUsed = 2; return nil }); !errors.Is(err, ErrStalled) {
		t.Errorf("update: %v", err)
	}
	eventually(t, "no stall seen", func() bool { return j.Stats().Stalled > 500*time.Millisecond })
	if s := j.Stats(); s.Dropped == 0 || s.Dropped+s.Waiting+s.Written != n {
		t.Errorf("stats %+v", s)
	}

	thaw()
	eventually(t, "the promotion log did not come back after the thaw", func() bool {
		return log.Step(soon(t), StepEntry{Time: began, Mark: StepNote}) == nil
	})
	if err := log.Finish(soon(t), began, "done", ""); err != nil {
		t.Errorf("finish: %v", err)
	}
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	s := j.Stats()
	if s.Written+s.Dropped != n || s.Written < 1000 {
		t.Errorf("after the thaw: %+v", s)
	}
	if got := readAll(t, path, Query{Kinds: []Kind{Probe}}); uint64(len(got)) != s.Written {
		t.Errorf("%d records on disk, %d written", len(got), s.Written)
	}
	if lost := readAll(t, path, Query{Kinds: []Kind{Dropped}}); len(lost) == 0 {
		t.Error("the loss was not recorded")
	}
	ops, err := Operations(soon(t), dir)
	if err != nil || len(ops) != 1 || len(ops[0].Entries) < 6 {
		t.Errorf("promotion log: %+v, %v", ops, err)
	}
	eventually(t, "the update that was under way did not take effect after the thaw", func() bool {
		st, _, err := state.Load(soon(t))
		return err == nil && st.QuotaUsed == 2
	})
}

func TestFullDiskDelaysNothing(t *testing.T) {
	disk := loopdisk.New(t, 16*mib)
	path := filepath.Join(disk.Dir, "c1")
	dir := NewDir(path)
	j, err := Open(Options{Dir: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	state := NewStateFile(dir)
	if _, _, err := state.Update(soon(t), func(s *State) error { s.QuotaUsed = 1; return nil }); err != nil {
		t.Fatal(err)
	}
	room := disk.Fill()
	// Some may still fit into the last block.
	eventually(t, "no record was lost on a full disk", func() bool {
		for i := range 100 {
			j.Append(probe(i))
		}
		return j.Flush(soon(t)) == nil && j.Stats().Dropped > 0
	})
	if s := j.Stats(); s.Problem == "" {
		t.Errorf("stats %+v", s)
	}
	if _, _, err := state.Update(soon(t), func(s *State) error { s.QuotaUsed = 2; return nil }); err == nil {
		t.Error("the state was replaced on a full disk")
	}
	if st, _, err := state.Load(soon(t)); err != nil || st.QuotaUsed != 1 {
		t.Errorf("state %+v, %v: want the old one", st, err)
	}
	if left, err := filepath.Glob(filepath.Join(path, ".state*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	log, err := BeginOperation(soon(t), dir, failover(1))
	if err == nil {
		t.Error("the intent fitted on a full disk")
	}
	room()
	if err := log.Step(soon(t), StepEntry{Time: began, Mark: StepBegin, Step: "starve"}); err != nil {
		t.Errorf("step after room was made: %v", err)
	}
	if err := log.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if ops, err := Unfinished(soon(t), dir); err != nil || len(ops) != 1 || len(ops[0].Entries) != 2 {
		t.Errorf("promotion log: %+v, %v", ops, err)
	}
	written := j.Stats().Written
	eventually(t, "nothing is written although there is room", func() bool {
		j.Append(probe(1))
		return j.Flush(soon(t)) == nil && j.Stats().Written > written
	})
	if err := j.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if lost := readAll(t, path, Query{Kinds: []Kind{Dropped}}); len(lost) == 0 {
		t.Error("the loss was not recorded")
	}
}
