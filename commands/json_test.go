package commands

import (
	"bufio"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/gtid"
	"failwise/failover/journal"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/failover/watch"
	"failwise/rules"
	"failwise/rules/explain"
	"failwise/rules/lint"
)

// jsonOutputs are the commands with JSON output and the types of what they print.
// Each has a section of its name in docs/json.md.
func jsonOutputs() map[string]any {
	return map[string]any{
		"version":             versionReport{},
		"config show":         configReport{},
		"config check":        configCheckReport{},
		"check":               checkJSON{},
		"check connect":       probeReport{},
		"check replica":       replicaReport{},
		"check cluster":       clusterCheckReport{},
		"check storage":       storageReport{},
		"check watch":         watchCheckReport{},
		"explain all":         explainAllReport{},
		"lint":                lintReport{},
		"rules":               rulesReport{},
		"rules --diff":        rulesDiffReport{},
		"why":                 whyReport{},
		"history --export":    timelineRow{},
		"policy":              policyView{},
		"quota":               quotaView{},
		"switch":              operationReport{},
		"doctor":              doctorReport{},
		"doctor --statements": statementsReport{},
		"replay":              replayReport{},
		"test":                testReport{},
	}
}

// jsonParts are types that stand in several outputs, or are one and stand in
// others. Each has a section to which the others refer.
func jsonParts() map[string]any {
	return map[string]any{
		"explain":          explain.Page{},
		"status":           watch.Snapshot{},
		"history":          journal.Record{},
		"topology":         topology.Topology{},
		"candidates":       topology.Choice{},
		"plan":             promote.Plan{},
		"probe":            check.Result{},
		"event":            failover.Event{},
		"engine":           failover.Snapshot{},
		"decision":         watch.Decision{},
		"operation record": watch.OperationRecord{},
		"operation result": promote.Result{},
		"step":             promote.Progress{},
		"finding":          topology.Finding{},
		"lint finding":     lint.Finding{},
		"server":           mysql.Status{},
		"channel":          mysql.Channel{},
		"rule":             rules.Rule{},
		"origin":           rules.Origin{},
	}
}

// whole are values that cannot be filled field by field.
func whole() []any {
	address, _ := check.ParseAddress("db1", 0)
	set, _ := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5")
	position, _ := gtid.ParsePosition("0-1-5")
	state, _ := gtid.ParseState("0-1-5")
	return []any{
		fullResult(address), address, set, position, state, netip.MustParseAddr("192.0.2.1"), json.RawMessage("{}"),
		time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.UTC), 1500 * time.Millisecond, mysql.Known(1500 * time.Millisecond), mysql.Known(uint64(1)),
		mysql.Known("x"), mysql.Known(mysql.SemiSync{}), mysql.Known([]mysql.Channel{}), mysql.Known([]mysql.Lock{{Session: 1, Kind: "backup lock"}}),
	}
}

// fullResult is a probe's result with every field set.
func fullResult(address check.Address) check.Result {
	return check.Result{
		Node: "db1", Address: address, Type: check.Insert, Ran: check.Insert, Outcome: rules.WriteTimeout, Phase: rules.PhaseResults,
		Start: time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.UTC), Elapsed: 1500 * time.Millisecond,
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
	outputs, parts := jsonOutputs(), jsonParts()
	w := fieldWalk{parts: map[reflect.Type]string{}}
	for name, v := range parts {
		w.parts[reflect.TypeOf(v)] = name
		outputs[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		w.found = map[string]string{}
		w.fields("", reflect.TypeOf(outputs[name]))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(w.found)), slices.Sorted(maps.Keys(documented[name]))); diff != "" {
			t.Errorf("docs/json.md, section %q (-printed +documented):\n%s", name, diff)
		}
		for field, part := range w.found {
			if link := "(#" + strings.ReplaceAll(part, " ", "-") + ")"; part != "" && !strings.Contains(documented[name][field], link) {
				t.Errorf("docs/json.md, section %q: %s does not refer to %s", name, field, link)
			}
		}
	}
	for name := range documented {
		if _, ok := outputs[name]; !ok {
			t.Errorf("docs/json.md: section %q is about nothing that is printed", name)
		}
	}
}

// TestJSONIsWellFormed prints every output with every field set: names are in
// snake_case, times have milliseconds, durations are seconds, and nothing is null.
func TestJSONIsWellFormed(t *testing.T) {
	outputs := jsonOutputs()
	maps.Copy(outputs, jsonParts())
	for name, v := range outputs {
		text, err := json.Marshal(filled(reflect.TypeOf(v), nil).Interface())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var decoded any
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, fault := range malformed(name, decoded) {
			t.Error(fault)
		}
	}
}

