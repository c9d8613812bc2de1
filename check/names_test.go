package check

import (
	"strings"
	"testing"
	"time"

	"failwise/rules"
)

func TestNamesAreInverse(t *testing.T) {
	for typ := Connect; typ <= Insert; typ++ {
		if got, err := ParseType(typ.String()); err != nil || got != typ {
			t.Errorf("%s: %v, %v", typ, got, err)
		}
	}
	for f := FlavourUnknown; f <= MariaDB; f++ {
		if got, err := ParseFlavour(f.String()); err != nil || got != f {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	for m := TLSAuto; m <= TLSVerifyIdentity; m++ {
		if got, err := ParseTLSMode(strings.ToLower(m.String())); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	for _, err := range []error{second(ParseType("ping")), second(ParseType("")), second(ParseFlavour("oracle")), second(ParseTLSMode("ON"))} {
		if err == nil {
			t.Error("an unknown word was taken")
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestReadOnlyWordsOfAllVersions(t *testing.T) {
	for word, want := range map[string]bool{
		"0": false, "OFF": false, "off": false, "1": true, "ON": true, "NO_LOCK": true, "NO_LOCK_NO_ADMIN": true,
		"2": true, "": true, "MAYBE": true,
	} {
		if got := ParseReadOnly(word); got != want {
			t.Errorf("%q is read-only: %v, want %v", word, got, want)
		}
	}
}

func TestVersionAtLeast(t *testing.T) {
	tests := []struct {
		version string
		want    []int
		is      bool
	}{
		{"8.0.22", []int{8, 0, 22}, true}, {"8.0.21-log", []int{8, 0, 22}, false}, {"8.4.3", []int{8, 0, 22}, true},
		{"5.7.44-log", []int{5, 7, 8}, true}, {"5.6.51", []int{5, 7, 8}, false}, {"9.7", []int{9, 7, 1}, true},
		{"", []int{8}, true}, {"unknown", []int{8}, true},
	}
	for _, tt := range tests {
		if got := versionAtLeast(tt.version, tt.want...); got != tt.is {
			t.Errorf("%q at least %v: %v", tt.version, tt.want, got)
		}
	}
}

func TestReadStatementCarriesItsOwnTimeLimit(t *testing.T) {
	mysql84 := greeting{version: "8.4.3", flavour: MySQL}
	tests := []struct {
		g           greeting
		query, want string
	}{
		{mysql84, "", "SELECT /*+ MAX_EXECUTION_TIME(6000) */ 1"},
		{greeting{version: "10.11.19-MariaDB", flavour: MariaDB}, "", "SET STATEMENT max_statement_time=6 FOR SELECT 1"},
		{greeting{version: "5.6.51", flavour: MySQL}, "", "SELECT 1"},
		{mysql84, "select count(*) from t", "SELECT /*+ MAX_EXECUTION_TIME(6000) */ count(*) from t"},
		{mysql84, "SELECT /*+ MAX_EXECUTION_TIME(5) */ 1", "SELECT /*+ MAX_EXECUTION_TIME(5) */ 1"},
		{mysql84, "CALL p()", "CALL p()"},
		{mysql84, "SELECTED", "SELECTED"},
	}
	for _, tt := range tests {
		p := &Prober{opts: Options{Query: tt.query}}
		if got := p.readStatement(tt.g); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.g.version, tt.query, got, tt.want)
		}
	}
}

func TestNumberOfTheOperatingSystemInAMessage(t *testing.T) {
	for message, want := range map[string]int{
		`Got error 28 "No space left on device" from storage engine InnoDB`:          28,
		`Error writing file './binlog.000001' (errno: 28 - No space left on device)`: 28,
		`Error writing file 'x' (Errcode: 30 "Read-only file system")`:               30,
		"Error writing file 'x' (OS errno 5 - Input/output error)":                   5,
		"Fehler 122 ist aufgetreten: errno=122":                                      122,
		"Disk full":                                                                  0,
		"errno":                                                                      0,
		"error: boo":                                                                 0,
	} {
		if got := osErrno(message); got != want {
			t.Errorf("%q: got %d, want %d", message, got, want)
		}
	}
}

func TestBudgetOfAPhase(t *testing.T) {
	now := time.Unix(1000, 0)
	b := budget{limits: Limits{Connect: 2 * time.Second}, end: now.Add(5 * time.Second)}
	for _, tt := range []struct {
		phase rules.Phase
		after time.Duration
		want  time.Duration
	}{
		{rules.PhaseConnect, 0, 2 * time.Second},
		{rules.PhaseConnect, 4 * time.Second, 5 * time.Second},
		{rules.PhaseLogin, 0, 5 * time.Second},
		{rules.PhaseResults, 6 * time.Second, 5 * time.Second},
	} {
		if got := b.until(tt.phase, now.Add(tt.after)).Sub(now); got != tt.want {
			t.Errorf("%s after %s ends at %s, want %s", tt.phase, tt.after, got, tt.want)
		}
	}
}

func TestMessagesAreOneBoundedLine(t *testing.T) {
	for _, in := range []string{"a\nb\rc\x00d", strings.Repeat("ü", 1000), "\xff\xfe", ""} {
		out := oneLine(in)
		if strings.ContainsAny(out, "\n\r\x00") || len(out) > 310 {
			t.Errorf("%q became %q", in, out)
		}
	}
}
