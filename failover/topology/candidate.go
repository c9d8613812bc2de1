package topology

import (
	"fmt"
	"slices"
	"strings"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// Contest is the question who may become primary.
type Contest struct {
	Topology Topology
	// OldPrimary is the node to be replaced; empty means the topology's primary.
	OldPrimary string
	// OldProgress is the last known progress of the old primary; empty means the
	// topology's history.
	OldProgress gtid.Progress
	// Shunned and InMaintenance name nodes that must not be chosen, with the reason.
	Shunned       map[string]string
	InMaintenance map[string]string
	// Alike name nodes whose replicas count as the old primary's: a promotion opened one
	// in place of the other and lost it before its first write.
	Alike []string
}

// Rejection is why a replica is not eligible.
type Rejection struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

// candidateRule is one row of the eligibility table: reason is empty for a node
// that passes.
type candidateRule struct {
	name   string
	reason func(contest, Node) string
	fix    advice
}

// contest is a question with what its rules need over and over.
type contest struct {
	Contest
	old      string
	progress gtid.Progress // of the old primary, as far as known
	replicas []Node        // all nodes but the old primary
}

func newContest(q Contest) contest {
	c := contest{Contest: q, old: q.OldPrimary, progress: q.OldProgress}
	if c.old == "" {
		c.old = q.Topology.Primary
	}
	if c.progress.IsEmpty() && (c.old == q.Topology.Primary || q.Topology.Primary == "") {
		c.progress = q.Topology.History
	}
	for _, n := range q.Topology.Nodes {
		if n.Name == c.old {
			continue
		}
		n.Links = slices.Clone(n.Links)
		for i, link := range n.Links {
			if slices.Contains(q.Alike, link.Source) {
				n.Links[i].Source = c.old
			}
		}
		c.replicas = append(c.replicas, n)
	}
	return c
}

// siblings are the other readable replicas of the old primary.
func (c contest) siblings(of Node) []Node {
	var list []Node
	for _, n := range c.replicas {
		if _, follows := n.Channel(c.old); follows && n.Name != of.Name {
			list = append(list, n)
		}
	}
	return list
}

// candidateRules is the eligibility table. Every rule that fails is reported,
// but a node that cannot be read fails the first alone.
var candidateRules = []candidateRule{
	{"unreachable", func(_ contest, n Node) string { return n.Error },
		"make it reachable: see `failwise check connect {node}`"},
	{"promote_never", func(_ contest, n Node) string {
		return when(n.Promote == Never, "it is configured with promote: never")
	}, "set promote: neutral or prefer in the configuration"},
	{"shunned", func(c contest, n Node) string { return named(c.Shunned, n.Name, "it is shunned") },
		"bring it back with `failwise recover {node}`"},
	{"maintenance", func(c contest, n Node) string { return named(c.InMaintenance, n.Name, "it is in maintenance") },
		"end it with `failwise policy automatic --node {node}`, or without --node if the whole cluster is in maintenance"},
	{"not_a_replica", notAReplica, "attach it to the primary with `failwise recover {node}`"},
	{"several_sources", severalSourcesOf, "keep one channel on it: a promotion resets them all"},
	{"applier_stopped", applierStopped, "see the server's Last_SQL_Error, mend it, then start its SQL thread"},
	{"log_bin_off", func(_ contest, n Node) string {
		return when(!n.Status.LogBin, "it writes no binary log, so nobody could follow it")
	}, "set log_bin in its option file and restart it"},
	{"log_replica_updates_off", func(_ contest, n Node) string {
		return when(n.Status.LogBin && !n.Status.LogReplicaUpdates, "its binary log lacks what it replicated")
	}, "set log_replica_updates=ON (log_slave_updates) in its option file and restart it"},
	{"gtid_off", gtidOff, "use GTIDs: gtid_mode=ON with SOURCE_AUTO_POSITION=1, on MariaDB MASTER_USE_GTID=slave_pos"},
	{"delayed", func(c contest, n Node) string {
		ch, _ := n.Channel(c.old)
		return when(ch.Delay > 0, fmt.Sprintf("it applies %s late on purpose", ch.Delay))
	}, "choose another node, or set its delay to 0, on MariaDB only once it has applied all that it received"},
	{"filtered", func(c contest, n Node) string {
		ch, _ := n.Channel(c.old)
		return when(len(ch.Filters) > 0, "it does not replicate everything: "+strings.Join(ch.Filters, ", "))
	}, "choose another node, or remove its filters and build it anew"},
	{"newer_version", newerVersion, "choose a node of the oldest release, or upgrade the others first"},
	{"locked", func(_ contest, n Node) string { return locked(n) },
		"wait for the backup or lock to end, or kill its session"},
	{"purged", purged, "build that sibling anew, or choose a node that still has the binary logs"},
	{"errant", errant, "compare it with `failwise recover {node} --show-errant`, then build it anew, or inject the transactions elsewhere"},
}

func when(fails bool, reason string) string {
	if fails {
		return reason
	}
	return ""
}

func named(set map[string]string, name, text string) string {
	reason, ok := set[name]
	switch {
	case !ok:
		return ""
	case reason == "":
		return text
	default:
		return text + ": " + reason
	}
}

func notAReplica(c contest, n Node) string {
	if _, known := n.channels(); !known {
		return "whom it follows is unknown: " + strings.Join(n.Status.Unknown, "; ")
	}
	if _, follows := n.Channel(c.old); follows {
		return ""
	}
	sources := append(n.Follows(), n.Strangers()...)
	switch {
	case c.old == "":
		return "the primary is unknown"
	case len(sources) == 0:
		return "it follows nobody"
	default:
		return "it follows " + strings.Join(sources, ", ") + ", not " + c.old
	}
}

func severalSourcesOf(_ contest, n Node) string {
	sources := append(n.Follows(), n.Strangers()...)
	return when(len(sources) > 1, "it follows several sources: "+strings.Join(sources, ", "))
}

func applierStopped(c contest, n Node) string {
	ch, follows := n.Channel(c.old)
	return when(follows && ch.SQL != mysql.ThreadYes && ch.SQLErrno != 0,
		fmt.Sprintf("its SQL thread stopped with error %d", ch.SQLErrno))
}

func gtidOff(c contest, n Node) string {
	if len(c.siblings(n)) == 0 {
		return "" // nobody has to be repointed
	}
	ch, follows := n.Channel(c.old)
	switch {
	case n.Status.GTIDMode != "ON":
		return "gtid_mode is " + n.Status.GTIDMode
	case follows && !ch.AutoPosition:
		return "its channel does not use GTIDs"
	}
	return ""
}

func newerVersion(c contest, n Node) string {
	for _, s := range c.siblings(n) {
		if n.Status.Version.Series(s.Status.Version) > 0 {
			return fmt.Sprintf("it is %s, newer than %s with %s, which could not follow it", n.Status.Version, s.Name, s.Status.Version)
		}
	}
	return ""
}

func locked(n Node) string {
	locks, _ := n.Locks.Get()
	if len(locks) == 0 {
		return ""
	}
	if locks[0].Session == 0 {
		return "a session holds a " + locks[0].Kind + ": writes would hang after it is opened"
	}
	return fmt.Sprintf("session %d holds a %s: writes would hang after it is opened", locks[0].Session, locks[0].Kind)
}

func purged(c contest, n Node) string {
	for _, s := range c.siblings(n) {
		if n.Status.Version.Flavour == mysql.MySQL {
			if missing := n.Status.Purged.Subtract(s.Status.Executed); !missing.IsEmpty() {
				return fmt.Sprintf("it has purged what %s still needs: %s", s.Name, missing)
			}
			continue
		}
		text, known := n.PurgedPosition.Get()
		position, err := gtid.ParsePosition(text)
		if known && err == nil && !s.Status.Progress().Applied.Reaches(position) {
			return fmt.Sprintf("it has purged what %s still needs: its binary logs begin at %s", s.Name, position)
		}
	}
	return ""
}

func errant(c contest, n Node) string {
	set := c.errantSet(n)
	return when(!set.IsEmpty(), "it has transactions that the primary never had: "+shorten(set.String()))
}

// errantSet is what the node executed on its own. Without any knowledge of the
// primary it is empty: the comparison with the siblings then has to tell.
func (c contest) errantSet(n Node) gtid.Set {
	if c.progress.IsEmpty() {
		return gtid.Set{}
	}
	uuid, id := c.oldIdentity(n)
	set := n.Status.Progress().Errant(c.progress, uuid, id)
	// A channel that was pointed elsewhere while the primary was dead, and perhaps
	// back, has forgotten whom it followed.
	if past, ok := (Memory{Nodes: c.Topology.Remembered}).Node(c.old); ok {
		set = set.WithoutServer(past.ServerUUID, past.ServerID)
	}
	return set
}

// oldIdentity is who the old primary is, as it says itself or as the replica's
// channel knows it.
func (c contest) oldIdentity(n Node) (uuid string, id uint32) {
	if p, ok := c.Topology.Node(c.old); ok && p.Readable() {
		return p.Status.ServerUUID, p.Status.ServerID
	}
	ch, _ := n.Channel(c.old)
	return ch.SourceUUID, ch.SourceServerID
}

// shorten keeps a list of transactions readable in one line.
func shorten(s string) string { return cut(s, 200) }

// cut drops what is beyond so many bytes.
func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
