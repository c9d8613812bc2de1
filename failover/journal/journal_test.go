package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"failwise/rules"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func probe(i int) Record {
	return Record{Time: time.UnixMilli(int64(i)).UTC(), Kind: Probe, Node: fmt.Sprint("db", i%3), Outcome: rules.OK, Elapsed: time.Millisecond}
}

func readAll(t *testing.T, dir string, q Query) []Record {
	t.Helper()
	var rs []Record
	for r, err := range Read(t.Context(), dir, q) {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func TestJournalGivesBackWhatWasAppendedInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	j, err := Open(Options{Dir: dir, Watcher: "w1", SegmentBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	for i := range n {
		if !j.Append(probe(i)) {
			t.Fatal("dropped")
		}
	}
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	if s := j.Stats(); s.Written != n || s.Dropped != 0 || s.Waiting != 0 || s.Problem != "" {
		t.Errorf("stats %+v", s)
	}
	got := readAll(t, dir, Query{})
	if len(got) != n {
		t.Fatalf("%d records", len(got))
	}
	for i, r := range got {
		want := probe(i)
		if r.Watcher != "w1" || !r.Time.Equal(want.Time) || r.Node != want.Node {
			t.Fatalf("record %d is %+v", i, r)
		}
	}
	if segs, _ := listSegments(dir); len(segs) < 5 {
		t.Errorf("only %d files of 4 KiB", len(segs))
	}
	if j.Append(probe(0)) {
		t.Error("appended after Close")
	}
}

func TestJournalStaysWithinItsBound(t *testing.T) {
	dir := t.TempDir()
	const segment, limit = 8 << 10, 32 << 10
	j, err := Open(Options{Dir: dir, SegmentBytes: segment, MaxBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		j.Append(probe(i))
		if i%100 == 0 {
			if err := j.Flush(soon(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	var total int64
	segs, err := listSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range segs {
		info, err := os.Stat(filepath.Join(dir, segmentName(n)))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > limit || total < limit/3 {
		t.Errorf("%d bytes in %d files, limit %d", total, len(segs), limit)
	}
	got := readAll(t, dir, Query{})
	if last := got[len(got)-1]; !last.Time.Equal(probe(4999).Time) {
		t.Errorf("the newest record is of %s", last.Time)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Time.Sub(got[i-1].Time) != time.Millisecond {
			t.Fatalf("a gap after %s", got[i-1].Time)
		}
	}
}

func TestTwoWatchersShareADirectory(t *testing.T) {
	dir := t.TempDir()
	const n = 2000
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			j, err := Open(Options{Dir: dir, Watcher: fmt.Sprint("w", w), SegmentBytes: 16 << 10, MaxBytes: 1 << 30})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range n {
				j.Append(probe(i))
			}
			if err := j.Close(soon(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for w := range 2 {
		if got := readAll(t, dir, Query{Watcher: fmt.Sprint("w", w)}); len(got) != n {
			t.Errorf("%d records of watcher %d, want %d", len(got), w, n)
		}
	}
}

func TestJournalGoesOnAfterATornLine(t *testing.T) {
	dir := t.TempDir()
	whole, _ := probe(1).line()
	torn := append(whole, whole[:len(whole)/2]...)
	name := filepath.Join(dir, segmentName(7))
	if err := os.WriteFile(name, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, dir, Query{}); len(got) != 1 {
		t.Errorf("before: %d records", len(got))
	}
	j, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	j.Append(probe(2))
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	var good, damaged int
	for _, err := range Read(t.Context(), dir, Query{}) {
		var line *LineError
		switch {
		case err == nil:
			good++
		case errors.As(err, &line) && line.File == name && line.Line == 2:
			damaged++
		default:
			t.Error(err)
		}
	}
	if good != 2 || damaged != 1 {
		t.Errorf("%d good lines and %d damaged ones", good, damaged)
	}
}

func TestFullDiskCostsRecordsAndIsReported(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skip("this system has no /dev/full")
	}
	dir := t.TempDir()
	full := filepath.Join(dir, segmentName(1))
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		j.Append(probe(i))
	}
	if err := j.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	if s := j.Stats(); s.Dropped != 10 || s.Problem == "" {
		t.Errorf("stats %+v", s)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for i := 10; j.Stats().Written == 0 && time.Now().Before(deadline); i++ {
		j.Append(probe(i))
		time.Sleep(50 * time.Millisecond)
	}
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	s := j.Stats()
	lost := readAll(t, dir, Query{Kinds: []Kind{Dropped}})
	if len(lost) != 1 || s.Problem != "" {
		t.Fatalf("records of loss %+v, stats %+v", lost, s)
	}
	if want := fmt.Sprintf("%d records lost: write the journal: write %s: no space left on device", s.Dropped, full); lost[0].Message != want {
		t.Errorf("got  %s\nwant %s", lost[0].Message, want)
	}
}

// fakeDisk stalls while its gate is shut.
type fakeDisk struct {
	mu    sync.Mutex
	gate  chan struct{}
	lines int
	syncs int
	errs  error
}

func (d *fakeDisk) pass() error {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return d.errs
}

func (d *fakeDisk) open() error { return d.pass() }
func (d *fakeDisk) write(b []byte) error {
	err := d.pass()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range b {
		if c == '\n' {
			d.lines++
		}
	}
	return err
}
func (d *fakeDisk) sync() error  { d.mu.Lock(); d.syncs++; d.mu.Unlock(); return d.pass() }
func (d *fakeDisk) close() error { return d.pass() }

func TestStalledDiskCostsRecordsNotTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		d := &fakeDisk{gate: gate}
		opts, err := Options{Dir: "d", Queue: 100}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		j := start(opts, d)
		begin := time.Now()
		kept := 0
		for i := range 1000 {
			if j.Append(probe(i)) {
				kept++
			}
		}
		if took := time.Since(begin); took != 0 || kept != 100 {
			t.Errorf("%d records kept in %s", kept, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for name, err := range map[string]error{"Ready": j.Ready(ctx), "Flush": j.Flush(ctx), "Close": j.Close(ctx)} {
			if !errors.Is(err, ErrStalled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s := j.Stats(); s.Stalled != time.Second || s.Dropped != 900 || s.Waiting != 100 {
			t.Errorf("stats %+v", s)
		}
		close(gate)
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if s := j.Stats(); s.Written != 100 || s.Waiting != 0 || s.Stalled != 0 || d.lines != 101 {
			t.Errorf("after: %+v, %d lines on disk: want the records and one that counts the lost", s, d.lines)
		}
	})
}

func TestWrittenRecordsAreSyncedWithinTheInterval(t *testing.T) {
	for every, want := range map[time.Duration]int{time.Second: 10, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := &fakeDisk{}
			opts, err := Options{Dir: "d", SyncEvery: every}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			j := start(opts, d)
			for range 100 {
				j.Append(Record{Time: time.Now(), Kind: Note, Message: "news"})
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if d.syncs < want-1 || d.syncs > want {
				t.Errorf("SyncEvery %s: %d syncs in 10 s, want %d", every, d.syncs, want)
			}
			if err := j.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProbesWithoutNewsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDisk{}
		opts, err := Options{Dir: "d"}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		j := start(opts, d)
		at := func(lines, syncs int) {
			t.Helper()
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.lines != lines || d.syncs != syncs {
				t.Errorf("%d lines, %d syncs; want %d and %d", d.lines, d.syncs, lines, syncs)
			}
		}
		j.Append(probe(0))
		time.Sleep(900 * time.Millisecond)
		j.Append(probe(1))
		at(0, 0)
		time.Sleep(100 * time.Millisecond)
		at(2, 0) // written a second after the first
		time.Sleep(29 * time.Second)
		at(2, 0)
		time.Sleep(time.Second)
		at(2, 1)
		j.Append(probe(2))
		j.Append(Record{Time: time.Now(), Kind: Note, Message: "news"})
		at(4, 1) // news waits for nothing, and takes along what does
		time.Sleep(time.Second)
		at(4, 2)
		j.Append(probe(3))
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		at(5, 3)
	})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []Options{{}, {Dir: "d", SegmentBytes: 10, MaxBytes: 19}, {Dir: "d", Queue: -1}, {Dir: "d", SegmentBytes: -1}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v accepted", o)
		}
	}
}

func TestJournalReportsADirectoryItCannotUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Dir: filepath.Join(file, "sub")})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Ready(soon(t)); err == nil {
		t.Error("ready")
	}
	if err := j.Close(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestJournalFollowsARemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	j, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	j.Append(probe(1))
	if err := j.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	j.Append(probe(2))
	if err := j.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, dir, Query{}); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

func BenchmarkAppend(b *testing.B) {
	j, err := Open(Options{Dir: b.TempDir(), Queue: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	r := probe(1)
	b.ReportAllocs()
	for b.Loop() {
		j.Append(r)
	}
	b.StopTimer()
	b.ReportMetric(float64(j.Stats().Dropped), "dropped")
	if err := j.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
