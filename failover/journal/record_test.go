package journal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"failwise/rules"
)

func TestRecordLineIsWhatReplayReads(t *testing.T) {
	r := Record{
		Time: time.Date(2026, 3, 1, 3, 12, 0, 7_900_000, time.FixedZone("", 3600)), Kind: Probe, Watcher: "w1",
		Node: "db1:3306", Outcome: rules.LoginResponseTimeout, Elapsed: 3001500 * time.Microsecond,
		Message: "no greeting", Data: Data(map[string]string{"phase": "greeting"}),
	}
	got, err := r.line()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-03-01T02:12:00.007Z","kind":"probe","watcher":"w1","node":"db1:3306","outcome":"login_response_timeout","elapsed_ms":3001.5,"message":"no greeting","data":{"phase":"greeting"}}` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestRecordSurvivesItsLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Record{
			Time:    time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms")).UTC(),
			Kind:    Kind(rapid.IntRange(1, int(kindEnd)-1).Draw(t, "kind")),
			Watcher: rapid.String().Draw(t, "watcher"),
			Node:    rapid.String().Draw(t, "node"),
			Outcome: rules.Outcome(rapid.IntRange(0, rules.NumOutcomes-1).Draw(t, "outcome")),
			Elapsed: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "us")) * time.Microsecond,
			Message: rapid.String().Draw(t, "message"),
		}
		line, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(line, []byte{'\n'}); n != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("%d line ends in %q", n, line)
		}
		var got Record
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRecordKeepsItsPlaceWhenItsDataCannotBeWritten(t *testing.T) {
	for name, data := range map[string]json.RawMessage{
		"not JSON":     json.RawMessage(`{"a":`),
		"far too long": Data(strings.Repeat("x", MaxLine)),
		"a channel":    Data(make(chan int)),
	} {
		t.Run(name, func(t *testing.T) {
			line, err := Record{Time: time.Unix(1, 0), Kind: Decision, Node: "db1", Data: data}.line()
			if err != nil {
				t.Fatal(err)
			}
			var got Record
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			if got.Node != "db1" || len(line) > MaxLine || !bytes.Contains(got.Data, []byte("_")) {
				t.Errorf("got %.200s", line)
			}
		})
	}
}

func TestNamesAndParsersAreInverse(t *testing.T) {
	for k := Start; k < kindEnd; k++ {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	for k := OpFailover; k < opEnd; k++ {
		if got, err := ParseOperationKind(k.String()); err != nil || got != k {
			t.Errorf("ParseOperationKind(%q) = %v, %v", k, got, err)
		}
	}
	for m := StepBegin; m < markEnd; m++ {
		if got, err := ParseStepMark(m.String()); err != nil || got != m {
			t.Errorf("ParseStepMark(%q) = %v, %v", m, got, err)
		}
	}
	for _, bad := range []string{"", "probes", "kind(3)"} {
		if k, err := ParseKind(bad); err == nil {
			t.Errorf("ParseKind(%q) = %v", bad, k)
		}
	}
}

func TestNewerRecordsCanBeRead(t *testing.T) {
	var r Record
	if err := json.Unmarshal([]byte(`{"time":"2026-03-01T02:12:00Z","kind":"hologram","node":"db1","depth":3}`), &r); err != nil {
		t.Fatal(err)
	}
	if r.Kind != KindUnset || r.Node != "db1" {
		t.Errorf("got %+v", r)
	}
}
