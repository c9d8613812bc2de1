package storage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocsNameEveryConditionFigureAndField(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := func(word string) {
		t.Helper()
		if !strings.Contains(string(b), "`"+word+"`") {
			t.Errorf("docs/storage.md does not mention %s", word)
		}
	}
	for c := OK; c < conditionEnd; c++ {
		want(c.String())
	}
	warn, crit := DefaultWarning(), DefaultCritical()
	for _, f := range Figures() {
		row := "| `" + f.String() + "` |"
		if !strings.Contains(string(b), row) {
			t.Errorf("docs/storage.md has no row for %s", f)
		}
		if end := " | " + warn[f].String() + " | " + crit[f].String() + " |"; !warn[f].IsZero() && !strings.Contains(string(b), end) {
			t.Errorf("docs/storage.md does not give the defaults of %s", f)
		}
	}
	full := Result{Write: &Latency{Error: "x", File: "x"}, Read: &Latency{}, Space: &Space{}, Device: &Device{}, Mount: &Mount{Options: "x"}, Pressure: &Pressure{}, HungIn: StepRead, WaitsIn: "x", Notes: []string{"x"}, Condition: OK}
	encoded, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		want(name)
		if inner, ok := v.(map[string]any); ok {
			for name := range inner {
				want(name)
			}
		}
	}
}
