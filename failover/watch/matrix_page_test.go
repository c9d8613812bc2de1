package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"failwise/failover/sandbox"
	"failwise/rules"
)

// matrixPage is where the result of a full run is written.
var matrixPage = filepath.Join("..", "..", "docs", "fault-matrix.md")

// expected says in one cell what is to come of the case.
func (c matrixCase) expected() string {
	var seen []string
	for _, o := range c.outcomes {
		seen = append(seen, o.String())
	}
	if len(seen) == 0 {
		seen = []string{rules.OK.String()}
	}
	s := strings.Join(seen, " or ") + " → " + string(c.want)
	if c.want == holdsBack {
		s += ": " + c.reason.String()
	}
	if c.only != "" {
		s += " to " + c.only
	}
	return s
}

// measured says in one cell what came of it.
func (r matrixRow) measured() string {
	if r.skipped != "" {
		return "skipped: " + r.skipped
	}
	return r.failed() + r.outcome.String() + " → " + r.decision
}

// failed marks a row of a case that failed.
func (r matrixRow) failed() string {
	if r.ok || strings.HasPrefix(r.decision, "skipped") {
		return ""
	}
	return "FAILED: "
}

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", d.Seconds())
}

// decidedOf is the time to the decision and what the rules allow; empty without one.
func (r matrixRow) decidedOf() string {
	if r.bound == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f of %s", r.decided.Seconds(), seconds(r.bound))
}

// cells are the row of the page.
func (r matrixRow) cells() []string {
	return []string{r.name, r.flavour.String(), r.want, r.measured(), r.decidedOf(), seconds(r.write), fmt.Sprintf("%d of %d", r.lost, r.acked), seconds(r.returned),
		r.afterward, r.why}
}

func (r matrixRow) mark() string {
	switch {
	case r.ok:
		return "ok"
	case r.skipped != "":
		return "skip"
	}
	return "FAIL"
}

func (r matrixRow) line() string { return r.mark() + " | " + strings.Join(r.cells(), " | ") }

const matrixHead = `# Fault matrix

What failwise made of every fault the sandbox can cause, on three real servers with semi-synchronous replication under a client that
writes all the time. Rules are the shipped ones with a tick of 1 s, a probe each second and a probe budget of 2 s (0.7 and 0.4 s for flapping); "mha" is that
profile's rules at the same pace; "insert" adds the insert probe, "own query" reads a table instead of SELECT 1. For tls-expired and name-lost
the watcher knows the nodes by name and verifies their certificates. ` + "`make matrix`" + ` runs it again and writes this page.

- *expected* and *measured*: the outcome of the probe, and the decision. "none" is a fault that is watched and left alone.
- *decision, s*: from the fault to the decision, of what the rules allow: threshold × tick + one probe interval + one probe budget + 1 s, and for a
  clean shutdown its own length.
- *write, s*: from the fault to the first acknowledged write on the new primary.
- *lost*: acknowledged rows that are missing on the final primary, of all acknowledged ones. It must be 0.
- *back, s*: how long an old primary that came back by itself was writable until it was fenced. It acknowledged nothing in that time: no replica followed it.
- *afterwards*: empty where every node follows the final primary, read-only, with nothing of its own; else why the old primary may not: it has
  a transaction that nobody had acknowledged.
- *why*: what the journal says of the decision.
`

const compoundHead = `
## Two faults at once

A fault while another one is dealt with, and faults of the watcher itself. The same rules, witnesses and invariants; all cases run side by
side, several at a time, so that times are those of a busy machine.

- *decision*: the first one, as above; empty where another process decides.
- *lost*: acknowledged rows that are missing on the final primary, of all acknowledged ones. It must be 0.
- *overlap, s*: how long two nodes accepted writes before the faults were healed. It must be 0, but where a primary comes back in the middle of
  its replacement; what it took in that time it acknowledged to nobody.
- *back, s*: how long a node that came back afterwards was writable until it was fenced.

| case | servers | expected | measured | decision, s | write, s | lost | overlap, s | back, s | afterwards | case took, s |
`

// compoundCells are the row of the page's second table.
func (r matrixRow) compoundCells() []string {
	overlap := "0"
	if r.overlap > 0 {
		overlap = seconds(r.overlap)
	}
	return []string{r.name, r.flavour.String(), r.want, r.failed() + r.decision, r.decidedOf(), seconds(r.write), fmt.Sprintf("%d of %d", r.lost, r.acked), overlap, seconds(r.returned),
		r.afterward, fmt.Sprintf("%.0f", r.took.Seconds())}
}

