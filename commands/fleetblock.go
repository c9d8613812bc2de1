package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"failwise/failover"
)

// fleetRows is the number of clusters that a status block shows by name: with its
// first and last line the block leaves half of a screen of 24 lines to the events.
const fleetRows = 10

// fleetBlock is the state of many clusters in a few lines of at most width columns:
// one that counts, then the clusters that are not calm, the most urgent first.
func fleetBlock(reports []report, paint painter, width int) []string {
	type place struct {
		row
		cluster string
		rank    int
	}
	var places []place
	counts := make([]int, len(plights))
	manual := 0
	for _, r := range reports {
		calm := true
		for rank, p := range plights {
			if row, in := p.of(r); in {
				counts[rank]++
				places = append(places, place{row, r.cluster, rank})
				calm = false
				break
			}
		}
		if calm && r.snapshot.Engine.Policy.Policy == failover.Manual {
			manual++
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.left, b.left))
	})
	head := fmt.Sprintf("── %d clusters ── %d calm", len(reports), len(reports)-len(places))
	if manual > 0 {
		head += fmt.Sprintf(" (%d manual)", manual)
	}
	for i, n := range counts {
		if n > 0 {
			head += fmt.Sprintf(", %d %s", n, plights[i].name)
		}
	}
	head = clip(head+" ", width)
	lines := []string{paint.bold(head + strings.Repeat("─", max(0, width-len([]rune(head)))))}
	for i, p := range places {
		if i == fleetRows {
			lines = append(lines, clip(fmt.Sprintf("… and %d more: failwise status --cluster NAME", len(places)-i), width))
			break
		}
		line := fmt.Sprintf("%-*s %s", clusterColumns, nodeName(p.cluster, clusterColumns), p.text)
		lines = append(lines, paint.state(p.state, clip(line, width)))
	}
	return lines
}
