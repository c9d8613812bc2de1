package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferenceIsCurrent(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "cli.md"), tree().markdown())
}

// golden compares a generated document with its file; -update writes it.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the code says; go test ./commands -update writes it (-code +file):\n%s", path, diff)
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := tree().writeManPages(dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "failwise-completion.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`.TH FAILWISE\-COMPLETION 1`, ".SH SYNOPSIS", "print the completion script"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "failwise-__complete.1")); err == nil {
		t.Error("a hidden command has a man page")
	}
}
