package topology

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// Verdict is one replica judged as a candidate.
type Verdict struct {
	Node     string `json:"node"`
	Eligible bool   `json:"eligible"`
	// Rejections are all rules that the node fails; empty for an eligible one.
	Rejections []Rejection `json:"rejections,omitempty"`
	// Rank is 1 for the first choice, 0 for a rejected node.
	Rank int `json:"rank,omitempty"`
	// Reason says why it has this rank.
	Reason string `json:"reason,omitempty"`
	// Has is what the node has, received transactions included.
	Has string `json:"has,omitempty"`
	// Lacks is what some other trustworthy replica has and this one does not:
	// it can still be fetched from CatchUpFrom.
	Lacks      gtid.Set `json:"lacks,omitzero"`
	LacksCount uint64   `json:"lacks_count"`
	// CatchUpFrom is the replica that has it; set only on an eligible node that
	// is behind and preferred.
	CatchUpFrom string `json:"catch_up_from,omitempty"`
	// Loss is what the old primary is known to have had and no replica it could
	// fetch it from has: lost if this node is promoted. Complete knowledge of the
	// old primary ends with its last reading.
	Loss      gtid.Set `json:"loss,omitzero"`
	LossCount uint64   `json:"loss_count"`
	// Unknown are the questions that the node's server cannot answer; they do not
	// make it ineligible.
	Unknown []string `json:"unknown,omitempty"`
	// Errant is what the node executed on its own.
	Errant gtid.Set `json:"errant,omitzero"`
}

// Choice is the answer to a [Contest].
type Choice struct {
	// Winner is the first choice; empty if there is none, and then Refusal says why.
	Winner  string `json:"winner"`
	Refusal string `json:"refusal,omitempty"`
	// Fix is what would lift the refusal.
	Fix string `json:"fix,omitempty"`
	// Verdicts has every replica: the eligible by rank, then the rejected in
	// configured order.
	Verdicts []Verdict `json:"verdicts"`
	// LossKnown tells whether anything is known of what the old primary had.
	LossKnown bool `json:"loss_known"`
}

// MarshalJSON writes a list without elements as such.
func (c Choice) MarshalJSON() ([]byte, error) {
	type plain Choice
	if c.Verdicts == nil {
		c.Verdicts = []Verdict{}
	}
	return json.Marshal(plain(c))
}

// Verdict is the judgement on one node.
func (c Choice) Verdict(node string) (Verdict, bool) {
	for _, v := range c.Verdicts {
		if v.Node == node {
			return v, true
		}
	}
	return Verdict{}, false
}

// Eligible are the eligible nodes by rank.
func (c Choice) Eligible() []string {
	var list []string
	for _, v := range c.Verdicts {
		if v.Eligible {
			list = append(list, v.Node)
		}
	}
	return list
}

// runner is an eligible node with what decides its rank.
type runner struct {
	node     Node
	verdict  Verdict
	progress gtid.Progress
	ahead    bool // has all that every eligible node has
	site     bool // same site as the old primary
	index    int
}

// Choose judges every replica of the old primary and picks the one to promote.
// It refuses when no node is eligible, and when the positions of eligible nodes
// cannot be compared: each has transactions that the other lacks, and whatever
// is promoted, some would be lost or come to differ.
func Choose(q Contest) Choice {
	c := newContest(q)
	choice := Choice{LossKnown: !c.progress.IsEmpty()}
	var runners []runner
	var rejected []Verdict
	for i, n := range c.replicas {
		v := c.judge(n)
		if !v.Eligible {
			rejected = append(rejected, v)
			continue
		}
		runners = append(runners, runner{node: n, verdict: v, progress: n.Status.Progress(), site: c.sameSite(n), index: i})
	}
	c.compare(runners, rejected)
	for i, r := range runners {
		r.verdict.Rank = i + 1
		r.verdict.Reason = r.reason(len(runners))
		choice.Verdicts = append(choice.Verdicts, r.verdict)
	}
	choice.Verdicts = append(choice.Verdicts, rejected...)
	switch unread := c.Topology.Unread(); {
	case len(runners) == 0 && c.old == "" && unread != nil:
		choice.Refusal, choice.Fix = unread.Text, unread.Fix
	case len(runners) == 0:
		choice.Refusal = "no replica is eligible: " + summary(rejected)
		choice.Fix = firstFix(rejected)
	case !slices.ContainsFunc(runners, func(r runner) bool { return r.ahead }):
		choice.Refusal = c.difference(runners)
		choice.Fix = "find out which node is right, and take the other out with promote: never, or name one with `failwise failover --to`"
	default:
		choice.Winner = runners[0].node.Name
	}
	return choice
}

// Eligible judges one node, as [Choose] does: the rules it fails, none if it is
// eligible.
func Eligible(q Contest, node string) []Rejection {
	c := newContest(q)
	for _, n := range c.replicas {
		if n.Name == node {
			return c.judge(n).Rejections
		}
	}
	return []Rejection{{"not_a_replica", "it is the primary itself, or not configured", "name a replica"}}
}

func (c contest) judge(n Node) Verdict {
	v := Verdict{Node: n.Name, Has: n.Status.Progress().String()}
	for _, rule := range candidateRules {
		if reason := rule.reason(c, n); reason != "" {
			v.Rejections = append(v.Rejections, Rejection{rule.name, reason, rule.fix.on(n.Name)})
			if !n.Readable() {
				break
			}
		}
	}
	v.Eligible = len(v.Rejections) == 0
	if n.Readable() {
		v.Unknown = unknowns(n)
		v.Errant = c.errantSet(n)
		v.Loss = n.Status.Progress().Lacks(c.progress, gtid.Set{})
		v.LossCount = v.Loss.Count()
	}
	return v
}

