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
	return r.outcome.String() + " → " + r.decision
}

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", d.Seconds())
}

// cells are the row of the page.
func (r matrixRow) cells() []string {
	decided := seconds(r.decided)
	if decided != "" {
		decided += " of " + seconds(r.bound)
	}
	return []string{r.name, r.flavour.String(), r.want, r.measured(), decided, seconds(r.write), fmt.Sprintf("%d of %d", r.lost, r.acked), seconds(r.returned),
		r.afterward, r.why}
}

func (r matrixRow) line() string {
	mark := "FAIL"
	switch {
	case r.ok:
		mark = "ok"
	case r.skipped != "":
		mark = "skip"
	}
	return mark + " | " + strings.Join(r.cells(), " | ")
}

const matrixHead = `# Fault matrix

What failwise made of every fault the sandbox can cause, on three real servers with semi-synchronous replication under a client that
writes all the time. Rules are the shipped ones with a tick of 1 s, a probe each second and a probe budget of 2 s; "mha" is that
profile's rules at the same pace; "insert" adds the insert probe, "own query" reads a table instead of SELECT 1. ` + "`make matrix`" + ` runs it again
and writes this page.

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

// writeMatrix writes the page from a full run. The rows of a flavour that was not
// run stay as they are.
func writeMatrix(t *testing.T, rows []*matrixRow) {
	t.Helper()
	if !matrixFull() {
		t.Fatal("only a full run writes the page: set FAILWISE_MATRIX=full")
	}
	lines := pageRows(t)
	for _, r := range rows {
		cells := r.cells()
		for i, c := range cells {
			cells[i] = escapeCell(c)
		}
		lines[rowKey{r.name, r.flavour.String()}] = "| " + strings.Join(cells, " | ") + " |\n"
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
	b.WriteString("| fault | servers | expected | measured | decision, s | write, s | lost | back, s | afterwards | why |\n|" + strings.Repeat("---|", 10) + "\n")
	for _, c := range matrixCases {
		for _, f := range sandbox.Flavours() {
			b.WriteString(lines[rowKey{c.name(), f.String()}])
		}
	}
	if err := os.WriteFile(matrixPage, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func escapeCell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }

// rowKey names a row of the page.
type rowKey struct{ fault, servers string }

// pageRows are the rows of the page as it is.
func pageRows(t *testing.T) map[rowKey]string {
	t.Helper()
	lines := map[rowKey]string{}
	text, err := os.ReadFile(matrixPage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) >= 10 {
			lines[rowKey{strings.TrimPrefix(cells[0], "| "), cells[1]}] = line
		}
	}
	return lines
}

// The page is made by a run of a quarter of an hour: what is checked here is that it
// shows the cases as they are, none missing and none of old.
func TestFaultMatrixPageShowsEveryCase(t *testing.T) {
	lines := pageRows(t)
	delete(lines, rowKey{"fault", "servers"})
	for _, c := range matrixCases {
		for _, f := range sandbox.Flavours() {
			key := rowKey{c.name(), f.String()}
			line, ok := lines[key]
			delete(lines, key)
			if !ok {
				t.Errorf("docs/fault-matrix.md has no row for %s on %s: run make matrix", key.fault, key.servers)
				continue
			}
			if !strings.Contains(line, " | "+escapeCell(c.expected())+" | ") {
				t.Errorf("docs/fault-matrix.md expects something else of %s on %s than the test: run make matrix", key.fault, key.servers)
			}
		}
	}
	for key := range lines {
		t.Errorf("docs/fault-matrix.md has a row for %s on %s, which is no case: run make matrix", key.fault, key.servers)
	}
}
