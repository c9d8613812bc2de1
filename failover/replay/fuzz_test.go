package replay_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/replay"
	"failwise/rules"
)

// located reports whether an error says where it is, on one line.
func located(err error) bool {
	var bad *replay.FileError
	return errors.As(err, &bad) && bad.Line >= 0 && bad.Msg != "" && !strings.ContainsAny(bad.Error(), "\n")
}

// Whatever stands in a scenario file: it runs, or the error is located.
func FuzzScenario(f *testing.F) {
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, src := range []string{
		"", "---\n---", "a: &a [*a]", "<<: {a: 1}", "cluster: &c {<<: *c}", "tests: [{<<: [1]}]",
		"cluster: {db1: primary}\ntests: [{name: x, until: 9s, expect: [{stage: up, node: db1, at: 3s}]}]",
		"cluster: {a: primary, b: replica}\ntests:\n  - &t {name: x, until: 9s, steps: [{at: 1s, a: socket_io_error, pause: 3s}], expect: []}\n  - *t\n  - {<<: *t, name: y}",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4096 || bytes.Contains(src, []byte("h")) && bytes.Count(src, []byte("0")) > 100 {
			return // it would only be slow
		}
		file, err := replay.Parse("f.yaml", src, func(string) ([]byte, error) { return src, nil })
		if err != nil {
			if !located(err) {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		for _, test := range file.Tests {
			if test.Effort() > 20_000 {
				continue
			}
			if _, err := test.Run(); err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Fatalf("%q: %v", src, err)
			}
		}
	})
}

// Whatever stands in a timeline: it is replayed, or the error is located; under
// KeepGoing each row is either used or told to be skipped; two equal sides never
// differ.
func FuzzTimeline(f *testing.F) {
	f.Add([]byte(refused))
	f.Add([]byte(rfc(refused, "2026-03-01T21:11:0%d.123456789Z")))
	f.Add([]byte("{\"time\":\"0s\",\"node\":\"a\",\"outcome\":\"ok\"}\n{\"time\":\"1s\",\"kind\":\"fact\",\"data\":{\"at\":1,\"fact\":{\"fact\":\"coordinator\"}}}\n"))
	f.Add([]byte("{\"time\":\"0s\",\"kind\":\"start\",\"data\":{\"nodes\":[{\"name\":\"a\",\"role\":\"primary\"}]}}\n{\"time\":\"0s\",\"node\":\"a\",\"outcome\":\"ok\"}"))
	f.Add([]byte("time,node,outcome\n\"0s\",\"a\nb\",ok\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			return // it would only be slow
		}
		o := replay.Options{Sides: []replay.Side{side(rules.Couchbase), side(rules.Couchbase)}}
		if _, err := replay.Timeline(context.Background(), "f.csv", bytes.NewReader(src), o); err != nil && !located(err) {
			t.Fatalf("%q: %v", src, err)
		}
		skipped, last := int64(0), time.Duration(-1)
		o.KeepGoing = true
		o.Skipped = func(*replay.FileError) { skipped++ }
		o.Events = func(at time.Duration, _ [][]failover.Event) {
			if at < last {
				t.Fatalf("%q: events go back from %s to %s", src, last, at)
			}
			last = at
		}
		r, err := replay.Timeline(context.Background(), "f.csv", bytes.NewReader(src), o)
		if err != nil {
			if !located(err) {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		if r.Skipped != skipped || r.Difference != nil {
			t.Fatalf("%q: report %+v, %d rows told to be skipped", src, r, skipped)
		}
	})
}
