package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"failwise/check"
	"failwise/commands/config"
	"failwise/commands/doctor"
	"failwise/failover/mysql"
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

// generatedPart compares the part of a page between its two markers with what the
// code says; -update writes it.
func generatedPart(t *testing.T, page, name, want string) {
	t.Helper()
	path := filepath.Join("..", "docs", page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part %q", path, name)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("part %q of %s is not what the code says; go test ./commands -update writes it (-code +file):\n%s", name, path, diff)
	}
}

func TestConfigurationPageListsTheKeys(t *testing.T) {
	generatedPart(t, "configuration.md", "keys", config.Reference())
}

func TestPrivilegesPageHasTheStatements(t *testing.T) {
	for _, v := range []mysql.Version{{Flavour: mysql.MySQL, Major: 8, Minor: 4}, {Flavour: mysql.MySQL, Major: 5, Minor: 7}, {Flavour: mysql.MariaDB, Major: 10, Minor: 11}} {
		var b strings.Builder
		b.WriteString("```sql\n")
		for _, s := range check.HeartbeatDDL() {
			b.WriteString(s + ";\n")
		}
		b.WriteString("\n-- probes and status\n" + strings.Join(doctor.Statements(v, doctor.Monitor, "fw_monitor"), "\n"))
		b.WriteString("\n\n-- fencing and promotion\n" + strings.Join(doctor.Statements(v, doctor.Act, "fw_act"), "\n") + "\n```\n\n")
		b.WriteString("| user | privilege | on | for |\n|---|---|---|---|\n")
		for _, p := range []doctor.Purpose{doctor.Monitor, doctor.Act} {
			for _, need := range doctor.Privileges(v, p, v.Flavour == mysql.MySQL) {
				name := need.Name
				if need.Optional {
					name += " (optional)"
				}
				if need.Name == "SERVICE_CONNECTION_ADMIN" {
					name += " (with admin_port)"
				}
				b.WriteString("| " + p.String() + " | " + name + " | " + need.Scope + " | " + need.Why + " |\n")
			}
		}
		series := v.Flavour.String()
		if v.Major == 5 {
			series += " 5.7"
		}
		generatedPart(t, "privileges.md", series, b.String())
	}
}
