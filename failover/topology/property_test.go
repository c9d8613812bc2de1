package topology

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// drawCluster draws up to five nodes in any state, each following anyone.
func drawCluster(t *rapid.T) []Reading {
	count := rapid.IntRange(1, 5).Draw(t, "nodes")
	list := make([]Reading, 0, count)
	for i := 1; i <= count; i++ {
		r := node(i)
		if source := rapid.IntRange(0, count+1).Draw(t, "source"); source != 0 && source != i {
			r = replica(i, source)
		}
		last := rapid.IntRange(90, 100).Draw(t, "executed")
		changes := []change{
			executed(fmt.Sprintf("%s:1-%d", uuidOf(1), last)),
			retrieved(fmt.Sprintf("%s:%d-%d", uuidOf(1), last+1, last+rapid.IntRange(0, 3).Draw(t, "received"))),
		}
		for _, c := range []change{unreadable, writable, readOnly, preference(Prefer), preference(Never),
			channel(func(c *mysql.Channel) { c.Delay = 1e9 }),
			executed(fmt.Sprintf("%s:1-%d,%s:1", uuidOf(1), last, uuidOf(i))),
			func(r *Reading) { r.Status.Channels = mysql.Fact[[]mysql.Channel]{} },
		} {
			if rapid.IntRange(0, 5).Draw(t, "change") == 0 {
				changes = append(changes, c)
			}
		}
		for _, c := range changes {
			if r.Readable() {
				c(&r)
			}
		}
		list = append(list, r)
	}
	return list
}

func TestNoClusterMakesATopologyThatContradictsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		readings := drawCluster(t)
		topology := judge(readings...)
		if diff := cmp.Diff(topology.Tree(), judge(readings...).Tree()); diff != "" {
			t.Fatalf("two judgements differ:\n%s", diff)
		}
		holds := false
		for _, f := range topology.Findings {
			holds = holds || f.Holds
		}
		primary, known := topology.Node(topology.Primary)
		switch {
		case topology.Primary == "" && !holds:
			t.Fatalf("no primary and nothing holds:\n%s", topology.Tree())
		case topology.Primary != "" && !known:
			t.Fatalf("the primary %s is no node", topology.Primary)
		case known && len(primary.Follows()) > 0:
			t.Fatalf("the primary follows %v:\n%s", primary.Follows(), topology.Tree())
		case topology.Healthy() && (holds || !primary.Status.Writable()):
			t.Fatalf("healthy in spite of:\n%s", topology.Tree())
		}
		for _, n := range topology.Nodes {
			if len(readings) > 1 && n.Name != topology.Primary && n.Readable() && n.Status.Writable() && !holds {
				t.Fatalf("%s is writable beside the primary and nothing holds:\n%s", n.Name, topology.Tree())
			}
		}
	})
}

func TestWinnerIsEligibleAndMissesNothingThatAnEligibleNodeHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topology := judge(drawCluster(t)...)
		q := Contest{Topology: topology}
		choice := Choose(q)
		if (choice.Winner == "") != (choice.Refusal != "") || (choice.Refusal == "") != (choice.Fix == "") {
			t.Fatalf("neither winner nor refusal, or both: %+v", choice)
		}
		if want := len(topology.Nodes); len(choice.Verdicts) != want && (topology.Primary == "" || len(choice.Verdicts) != want-1) {
			t.Fatalf("%d verdicts on %d nodes", len(choice.Verdicts), want)
		}
		for _, v := range choice.Verdicts {
			if rejections := Eligible(q, v.Node); v.Eligible != (len(rejections) == 0) || v.Eligible != (v.Rank > 0) {
				t.Fatalf("%+v, but Eligible says %v", v, rejections)
			}
		}
		if choice.Winner == "" {
			return
		}
		winner, _ := choice.Verdict(choice.Winner)
		mine, _ := topology.Node(choice.Winner)
		has := mine.Status.Progress()
		if donor, ok := topology.Node(winner.CatchUpFrom); ok {
			if !donor.Status.Progress().Contains(has, gtid.Set{}) {
				t.Fatalf("%s would catch up from %s, which lacks some of it", choice.Winner, donor.Name)
			}
			has = donor.Status.Progress()
		}
		for _, other := range choice.Eligible() {
			n, _ := topology.Node(other)
			if !has.Contains(n.Status.Progress(), gtid.Set{}) {
				t.Fatalf("%s wins but lacks %s of %s", choice.Winner, has.Lacks(n.Status.Progress(), gtid.Set{}), other)
			}
		}
	})
}