// TestEmptyJSONListsAreLists prints the types that write their JSON themselves
// without anything in them.
func TestEmptyJSONListsAreLists(t *testing.T) {
	for name, v := range jsonParts() {
		if _, ok := v.(json.Marshaler); !ok || name == "history" {
			continue // a record without a kind is none
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		printed := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &printed); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for field, f := range taggedFields(reflect.TypeOf(v)) {
			if f.Kind() == reflect.Slice && string(printed[field]) == "null" {
				t.Errorf("%s: %s is null instead of []", name, field)
			}
		}
	}
}

var (
	snakeCase  = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	beginsTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT`)
	withMillis = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$`)
)

// malformed says what is wrong with a decoded value.
func malformed(path string, v any) (faults []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, each := range v {
			if !snakeCase.MatchString(name) {
				faults = append(faults, fmt.Sprintf("%s: the key %q is not in snake_case", path, name))
			}
			faults = append(faults, malformed(path+"."+name, each)...)
		}
	case []any:
		for _, each := range v {
			faults = append(faults, malformed(path, each)...)
		}
	case string:
		if beginsTime.MatchString(v) && !withMillis.MatchString(v) {
			faults = append(faults, fmt.Sprintf("%s: the time %s has not milliseconds", path, v))
		}
	case float64:
		if v == float64(1500*time.Millisecond) {
			faults = append(faults, path+": a duration is in nanoseconds")
		}
	case nil:
		faults = append(faults, path+" is null")
	}
	return faults
}

// filled is a value with every field set: times with nanoseconds, durations of
// 1.5 s, one element in lists. A type within itself stays empty.
func filled(t reflect.Type, within []reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	for _, w := range whole() {
		if t == reflect.TypeOf(w) {
			return reflect.ValueOf(w)
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		if slices.Contains(within, t) {
			break
		}
		within = append(slices.Clone(within), t)
		for i := range t.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(filled(f.Type(), within))
			} else if t.Field(i).Anonymous && f.Kind() == reflect.Struct {
				for j := range f.NumField() {
					if f := f.Field(j); f.CanSet() {
						f.Set(filled(f.Type(), within))
					}
				}
			}
		}
	case reflect.Pointer:
		if !slices.Contains(within, t.Elem()) {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(filled(t.Elem(), within))
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem(), within)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("k").Convert(t.Key()), filled(t.Elem(), within))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			v.Set(reflect.ValueOf("x"))
		}
	default:
		panic("no value of type " + t.String())
	}
	return v
}

// fieldWalk collects the JSON names below a type, with dots between levels, and
// the part whose section describes what lies below.
type fieldWalk struct {
	parts map[reflect.Type]string
	found map[string]string
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (w *fieldWalk) fields(prefix string, t reflect.Type) {
	switch {
	case t.Implements(textMarshaler):
		return
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		w.below(prefix, t.Elem())
		return
	case t.Kind() != reflect.Struct:
		return
	}
	if get, ok := t.MethodByName("Get"); ok && strings.HasPrefix(t.Name(), "Fact[") {
		w.below(prefix, get.Type.Out(0))
		return
	}
	tagged := taggedFields(t)
	for name, field := range tagged {
		w.found[prefix+name] = ""
		w.below(prefix+name+".", field)
	}
	if !t.Implements(marshaler) {
		return
	}
	text, err := json.Marshal(filled(t, nil).Interface())
	if err != nil {
		panic(err)
	}
	printed := map[string]any{}
	if err := json.Unmarshal(text, &printed); err != nil {
		panic(err)
	}
	for name, value := range printed {
		if _, ok := tagged[name]; !ok {
			w.found[prefix+name] = ""
			w.decoded(prefix+name+".", value)
		}
	}
}

// below goes on with what a field holds, unless another section describes it.
func (w *fieldWalk) below(prefix string, t reflect.Type) {
	if part, ok := w.parts[t]; ok {
		w.found[strings.TrimSuffix(prefix, ".")] = part
		return
	}
	w.fields(prefix, t)
}

func (w *fieldWalk) decoded(prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if prefix == "phases." {
			return // its keys are the phases
		}
		for name, each := range v {
			w.found[prefix+name] = ""
			w.decoded(prefix+name+".", each)
		}
	case []any:
		for _, each := range v {
			w.decoded(prefix, each)
		}
	}
}

// taggedFields are the fields of a struct by their JSON names, embedded ones
// included.
func taggedFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			fields[name] = f.Type
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			maps.Copy(fields, taggedFields(f.Type))
		case f.IsExported() && !t.Implements(marshaler):
			panic(fmt.Sprintf("%s.%s has no JSON name", t, f.Name))
		}
	}
	return fields
}

// jsonSections reads the tables: the rows of each section by their first column.
func jsonSections(t *testing.T) map[string]map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sections, section := map[string]map[string]string{}, ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "## "); found {
			section = name
			sections[section] = map[string]string{}
		}
		if row, found := strings.CutPrefix(lines.Text(), "| `"); found {
			field, rest, _ := strings.Cut(row, "`")
			if sections[section][field] != "" {
				t.Errorf("docs/json.md, section %q: %s stands there twice", section, field)
			}
			sections[section][field] = rest
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sections
}
