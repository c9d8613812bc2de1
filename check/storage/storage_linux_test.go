package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"failwise/check/storage/loopdisk"
)

func TestMain(m *testing.M) {
	if handled, code := RunChild(os.Args); handled {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

const mib = 1 << 20

// one probes one path within a limit, which it must keep.
func one(t *testing.T, path string, limit time.Duration) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	r := Check(ctx, Options{Paths: []string{path}})[0]
	if took := time.Since(begin); took > limit+time.Second {
		t.Errorf("took %s, limit %s", took, limit)
	}
	t.Logf("%s: %s %+v", r.Condition, r.Message, r)
	return r
}

// data puts a file worth reading on a disk.
func data(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "data")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, mib)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// noneLeft waits until no child of ours is left for path.
func noneLeft(t *testing.T, path string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := children(t, path)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there after the disk returned: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// children lists this process's children, zombies among them.
func children(t *testing.T, _ string) []string {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range procs {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		after := string(b[strings.LastIndexByte(string(b), ')')+1:])
		if f := strings.Fields(after); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			found = append(found, name+" "+f[0])
		}
	}
	return found
}

func TestHealthyDisk(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	file := data(t, d.Dir)
	r := one(t, d.Dir, 20*time.Second)
	if r.Condition != OK || r.HungIn != "" || len(r.Notes) != 0 {
		t.Errorf("condition %s, hung in %q, notes %q", r.Condition, r.HungIn, r.Notes)
	}
	if r.Write == nil || !r.Write.Direct || r.Write.Seconds <= 0 || r.Write.Error != "" {
		t.Errorf("write %+v", r.Write)
	}
	if r.Read == nil || !r.Read.Direct || r.Read.Seconds <= 0 || r.Read.File != file {
		t.Errorf("read %+v", r.Read)
	}
	if r.Space == nil || r.Space.FreePercent < 50 || r.Space.InodesFree == 0 || r.Space.ReadOnly {
		t.Errorf("space %+v", r.Space)
	}
	if r.Device == nil || "/dev/"+r.Device.Name != d.Device || r.Device.Finished < 4 {
		t.Errorf("device %+v: at least three writes and a read were done on it", r.Device)
	}
	if r.Mount == nil || r.Mount.Point != d.Dir || r.Mount.Type != "ext4" {
		t.Errorf("mount %+v", r.Mount)
	}
	if left, _ := os.ReadDir(d.Dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	noneLeft(t, d.Dir)
}

func TestFrozenDisk(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	data(t, d.Dir)
	thaw := d.Freeze()
	r := one(t, d.Dir, 2*time.Second)
	if r.Condition != Stalled || r.HungIn != StepCreate && r.HungIn != StepWrite {
		t.Errorf("%s, hung in %q", r.Condition, r.HungIn)
	}
	if !strings.HasPrefix(r.Message, "stalled: no request in flight, ") || !strings.Contains(r.Message, "has not returned in 2.0 s") && !strings.Contains(r.Message, "has not returned in 1.") {
		t.Errorf("message %q", r.Message)
	}
	if r.Read == nil || r.Read.Error != "" {
		t.Errorf("read %+v: a frozen file system can be read", r.Read)
	}
	if n := len(children(t, d.Dir)); n != 1 {
		t.Errorf("%d children on the frozen disk, want the abandoned one", n)
	}

	// Another check of the same path does not add a second stuck process.
	again := one(t, d.Dir, time.Second)
	if again.Condition != Stalled || again.HungIn != StepTurn || !strings.Contains(again.Message, "an earlier probe of this path (pid ") {
		t.Errorf("second probe: %s %q", again.HungIn, again.Message)
	}
	if r.WaitsIn == "" {
		t.Log("this kernel does not show where a process waits")
	} else if again.WaitsIn != r.WaitsIn {
		t.Errorf("the second probe says the first waits in %q, the first said %q", again.WaitsIn, r.WaitsIn)
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(children(t, d.Dir)) != 1 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if n := len(children(t, d.Dir)); n != 1 {
		t.Errorf("%d children after the second probe, want 1", n)
	}

	thaw()
	noneLeft(t, d.Dir)
	if r := one(t, d.Dir, 20*time.Second); r.Condition != OK {
		t.Errorf("after the thaw: %s", r.Message)
	}
	if left, _ := os.ReadDir(d.Dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestThrottledDisk(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	file := data(t, d.Dir)
	heal := d.Throttle(1)
	r := one(t, file, 3*time.Second)
	if r.Condition != Stalled || !strings.Contains(r.Message, " has not returned in ") {
		t.Errorf("%s: %s", r.Condition, r.Message)
	}
	if r.Read == nil || r.Read.Error != "timeout" {
		t.Errorf("read %+v", r.Read)
	}
	heal()
	noneLeft(t, d.Dir)
	if r := one(t, d.Dir, 30*time.Second); r.Condition != OK {
		t.Errorf("after the throttle: %s", r.Message)
	}
}

func TestSlowDiskIsMeasured(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	data(t, d.Dir)
	heal := d.Throttle(32 << 10)
	r := one(t, d.Dir, 30*time.Second)
	heal()
	if r.Condition != OK || r.Write == nil || r.Write.Seconds < 0.1 {
		t.Errorf("%s: 4 KiB at 32 KiB/s take at least 125 ms, write %+v", r.Message, r.Write)
	}
	noneLeft(t, d.Dir)
}

func TestDeviceThatFinishesNothing(t *testing.T) {
	under := loopdisk.New(t, 64*mib)
	d := loopdisk.NewOn(under, 16*mib)
	data(t, d.Dir)
	thaw := under.Freeze()
	r := one(t, d.Dir, 3*time.Second)
	if !regexp.MustCompile(`^stalled: [1-9]\d* requests? in flight, none finished in [23]\.\d s, (writing one block|fsync) has not returned in [23]\.\d s \(ext4 on loop\d+\)$`).MatchString(r.Message) {
		t.Errorf("message %q", r.Message)
	}
	if r.Device == nil || r.Device.InFlight == 0 || r.Device.NoneFinishedFor < 1.5 {
		t.Errorf("device %+v", r.Device)
	}
	thaw()
	noneLeft(t, d.Dir)
}

func TestFullDisk(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	data(t, d.Dir)
	heal := d.Fill()
	r := one(t, d.Dir, 20*time.Second)
	if r.Condition != Full || !strings.HasPrefix(r.Message, "full: no space left for one block of 4 KiB") || r.Write.Error != "ENOSPC" {
		t.Errorf("%s: %s", r.Condition, r.Message)
	}
	if r.Space == nil || r.Space.FreePercent != 0 || r.Read == nil || r.Read.Error != "" {
		t.Errorf("space %+v, read %+v", r.Space, r.Read)
	}
	heal()
	if r := one(t, d.Dir, 20*time.Second); r.Condition != OK {
		t.Errorf("after room was made: %s", r.Message)
	}
	noneLeft(t, d.Dir)
}

func TestReadOnlyDisk(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	data(t, d.Dir)
	heal := d.ReadOnly()
	r := one(t, d.Dir, 20*time.Second)
	if r.Condition != ReadOnly || !strings.HasPrefix(r.Message, "read-only: mounted read-only") {
		t.Errorf("%s: %s", r.Condition, r.Message)
	}
	if r.Space == nil || !r.Space.ReadOnly || r.Mount == nil || !r.Mount.ReadOnly || r.Read == nil || r.Read.Error != "" {
		t.Errorf("space %+v, mount %+v, read %+v", r.Space, r.Mount, r.Read)
	}
	heal()
	if r := one(t, d.Dir, 20*time.Second); r.Condition != OK {
		t.Errorf("after the remount: %s", r.Message)
	}
	noneLeft(t, d.Dir)
}

func TestDiskThatAnswersWithErrors(t *testing.T) {
	d := loopdisk.New(t, 16*mib)
	data(t, d.Dir)
	d.ShutDown()
	r := one(t, d.Dir, 20*time.Second)
	if r.Condition != IOError || !strings.HasPrefix(r.Message, "I/O error: ") || !strings.Contains(r.Message, "failed with EIO") {
		t.Errorf("%s: %s", r.Condition, r.Message)
	}
	noneLeft(t, d.Dir)
}

func TestSickDiskDoesNotDelayAHealthyOne(t *testing.T) {
	sick := loopdisk.New(t, 16*mib)
	healthy := t.TempDir()
	thaw := sick.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	rs := Check(ctx, Options{Paths: []string{sick.Dir, healthy}})
	if rs[0].Path != sick.Dir || rs[0].Condition != Stalled || rs[1].Path != healthy || rs[1].Condition != OK || rs[1].Elapsed > 4.9 {
		t.Errorf("%+v", rs)
	}
	thaw()
	noneLeft(t, sick.Dir)
}
