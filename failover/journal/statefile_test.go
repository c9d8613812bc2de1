package journal

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStateSurvives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c1")
	at := time.Date(2026, 3, 1, 3, 12, 0, 0, time.UTC)
	want := State{
		Policy:       PolicyState{Mode: "maintenance", Reason: "kernel update", By: "ann", Since: at, Until: at.Add(time.Hour), Then: "automatic"},
		NodePolicy:   map[string]PolicyState{"db2": {Mode: "maintenance", Since: at}},
		QuotaUsed:    1,
		LastFailover: FailoverState{Time: at, OldPrimary: "db1", NewPrimary: "db2"},
		Shunned:      map[string]ShunState{"db1": {Reason: "failed_over_to db2", Since: at}},
		Topology:     json.RawMessage(`{"primary":"db2"}`),
		TopologySeen: at,
		Extra:        map[string]json.RawMessage{"promote": json.RawMessage(`[1]`)},
	}
	s := NewStateFile(NewDir(dir))
	empty, none, err := s.Load(soon(t))
	if err != nil || !cmp.Equal(empty, State{}) {
		t.Fatalf("no file: %+v, %v", empty, err)
	}
	_, v1, err := s.Update(soon(t), func(st *State) error { *st = want; return nil })
	if err != nil {
		t.Fatal(err)
	}
	got, v, err := NewStateFile(NewDir(dir)).Load(soon(t))
	if err != nil || v != v1 || v == none {
		t.Fatalf("version %+v, want %+v: %v", v, v1, err)
	}
	var compact State
	b, _ := json.Marshal(got)
	if err := json.Unmarshal(b, &compact); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, compact); diff != "" {
		t.Error(diff)
	}
	if changed, err := s.Changed(soon(t), v1); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	if _, _, err := NewStateFile(NewDir(dir)).Update(soon(t), func(st *State) error { st.QuotaUsed = 0; return nil }); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Changed(soon(t), v1); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	info, err := os.Stat(filepath.Join(dir, stateName))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v: others could read it", info.Mode(), err)
	}
}

func TestRefusedChangeLeavesTheState(t *testing.T) {
	s := NewStateFile(NewDir(t.TempDir()))
	no := errors.New("no")
	if _, _, err := s.Update(soon(t), func(st *State) error { st.QuotaUsed = 9; return no }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if st, _, err := s.Load(soon(t)); err != nil || st.QuotaUsed != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestUpdatesOfSeveralWritersAreAllKept(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	const writers, each = 4, 25
	for range writers {
		wg.Go(func() {
			s := NewStateFile(NewDir(dir)) // its own, as another process has
			for range each {
				if _, _, err := s.Update(soon(t), func(st *State) error { st.QuotaUsed++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if st, _, err := NewStateFile(NewDir(dir)).Load(soon(t)); err != nil || st.QuotaUsed != writers*each {
		t.Errorf("%d updates kept of %d: %v", st.QuotaUsed, writers*each, err)
	}
}

func TestDamagedStateIsNeitherReadNorOverwritten(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, stateName)
	if err := os.WriteFile(name, []byte(`{"quota_used": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStateFile(NewDir(dir))
	var damaged *StateError
	if _, _, err := s.Load(soon(t)); !errors.As(err, &damaged) || damaged.File != name {
		t.Errorf("Load: %v", err)
	}
	if _, _, err := s.Update(soon(t), func(st *State) error { st.QuotaUsed = 0; return nil }); !errors.As(err, &damaged) {
		t.Errorf("Update: %v", err)
	}
	if b, _ := os.ReadFile(name); string(b) != `{"quota_used": 1` {
		t.Errorf("now %q", b)
	}
}

func TestStalledStateIsWaitedForOnlyAsLongAsAllowed(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, stateName)
	// Opening a FIFO for reading blocks until somebody writes to it.
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStateFile(NewDir(dir))
	var stalled *StalledError
	for i, behind := range []bool{false, true, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begin := time.Now()
		_, _, err := s.Load(ctx)
		cancel()
		if !errors.As(err, &stalled) || stalled.Behind != behind {
			t.Errorf("load %d: %v", i, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("load %d took %s", i, took)
		}
	}
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(`{"quota_used": 3}`); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(soon(t)); err != nil {
		t.Errorf("after the stall: %v", err)
	}
}

func TestStateLockHeldElsewhereIsNamed(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockState(filepath.Join(dir, stateLockName))
	if err != nil {
		t.Fatal(err)
	}
	s := NewStateFile(NewDir(dir))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := s.Update(ctx, func(st *State) error { st.QuotaUsed = 9; return nil }); !errors.Is(err, ErrStateLocked) {
		t.Errorf("update: %v", err)
	}
	if _, _, err := s.Load(soon(t)); err != nil {
		t.Errorf("load needs no lock: %v", err)
	}
	unlock()
	if st, _, err := s.Update(soon(t), func(*State) error { return nil }); err != nil || st.QuotaUsed != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A child updates the state as fast as it can and is killed at random moments:
// what is on disk is always a whole state, and never an older one.
func TestStateIsWholeAfterSIGKILL(t *testing.T) {
	if dir := os.Getenv("FAILWISE_TEST_UPDATE_STATE"); dir != "" {
		s := NewStateFile(NewDir(dir))
		for {
			if _, _, err := s.Update(context.Background(), func(st *State) error {
				st.QuotaUsed++
				st.Policy.Reason = strings.Repeat("x", 20_000)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := NewStateFile(NewDir(dir))
	last := 0
	for i := range 8 {
		child := exec.Command(exe, "-test.run=^TestStateIsWholeAfterSIGKILL$")
		child.Env = append(os.Environ(), "FAILWISE_TEST_UPDATE_STATE="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if st, _, err := s.Load(soon(t)); err == nil && st.QuotaUsed > last {
				break
			}
		}
		time.Sleep(time.Duration(i) * 3 * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		st, _, err := s.Load(soon(t))
		if err != nil || st.QuotaUsed <= last || len(st.Policy.Reason) != 20_000 {
			t.Fatalf("round %d: %d after %d, %v", i, st.QuotaUsed, last, err)
		}
		last = st.QuotaUsed
	}
	if _, _, err := s.Update(soon(t), func(*State) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestClusterDirKeepsClustersApart(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "/s/orders", "a/b": "/s/a%2Fb", "..": "/s/%2E.", ".x": "/s/%2Ex", "": "/s/%", "a b": "/s/a%20b", "a%2Fb": "/s/a%252Fb", "ö": "/s/%C3%B6", "db-1_x.y": "/s/db-1_x.y",
	} {
		if got := ClusterDir("/s", name); got != want {
			t.Errorf("ClusterDir(%q) = %s, want %s", name, got, want)
		}
	}
}
