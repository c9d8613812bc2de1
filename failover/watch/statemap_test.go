package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"failwise/rules"
)

const resultsFatal = "query_results_timeout.state=timeout\nquery_results_timeout.threshold=8\nquery_results_timeout.action=fail\n"

func TestStatemapIsReadAgainWhenItsContentChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "statemap.properties")
	s := newStatemap(path, rules.Defaults())
	if _, fresh := s.load(); fresh {
		t.Fatal("a file that is not there gave new rules")
	}
	write(t, path, resultsFatal)
	r, fresh := s.poll()
	if !fresh || r.err != nil || !r.rules.Fatal(rules.QueryResultsTimeout) {
		t.Fatalf("the new file was not taken: fresh %v, %v", fresh, r.err)
	}
	if len(r.changes) != 1 {
		t.Errorf("changes are %v, want the one outcome", r.changes)
	}
	if _, fresh := s.poll(); fresh {
		t.Error("an unchanged file was taken again")
	}

	write(t, path, "query_results_timeout.state=sideways\n")
	r, fresh = s.poll()
	if !fresh || r.err == nil {
		t.Fatal("a broken file was not reported")
	}
	if !r.rules.Fatal(rules.QueryResultsTimeout) {
		t.Error("a broken file took the last good rules away")
	}
	if !strings.Contains(r.err.Error(), path+":1") {
		t.Errorf("error %q does not name file and line", r.err)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r, fresh = s.poll()
	if !fresh || r.rules.Fatal(rules.QueryResultsTimeout) {
		t.Error("deleting the file did not return to the defaults")
	}
}

func TestStatemapReplacedByRenameIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "statemap.properties")
	write(t, path, resultsFatal)
	s := newStatemap(path, rules.Defaults())
	s.load()
	// Same size and, with coarse clocks, the same time: only the inode differs.
	next := filepath.Join(dir, "next")
	write(t, next, strings.Replace(resultsFatal, "=8", "=9", 1))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	r, fresh := s.poll()
	if !fresh || r.rules.Rule(rules.QueryResultsTimeout).Threshold != 9 {
		t.Error("a file put in place by rename was not noticed")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
