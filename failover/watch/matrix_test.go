package watch

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"failwise/failover/sandbox"
)

// writeDocs is set by `make matrix`.
var writeDocs = flag.Bool("write-docs", false, "write docs/fault-matrix.md from a full run of TestMatrix and TestCompound")

// matrixFull reports whether every case is to be run.
func matrixFull() bool { return os.Getenv("FAILWISE_MATRIX") == "full" }

// benches is how many clusters of a flavour take cases at once.
const benches = 3

// matrixQueue holds the cases that are to be run.
func matrixQueue() chan matrixCase {
	queue := make(chan matrixCase, len(matrixCases))
	defer close(queue)
	for _, c := range matrixCases {
		if c.short || matrixFull() {
			queue <- c
		}
	}
	return queue
}

// TestMatrix breaks real servers in every way there is and judges what the watcher
// makes of it by witnesses of its own: a client that remembers every acknowledged
// row, and samples of every node. FAILWISE_MATRIX=full runs all cases, not only the
// short selection; see docs/fault-matrix.md.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	if matrixFull() {
		t.Parallel() // beside TestCompound
	}
	var rows []*matrixRow
	var mu sync.Mutex
	t.Run("on", func(t *testing.T) {
		for _, flavour := range sandbox.Flavours() {
			queue := matrixQueue()
			for i := range benches {
				t.Run(fmt.Sprintf("%s%d", flavour, i+1), func(t *testing.T) {
					t.Parallel()
					b := &bench{t: t, flavour: flavour}
					for c := range queue {
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
		}
	})
	for _, row := range rows {
		t.Log(row.line())
	}
	if *writeDocs {
		writeMatrix(t, rows)
	}
}
