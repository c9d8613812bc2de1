package lint

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocsAreWhatTheChecksSay(t *testing.T) {
	const path = "../../docs/lint.md"
	if *update {
		if err := os.WriteFile(path, []byte(markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(markdown(), string(got)); diff != "" {
		t.Errorf("%s is out of date; run: go test ./rules/lint -run Docs -update\n%s", path, diff)
	}
}
