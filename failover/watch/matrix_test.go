package watch

import (
	"flag"
	"os"
	"sync"
	"testing"

	"failwise/failover/sandbox"
)

// writeDocs is set by `make matrix`.
var writeDocs = flag.Bool("write-docs", false, "write docs/fault-matrix.md from a full run of TestMatrix and TestCompound")

// matrixFull reports whether every case is to be run.
func matrixFull() bool { return os.Getenv("FAILWISE_MATRIX") == "full" }

// TestMatrix breaks real servers in every way there is and judges what the watcher
// makes of it by witnesses of its own: a client that remembers every acknowledged
// row, and samples of every node. FAILWISE_MATRIX=full runs all cases, not only the
// short selection; see docs/fault-matrix.md.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	var mu sync.Mutex
	var rows []*matrixRow
	t.Run("on", func(t *testing.T) {
		for _, flavour := range sandbox.Flavours() {
			t.Run(flavour.String(), func(t *testing.T) {
				t.Parallel()
				b := &bench{t: t, flavour: flavour}
				for _, c := range matrixCases {
					if !c.short && !matrixFull() {
						continue
					}
					row := &matrixRow{flavour: flavour, name: c.name(), want: c.expected()}
					t.Run(caseName(c.name()), func(t *testing.T) { b.run(t, c, row) })
					mu.Lock()
					if row.ran {
						rows = append(rows, row)
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, row := range rows {
		t.Log(row.line())
	}
	if *writeDocs {
		writeMatrix(t, rows)
	}
}
