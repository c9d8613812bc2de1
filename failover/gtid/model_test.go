package gtid

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the naive form of a set: one entry a transaction.
type model map[transaction]bool

type transaction struct {
	source Source
	number uint64
}

var mysqlSources = []Source{
	{UUID: "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
	{UUID: "3e11fa47-71ca-11e1-9e33-c80aa9429562", Tag: "nightly"},
	{UUID: "3e11fa47-71ca-11e1-9e33-c80aa9429562", Tag: "_a1"},
	{UUID: "00000000-0000-0000-0000-000000000001"},
}

var mariaDBSources = []Source{{Domain: 0, Server: 1}, {Domain: 0, Server: 2}, {Domain: 7, Server: 1}}

// drawModel draws a small, dense set, so that intervals touch and overlap.
func drawModel(t *rapid.T, label string, sources []Source) model {
	m := model{}
	for range rapid.IntRange(0, 12).Draw(t, label+" runs") {
		source := rapid.SampledFrom(sources).Draw(t, label+" source")
		first := rapid.Uint64Range(1, 20).Draw(t, label+" first")
		for n := first; n <= first+rapid.Uint64Range(0, 5).Draw(t, label+" length"); n++ {
			m[transaction{source, n}] = true
		}
	}
	return m
}

func (m model) set() Set {
	b := builder{}
	for tx := range m {
		b[tx.source] = append(b[tx.source], Interval{tx.number, tx.number})
	}
	return b.set()
}

func (m model) filter(keep func(transaction) bool) model {
	out := model{}
	for tx := range m {
		if keep(tx) {
			out[tx] = true
		}
	}
	return out
}

func TestAlgebraAgreesWithNaiveModel(t *testing.T) {
	for name, sources := range map[string][]Source{"mysql": mysqlSources, "mariadb": mariaDBSources} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			ma, mb := drawModel(t, "a", sources), drawModel(t, "b", sources)
			a, b := ma.set(), mb.set()

			union := model{}
			for tx := range ma {
				union[tx] = true
			}
			for tx := range mb {
				union[tx] = true
			}
			same(t, "union", a.Union(b), union)
			same(t, "intersect", a.Intersect(b), ma.filter(func(tx transaction) bool { return mb[tx] }))
			minus := ma.filter(func(tx transaction) bool { return !mb[tx] })
			same(t, "subtract", a.Subtract(b), minus)

			contained := mb.filter(func(tx transaction) bool { return !ma[tx] })
			if got, want := a.Contains(b), len(contained) == 0; got != want {
				t.Fatalf("%q contains %q = %v, want %v", a, b, got, want)
			}
			if got, want := a.Compare(b), relationOf(len(contained) == 0, len(minus) == 0); got != want {
				t.Fatalf("%q compared to %q = %v, want %v", a, b, got, want)
			}
			if got, want := a.Equal(b), len(minus)+len(contained) == 0; got != want {
				t.Fatalf("%q equal to %q = %v, want %v", a, b, got, want)
			}
			if got, want := a.Count(), uint64(len(ma)); got != want {
				t.Fatalf("count of %q = %d, want %d", a, got, want)
			}
			for _, source := range sources {
				for n := uint64(0); n < 30; n++ {
					if a.Has(source, n) != ma[transaction{source, n}] {
						t.Fatalf("%q has %v:%d = %v", a, source, n, a.Has(source, n))
					}
				}
			}
			parsed, err := Parse(a.String())
			if err != nil || !parsed.Equal(a) || parsed.String() != a.String() {
				t.Fatalf("parse of %q gives %q, %v", a, parsed, err)
			}
		}))
	}
}

func same(t *rapid.T, op string, got Set, want model) {
	t.Helper()
	if !got.Equal(want.set()) {
		t.Fatalf("%s: got %q, want %q", op, got, want.set())
	}
	for source, ivs := range got.All() {
		for i, iv := range ivs {
			if iv.First > iv.Last || i > 0 && iv.First <= ivs[i-1].Last+1 {
				t.Fatalf("%s: intervals of %v are not normal: %v", op, source, ivs)
			}
		}
	}
}

// history is a run of a MariaDB cluster's domain 0: who numbered each
// transaction, by number from 1.
func drawHistory(t *rapid.T) []uint32 {
	return rapid.SliceOfN(rapid.Uint32Range(1, 3), 0, 15).Draw(t, "history")
}

// after gives what a server has that executed the first n transactions of a
// history and has received the first received of them.
func after(history []uint32, executed, received int) Progress {
	var p Progress
	state, at := map[uint32]uint64{}, GTID{}
	for i, server := range history[:executed] {
		at = GTID{0, server, uint64(i + 1)}
		state[server] = at.Number
	}
	for server, n := range state {
		p.Executed = p.Executed.Union(NewSet(Source{Server: server}, 1, n))
	}
	if executed > 0 {
		p.Applied = Position{[]GTID{at}}
	}
	if received > executed {
		p.Fetched = Position{[]GTID{{0, history[received-1], uint64(received)}}}
	}
	return p
}

func TestServersOfOneHistoryAlwaysCompareByLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		draw := func(who string) (Progress, int) {
			executed := rapid.IntRange(0, len(history)).Draw(t, who+" executed")
			received := rapid.IntRange(executed, len(history)).Draw(t, who+" received")
			return after(history, executed, received), received
		}
		a, na := draw("a")
		b, nb := draw("b")
		if got, want := a.Compare(b, Set{}), relationOf(na >= nb, nb >= na); got != want {
			t.Fatalf("%+v compared to %+v = %v, want %v", a, b, got, want)
		}
		if na < nb {
			if got, want := a.Lacks(b, Set{}).Count(), uint64(nb-na); got != want {
				t.Fatalf("a lacks %d transactions (%s), want %d", got, a.Lacks(b, Set{}), want)
			}
		}
	})
}

func TestServersThatWentApartNeverContainEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		// Both executed the history; then each numbered some by itself.
		alone := func(server uint32, label string) Progress {
			path := slices.Clone(history)
			for range rapid.IntRange(1, 4).Draw(t, label) {
				path = append(path, server)
			}
			return after(path, len(path), len(path))
		}
		a, b := alone(11, "a's own"), alone(12, "b's own")
		if got := a.Compare(b, Set{}); got != Incomparable {
			t.Fatalf("%s compared to %s = %v, want incomparable", a.Executed, b.Executed, got)
		}
	})
}

func ExampleSet_Subtract() {
	have, _ := Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:nightly:1")
	want, _ := Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7")
	fmt.Println(want.Subtract(have))
	// Output: 3e11fa47-71ca-11e1-9e33-c80aa9429562:6-7
}