// unknowns are the rules of the table that could not look.
func unknowns(n Node) []string {
	var list []string
	if !n.Locks.IsKnown() {
		list = append(list, "whether a session holds a backup lock or global read lock (MariaDB tells with INSTALL SONAME 'metadata_lock_info')")
	}
	if n.Status.Version.Flavour == mysql.MariaDB && !n.PurgedPosition.IsKnown() {
		list = append(list, "which of its binary logs are purged (it tells with BINLOG MONITOR)")
	}
	return list
}

func (c contest) sameSite(n Node) bool {
	old, ok := c.Topology.Node(c.old)
	return ok && old.Site != "" && old.Site == n.Site
}

// mayFeed tells whether a rejected replica can be trusted to give others what
// they lack: it follows the old primary and has nothing of its own.
func (c contest) mayFeed(v Verdict) bool {
	for _, r := range v.Rejections {
		switch r.Rule {
		case "unreachable", "not_a_replica", "several_sources", "log_bin_off", "log_replica_updates_off", "gtid_off",
			"filtered", "newer_version", "errant", "shunned":
			return false
		}
	}
	return true
}

// compare fills in what each runner lacks and would lose, and sorts them.
func (c contest) compare(runners []runner, rejected []Verdict) {
	history := c.progress.Executed
	type donor struct {
		name     string
		progress gtid.Progress
	}
	var donors []donor
	for _, r := range runners {
		donors = append(donors, donor{r.node.Name, r.progress})
	}
	for _, v := range rejected {
		if n, _ := c.Topology.Node(v.Node); c.mayFeed(v) {
			donors = append(donors, donor{v.Node, n.Status.Progress()})
		}
	}
	for i := range runners {
		r := &runners[i]
		r.ahead = true
		for _, other := range runners {
			r.ahead = r.ahead && r.progress.Contains(other.progress, history)
		}
		best := donor{}
		for _, d := range donors {
			lacks := r.progress.Lacks(d.progress, history)
			r.verdict.Lacks = r.verdict.Lacks.Union(lacks)
			if !lacks.IsEmpty() && d.progress.Contains(r.progress, history) &&
				(best.name == "" || d.progress.Compare(best.progress, history) == gtid.Ahead) {
				best = d
			}
		}
		r.verdict.LacksCount = r.verdict.Lacks.Count()
		if r.node.Promote == Prefer && best.name != "" {
			r.verdict.CatchUpFrom = best.name
			r.verdict.Loss = best.progress.Lacks(c.progress, gtid.Set{})
			r.verdict.LossCount = r.verdict.Loss.Count()
		}
	}
	slices.SortStableFunc(runners, func(a, b runner) int {
		return cmp.Or(
			-compareBool(a.complete(), b.complete()),
			-compareBool(a.node.Promote == Prefer, b.node.Promote == Prefer),
			-compareBool(a.ahead, b.ahead),
			-compareBool(a.site, b.site),
			cmp.Compare(a.index, b.index),
		)
	})
}

// complete tells whether the node has everything when it is opened: already
// now, or because it is preferred and catches up first.
func (r runner) complete() bool { return r.ahead || r.verdict.CatchUpFrom != "" }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (r runner) reason(of int) string {
	if of == 1 {
		return "the only eligible replica"
	}
	var why []string
	switch {
	case r.ahead:
		why = append(why, "has all that the others have")
	case r.verdict.CatchUpFrom != "":
		why = append(why, fmt.Sprintf("first catches up %d transactions from %s", r.verdict.LacksCount, r.verdict.CatchUpFrom))
	default:
		why = append(why, fmt.Sprintf("lacks %d transactions", r.verdict.LacksCount))
	}
	if r.node.Promote == Prefer {
		why = append(why, "is preferred")
	}
	if r.site {
		why = append(why, "is at the old primary's site")
	}
	return strings.Join(append(why, "configured order"), ", ")
}

// difference names the first pair of nodes that cannot be compared.
func (c contest) difference(runners []runner) string {
	history := c.progress.Executed
	for i, a := range runners {
		for _, b := range runners[i+1:] {
			if a.progress.Compare(b.progress, history) == gtid.Incomparable {
				return fmt.Sprintf("positions are not comparable: %s lacks %s of %s, which lacks %s of %s",
					a.node.Name, shorten(a.progress.Lacks(b.progress, history).String()), b.node.Name,
					shorten(b.progress.Lacks(a.progress, history).String()), a.node.Name)
			}
		}
	}
	return "positions are not comparable"
}

// summary names each node with the first rule it fails. Nodes that fail the same
// way stand together, and a long reason is cut: the verdicts have it whole.
func summary(rejected []Verdict) string {
	if len(rejected) == 0 {
		return "there is none"
	}
	names := map[string][]string{}
	var order []string
	for _, v := range rejected {
		reason := cut(strings.TrimPrefix(v.Rejections[0].Reason, v.Node+": "), 100)
		if len(names[reason]) == 0 {
			order = append(order, reason)
		}
		names[reason] = append(names[reason], v.Node)
	}
	parts := make([]string, len(order))
	for i, reason := range order {
		parts[i] = strings.Join(names[reason], ", ") + ": " + reason
	}
	return strings.Join(parts, "; ")
}

func firstFix(rejected []Verdict) string {
	if len(rejected) == 0 {
		return "configure at least one replica"
	}
	return rejected[0].Node + ": " + rejected[0].Rejections[0].Fix
}