func (r matrixRow) compoundLine() string {
	return r.mark() + " | " + strings.Join(r.compoundCells(), " | ")
}

// page is what docs/fault-matrix.md shows, by fault or case and servers.
type page struct{ faults, compounds map[rowKey]string }

// rowKey names a row of the page.
type rowKey struct{ name, servers string }

// writeMatrix writes the page's first table from a full run; writeCompounds the second.
// Rows that were not run stay as they are.
func writeMatrix(t *testing.T, rows []*matrixRow) {
	t.Helper()
	p := readPage(t)
	for _, r := range rows {
		p.faults[rowKey{r.name, r.flavour.String()}] = tableRow(r.cells())
	}
	p.write(t)
}

func writeCompounds(t *testing.T, rows []*matrixRow) {
	t.Helper()
	p := readPage(t)
	for _, r := range rows {
		p.compounds[rowKey{r.name, r.flavour.String()}] = tableRow(r.compoundCells())
	}
	p.write(t)
}

func (p page) write(t *testing.T) {
	t.Helper()
	if !matrixFull() {
		t.Fatal("only a full run writes the page: set FAILWISE_MATRIX=full")
	}
	var b strings.Builder
	b.WriteString(matrixHead)
	var on []string
	for _, f := range sandbox.Flavours() {
		if b, err := sandbox.FindBinary(t.Context(), f); err == nil {
			on = append(on, f.String()+" "+b.Version)
		}
	}
	fmt.Fprintf(&b, "\nMeasured with %s on %s with %d cores, the three servers, the client and the watcher all on them.\n\n",
		strings.Join(on, " and "), runtime.GOOS, runtime.NumCPU())
	rule := "|" + strings.Repeat("---|", 10) + "\n"
	b.WriteString("| fault | servers | expected | measured | decision, s | write, s | lost | back, s | afterwards | why |\n" + rule)
	for _, c := range matrixCases {
		for _, f := range sandbox.Flavours() {
			b.WriteString(p.faults[rowKey{c.name(), f.String()}])
		}
	}
	b.WriteString(compoundHead + rule[:len(rule)-1] + "---|\n")
	for _, c := range compoundCases {
		for _, f := range sandbox.Flavours() {
			b.WriteString(p.compounds[rowKey{c.name, f.String()}])
		}
	}
	if err := os.WriteFile(matrixPage, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tableRow(cells []string) string {
	for i, c := range cells {
		cells[i] = escapeCell(c)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func escapeCell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }

// readPage reads the page as it is.
func readPage(t *testing.T) page {
	t.Helper()
	p := page{map[rowKey]string{}, map[rowKey]string{}}
	text, err := os.ReadFile(matrixPage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	rows := p.faults
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			rows = p.compounds
		}
		if cells := strings.Split(line, " | "); len(cells) >= 10 && cells[1] != "servers" {
			rows[rowKey{strings.TrimPrefix(cells[0], "| "), cells[1]}] = line
		}
	}
	return p
}

// The page is made by a run of a quarter of an hour: what is checked here is that it
// shows the cases as they are, none missing and none of old.
func TestFaultMatrixPageShowsEveryCase(t *testing.T) {
	p := readPage(t)
	faults, compounds := map[string]string{}, map[string]string{}
	for _, c := range matrixCases {
		faults[c.name()] = c.expected()
	}
	for _, c := range compoundCases {
		compounds[c.name] = c.expected
	}
	shows(t, p.faults, faults)
	shows(t, p.compounds, compounds)
}

// shows checks that the rows are those of the cases, given with what they expect.
func shows(t *testing.T, rows map[rowKey]string, cases map[string]string) {
	t.Helper()
	for name, expected := range cases {
		for _, f := range sandbox.Flavours() {
			key := rowKey{name, f.String()}
			line, ok := rows[key]
			delete(rows, key)
			switch {
			case !ok:
				t.Errorf("docs/fault-matrix.md has no row for %s on %s: run make matrix", name, f)
			case !strings.Contains(line, " | "+escapeCell(expected)+" | "):
				t.Errorf("docs/fault-matrix.md expects something else of %s on %s than the test: run make matrix", name, f)
			}
		}
	}
	for key := range rows {
		t.Errorf("docs/fault-matrix.md has a row for %s on %s, which is no case: run make matrix", key.name, key.servers)
	}
}
