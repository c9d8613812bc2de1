package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"failwise/failover/replay"
	"failwise/rules"
)

// recorded writes a timeline of n rows: three nodes, one probe a second each, and
// now and then a primary that stalls for a minute.
func recorded(n int) []byte {
	var b bytes.Buffer
	b.WriteString("time,node,outcome,elapsed_ms\n")
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := start.Add(time.Duration(i/3)*time.Second + time.Duration(i%3)*time.Millisecond)
		o := rules.OK
		if i%3 == 0 && i/3%3600 > 3540 {
			o = rules.QueryResultsTimeout
		}
		fmt.Fprintf(&b, "%s,db%d:3306,%s,%d.2\n", at.Format("2006-01-02T15:04:05.000Z"), 1+i%3, o, 3+i%7)
	}
	return b.Bytes()
}

func BenchmarkTimeline(b *testing.B) {
	const rows = 300_000
	src := recorded(rows)
	side := replay.Side{Name: "tungsten", Rules: rules.Defaults(), Timings: rules.Tungsten.Timings()}
	for _, sides := range []int{1, 2} {
		b.Run(fmt.Sprintf("sides=%d", sides), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for range b.N {
				o := replay.Options{Sides: []replay.Side{side, side}[:sides]}
				r, err := replay.Timeline(context.Background(), "bench.csv", bytes.NewReader(src), o)
				if err != nil || r.Rows != rows {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
