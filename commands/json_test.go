package commands

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/check"
	"failwise/failover"
	"failwise/rules"
)

// jsonOutputs are the commands with JSON output and a value of what they print.
// Each has a section of its name in docs/json.md.
func jsonOutputs() map[string]any {
	return map[string]any{
		"version":             versionReport{},
		"config show":         configReport{},
		"config check":        configCheckReport{},
		"check":               checkJSON{},
		"check connect":       probeReport{Probe: fullResult()},
		"check replica":       replicaReport{},
		"check cluster":       clusterCheckReport{},
		"doctor":              doctorReport{},
		"doctor --statements": statementsReport{},
		"replay":              replayReport{Sides: []replaySideJSON{{Events: []failover.Event{fullEvent()}}}},
		"test":                testReport{Tests: []testJSON{{Failures: []testFailureJSON{{Around: []failover.Event{fullEvent()}}}}}},
	}
}

// fullEvent is an event with every field set, since it writes its JSON itself.
func fullEvent() failover.Event {
	p := failover.Automatic
	return failover.Event{
		At: time.Second, Kind: failover.Held, Node: "db1", Outcome: rules.OK, Reason: failover.QuotaUsed, Count: 1, Peer: "db2",
		Policy: &p, Round: 1, Contest: true, Forced: true, Detail: "d",
	}
}

// fullResult is a probe's result with every field set, since it writes its JSON
// itself.
func fullResult() check.Result {
	address, _ := check.ParseAddress("db1", 0)
	return check.Result{
		Node: "db1", Address: address, Type: check.Insert, Ran: check.Insert, Outcome: rules.WriteTimeout, Phase: rules.PhaseResults,
		Errno: syscall.ECONNRESET, ServerErrno: 1205, SQLState: "HY000", ServerVersion: "8.4.3", Flavour: check.MySQL,
		Remote: "db1", Attempts: []check.Attempt{{Remote: "db1", Outcome: rules.SocketIOError, Errno: syscall.ECONNREFUSED}},
		TLS: "TLS 1.3", Retry: &check.Failure{Outcome: rules.SocketIOError, Phase: rules.PhaseConnect, Errno: syscall.EPIPE, ServerErrno: 1, Message: "m"},
		Pending: true, Role: &check.Role{ReadOnly: true, Replica: true, Source: "db0"}, SessionState: "s", Note: "n", Message: "m",
		Trace: []check.Event{{Text: "t"}},
	}
}

// TestEveryJSONFieldIsDocumented compares docs/json.md with what commands print,
// both ways.
func TestEveryJSONFieldIsDocumented(t *testing.T) {
	documented := jsonSections(t)
	outputs := jsonOutputs()
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		want := map[string]bool{}
		fieldPaths("", reflect.ValueOf(outputs[name]), want)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(documented[name]))); diff != "" {
			t.Errorf("docs/json.md, section %q (-printed +documented):\n%s", name, diff)
		}
	}
}

// fieldPaths collects the JSON names below a value, with dots between levels.
func fieldPaths(prefix string, v reflect.Value, into map[string]bool) {
	if v.IsValid() && v.CanInterface() {
		if m, ok := v.Interface().(json.Marshaler); ok && v.Kind() == reflect.Struct {
			text, err := m.MarshalJSON()
			if err != nil {
				panic(err)
			}
			var decoded any
			if err := json.Unmarshal(text, &decoded); err != nil {
				panic(err)
			}
			decodedPaths(prefix, decoded, into)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice:
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			fieldPaths(prefix, v.Index(0), into)
			return
		}
		fieldPaths(prefix, reflect.Zero(v.Type().Elem()), into)
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				panic(fmt.Sprintf("%s.%s has no JSON name", v.Type(), v.Type().Field(i).Name))
			}
			into[prefix+name] = true
			fieldPaths(prefix+name+".", v.Field(i), into)
		}
	default:
	}
}

func decodedPaths(prefix string, v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if prefix == "probe.phases." {
			return // its keys are the phases
		}
		for name, each := range v {
			into[prefix+name] = true
			decodedPaths(prefix+name+".", each, into)
		}
	case []any:
		for _, each := range v {
			decodedPaths(prefix, each, into)
		}
	}
}

// jsonSections reads the field column of each section's table.
func jsonSections(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sections, section := map[string][]string{}, ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "## "); found {
			section = name
		}
		if row, found := strings.CutPrefix(lines.Text(), "| `"); found {
			field, _, _ := strings.Cut(row, "`")
			sections[section] = append(sections[section], field)
		}
	}
	return sections
}
