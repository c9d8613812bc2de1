package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// writeSegments puts records into files of the given lengths.
func writeSegments(t interface{ Fatal(...any) }, dir string, records []Record, lengths []int) {
	var buf []byte
	n := uint64(1)
	flush := func() {
		if err := os.WriteFile(filepath.Join(dir, segmentName(n)), buf, 0o600); err != nil {
			t.Fatal(err)
		}
		n++
		buf = nil
	}
	for _, r := range records {
		line, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		buf = append(buf, line...)
		if len(lengths) > 0 && bytes.Count(buf, []byte{'\n'}) >= lengths[0] {
			flush()
			lengths = lengths[1:]
		}
	}
	flush()
}

func TestReadAndTailEqualANaiveFilter(t *testing.T) {
	root := t.TempDir()
	dirs := 0
	rapid.Check(t, func(t *rapid.T) {
		dirs++
		dir := filepath.Join(root, strconv.Itoa(dirs))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		records := make([]Record, rapid.IntRange(0, 40).Draw(t, "records"))
		for i := range records {
			records[i] = Record{
				Time: time.UnixMilli(rapid.Int64Range(0, 60).Draw(t, "ms")).UTC(),
				Kind: rapid.SampledFrom([]Kind{Probe, Event, Note}).Draw(t, "kind"),
				Node: rapid.SampledFrom([]string{"", "db1", "db2"}).Draw(t, "node"),
			}
		}
		writeSegments(t, dir, records, rapid.SliceOfN(rapid.IntRange(1, 9), 0, 5).Draw(t, "lengths"))
		q := Query{
			Kinds: rapid.SliceOfN(rapid.SampledFrom([]Kind{Probe, Event}), 0, 2).Draw(t, "kinds"),
			Node:  rapid.SampledFrom([]string{"", "db1"}).Draw(t, "of"),
		}
		if rapid.Bool().Draw(t, "since") {
			q.Since = time.UnixMilli(rapid.Int64Range(0, 60).Draw(t, "from"))
		}
		if rapid.Bool().Draw(t, "until") {
			q.Until = time.UnixMilli(rapid.Int64Range(0, 60).Draw(t, "to"))
		}
		want := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return !q.Match(r) })
		got := []Record{}
		for r, err := range Read(context.Background(), dir, q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(append([]Record{}, want...), got); diff != "" {
			t.Fatal(diff)
		}
		n := rapid.IntRange(0, 45).Draw(t, "tail")
		tail, err := Tail(context.Background(), dir, n, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]Record{}, want[max(0, len(want)-n):]...), append([]Record{}, tail...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReadWithoutAJournalYieldsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for r, err := range Read(t.Context(), dir, Query{}) {
		t.Error(r, err)
	}
	if tail, err := Tail(t.Context(), dir, 3, Query{}); len(tail) != 0 || err != nil {
		t.Error(tail, err)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	writeSegments(t, dir, []Record{probe(1), probe(2)}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range Read(ctx, dir, Query{}) {
		n++
		last = err
		cancel()
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d yields, last %v", n, last)
	}
}

func TestDamagedLinesAreNamedAndPassed(t *testing.T) {
	dir := t.TempDir()
	good, _ := probe(1).line()
	content := strings.Join([]string{
		"not json", string(good) + `{"kind":"probe"}`, `{"time":"yesterday"}`, "",
		`{"time":"2026-01-01T00:00:00Z","outcome":"fine"}`, strings.Repeat("x", MaxLine+70_000), string(good) + `{"time":"2026-01-01T00:00:00.000Z","kind":"pro`,
	}, "\n")
	name := filepath.Join(dir, segmentName(1))
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []int
	good2 := 0
	for _, err := range Read(t.Context(), dir, Query{}) {
		var damaged *LineError
		switch {
		case errors.As(err, &damaged):
			lines = append(lines, damaged.Line)
		case err != nil:
			t.Fatal(err)
		default:
			good2++
		}
	}
	if diff := cmp.Diff([]int{1, 3, 4, 6, 7}, lines); diff != "" || good2 != 2 {
		t.Errorf("%d good lines; damaged: %s", good2, diff)
	}
}

func TestSegmentNamesSortAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, 99_999_999).Draw(t, "n")
		if got, ok := parseSegmentName(segmentName(n)); !ok || got != n {
			t.Fatalf("%d became %d", n, got)
		}
		if n > 0 && segmentName(n-1) >= segmentName(n) {
			t.Fatal("order")
		}
	})
	for _, bad := range []string{"journal-1.jsonl", "journal-.jsonl", "journal-00000001.json", "x", "journal-0000000x.jsonl", "journal-000000001.jsonl"} {
		if n, ok := parseSegmentName(bad); ok {
			t.Errorf("%s is %d", bad, n)
		}
	}
}

func FuzzReadSegment(f *testing.F) {
	good, _ := probe(1).line()
	f.Add(good)
	f.Add([]byte(`{"time":"2026-01-01T00:00:00.000Z"`))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1)), content, 0o600); err != nil {
			t.Fatal(err)
		}
		yields := 0
		for r, err := range Read(t.Context(), dir, Query{}) {
			yields++
			var damaged *LineError
			if err != nil && !errors.As(err, &damaged) {
				t.Fatal(err)
			}
			if err != nil {
				continue
			}
			if _, err := r.line(); err != nil {
				t.Fatalf("read but not writable: %v", err)
			}
		}
		if lines := bytes.Count(content, []byte{'\n'}); yields > lines {
			t.Errorf("%d yields from %d lines", yields, lines)
		}
	})
}

func BenchmarkReadSince(b *testing.B) {
	dir := b.TempDir()
	records := make([]Record, 50_000)
	for i := range records {
		records[i] = probe(i)
	}
	writeSegments(b, dir, records, nil)
	b.ReportAllocs()
	for b.Loop() {
		for range Read(context.Background(), dir, Query{Since: probe(49_990).Time}) {
		}
	}
	b.ReportMetric(float64(len(records)*b.N)/b.Elapsed().Seconds(), "records/s")
}
