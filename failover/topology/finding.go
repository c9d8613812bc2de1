package topology

import (
	"cmp"
	"fmt"
	"strings"

	"failwise/failover/mysql"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	// Rule is the name of the rule that found it.
	Rule string `json:"rule"`
	// Node is the node it is about; empty for the cluster.
	Node string `json:"node,omitempty"`
	Text string `json:"text"`
	// Fix is what would mend it.
	Fix string `json:"fix"`
	// Holds tells that nothing may be promoted while this stands.
	Holds bool `json:"holds"`
}

// findingRule is one row of the diagnosis.
type findingRule struct {
	name  string
	holds bool
	// finds gives node and text of each finding; each, the text of what is wrong
	// with one node, is asked about every node. A rule has one of them.
	finds func(judgement) []about
	each  func(judgement, Node) string
	fix   advice // the way out
}

// advice is what would mend something on the named node, which is empty for the
// cluster; {node} stands for its name.
type advice string

func (a advice) on(node string) string { return strings.ReplaceAll(string(a), "{node}", node) }

// about is one finding's node and text; mend is the node to begin with where the
// finding is about the cluster.
type about struct{ node, text, mend string }

func (r findingRule) find(j judgement) []Finding {
	found := r.finds
	if found == nil {
		found = eachNode(r.each)
	}
	var list []Finding
	for _, a := range found(j) {
		list = append(list, Finding{Rule: r.name, Node: a.node, Text: a.text, Fix: r.fix.on(cmp.Or(a.node, a.mend)), Holds: r.holds})
	}
	return list
}

// eachNode makes a finder of a question about every node; an empty answer finds nothing.
func eachNode(text func(judgement, Node) string) func(judgement) []about {
	return func(j judgement) []about {
		var list []about
		for _, n := range j.Nodes {
			if s := text(j, n); s != "" {
				list = append(list, about{node: n.Name, text: s})
			}
		}
		return list
	}
}

const primaryUnreadRule = "primary_unread"

// findingRules is the diagnosis, in the order of its report.
var findingRules = []findingRule{
	{name: primaryUnreadRule, holds: true, finds: primaryUnread,
		fix: "see `failwise check connect {node}`; what the nodes are to each other is known once a majority can be read"},
	{name: "two_primaries", holds: true, finds: twoPrimaries,
		fix: "decide which one is right, set the other read_only and attach it with `failwise recover {node}`"},
	{name: "ring", holds: true, finds: ring,
		fix: "stop replication on the node that should be primary (RESET REPLICA ALL) and set the others read_only"},
	{name: "unproven_primary", holds: true, finds: unprovenPrimary,
		fix: "start the watcher while the primary lives, make a majority of the nodes reachable, or use `failwise failover`"},
	{name: "no_primary", holds: true, finds: noPrimary,
		fix: "attach the replicas to the primary, or correct the configured nodes"},
	{name: "duplicate_identity", holds: true, finds: duplicateIdentity,
		fix: "give each server its own server_id, and its own auto.cnf on MySQL"},
	{name: "mixed_flavours", holds: true, finds: mixedFlavours,
		fix: "configure MySQL and MariaDB as two clusters"},
	{name: "unreadable", finds: unreadableNodes,
		fix: "see `failwise check connect {node}`"},
	{name: "unknown_channels", each: unknownChannels,
		fix: "grant the acting user what `failwise doctor` prints, or look at the server's disk"},
	{name: "writable_replica", holds: true, each: writableReplica,
		fix: "SET GLOBAL read_only=ON there, and start it read-only (read_only in its option file)"},
	{name: "read_only_primary", each: readOnlyPrimary,
		fix: "find out who set it, then SET GLOBAL read_only=OFF"},
	{name: "stranger", each: stranger,
		fix: "add that source to the configured nodes, or correct the replica's source"},
	{name: "chain", each: chain,
		fix: "attach it to the primary, or leave it: it cannot be promoted and is not repointed"},
	{name: "detached", each: detached,
		fix: "attach it with `failwise recover {node}`"},
	{name: "several_sources", each: severalSources,
		fix: "keep one channel on nodes that may be promoted"},
	{name: "io_stopped", each: ioStopped,
		fix: "see the server's Last_IO_Error, then START REPLICA IO_THREAD"},
	{name: "sql_stopped", each: sqlStopped,
		fix: "see the server's Last_SQL_Error, mend it, then START REPLICA SQL_THREAD before anything stops the IO thread"},
	{name: "no_gtid", each: noGTID,
		fix: "use GTIDs: gtid_mode=ON with SOURCE_AUTO_POSITION=1, on MariaDB MASTER_USE_GTID=slave_pos"},
}

// primaryUnread is why nothing can be said of the primary: too few nodes were
// read. It stands for the reading of the node that it names.
func primaryUnread(j judgement) []about {
	if j.Primary != "" || len(j.roots) > 0 || len(j.dead) > 0 || len(ring(j)) > 0 {
		return nil
	}
	unread := 0
	var first Node
	for _, n := range j.Nodes {
		if n.Readable() {
			continue
		}
		if unread++; unread == 1 {
			first = n
		}
	}
	if unread == 0 || 2*(len(j.Nodes)-unread) > len(j.Nodes) {
		return nil
	}
	return []about{{
		text: fmt.Sprintf("the primary is not known: %d of %d nodes could not be read, %s: %s", unread, len(j.Nodes), first.Name, first.unnamed()),
		mend: first.Name,
	}}
}

// unreadableNodes leaves out what primaryUnread has said.
func unreadableNodes(j judgement) []about {
	said := ""
	for _, a := range primaryUnread(j) {
		n, _ := j.Node(a.mend)
		said = n.unnamed()
	}
	var list []about
	for _, n := range j.Nodes {
		if n.Error != "" && n.unnamed() != said {
			list = append(list, about{node: n.Name, text: n.Error})
		}
	}
	return list
}

func twoPrimaries(j judgement) []about {
	if len(j.roots) < 2 {
		return nil
	}
	return []about{{text: "several nodes follow no other and are followed: " + strings.Join(j.roots, ", ")}}
}

func ring(j judgement) []about {
	source := map[string]string{}
	for _, n := range j.Nodes {
		if len(n.Follows()) > 0 {
			source[n.Name] = n.Follows()[0]
		}
	}
	for _, n := range j.Nodes {
		path := []string{n.Name}
		for at := source[n.Name]; at != "" && len(path) <= len(j.Nodes); at = source[at] {
			if at == n.Name {
				return []about{{text: "the nodes follow each other in a ring: " + strings.Join(append(path, at), " → ")}}
			}
			path = append(path, at)
		}
	}
	return nil
}

func unprovenPrimary(j judgement) []about {
	if j.Primary != "" || len(j.roots) > 0 || len(j.dead) == 0 {
		return nil
	}
	if len(j.dead) > 1 {
		return []about{{text: "replicas follow several nodes that cannot be read: " + strings.Join(j.dead, ", ")}}
	}
	return []about{{node: j.dead[0], text: "it cannot be read, was never seen as the primary, and not every reachable node of a majority follows it"}}
}

func noPrimary(j judgement) []about {
	if j.Primary != "" || len(j.roots) > 0 || len(j.dead) > 0 || len(ring(j)) > 0 || len(primaryUnread(j)) > 0 {
		return nil
	}
	return []about{{text: "no node is followed by the others"}}
}

func duplicateIdentity(j judgement) []about {
	var list []about
	for i, a := range j.Nodes {
		for _, b := range j.Nodes[i+1:] {
			if !a.Readable() || !b.Readable() {
				continue
			}
			if a.Status.Identity() == b.Status.Identity() || a.Status.ServerID == b.Status.ServerID {
				list = append(list, about{node: b.Name, text: fmt.Sprintf("it has the identity of %s: server_id %d", a.Name, b.Status.ServerID)})
			}
		}
	}
	return list
}

func mixedFlavours(j judgement) []about {
	var first Node
	for _, n := range j.Nodes {
		switch {
		case !n.Readable():
		case first.Name == "":
			first = n
		case n.Status.Version.Flavour != first.Status.Version.Flavour:
			return []about{{node: n.Name, text: fmt.Sprintf("it is %s while %s is %s", n.Status.Version, first.Name, first.Status.Version)}}
		}
	}
	return nil
}

func unknownChannels(_ judgement, n Node) string {
	if _, known := n.channels(); known || !n.Readable() {
		return ""
	}
	return "whom it follows is unknown: " + strings.Join(n.Status.Unknown, "; ")
}

func writableReplica(j judgement, n Node) string {
	if j.Primary == "" || n.Name == j.Primary || !n.Readable() || !n.Status.Writable() {
		return ""
	}
	return "it is writable although " + j.Primary + " is the primary"
}

func readOnlyPrimary(j judgement, n Node) string {
	if n.Name != j.Primary || !n.Readable() || n.Status.Writable() {
		return ""
	}
	return "it is the primary and read-only"
}

func stranger(_ judgement, n Node) string {
	if len(n.Strangers()) == 0 {
		return ""
	}
	return "it follows " + strings.Join(n.Strangers(), ", ") + ", which is not configured"
}

func chain(j judgement, n Node) string {
	for _, source := range n.Follows() {
		if j.Primary != "" && source != j.Primary && n.Name != j.Primary {
			return "it follows " + source + ", not the primary"
		}
	}
	return ""
}

func detached(j judgement, n Node) string {
	_, known := n.channels()
	if j.Primary == "" || n.Name == j.Primary || !known || len(n.Follows())+len(n.Strangers()) > 0 {
		return ""
	}
	return "it follows nobody"
}

func severalSources(_ judgement, n Node) string {
	if len(n.Follows())+len(n.Strangers()) < 2 {
		return ""
	}
	return "it follows several sources: " + strings.Join(append(n.Follows(), n.Strangers()...), ", ")
}

func ioStopped(j judgement, n Node) string {
	for _, c := range channelsOf(n) {
		if c.IO == mysql.ThreadYes || c.IO == mysql.ThreadPreparing || j.PrimaryDead {
			continue
		}
		return fmt.Sprintf("its IO thread is not connected: %s, error %d", c.IO, c.IOErrno)
	}
	return ""
}

func sqlStopped(_ judgement, n Node) string {
	for _, c := range channelsOf(n) {
		if c.SQL != mysql.ThreadYes {
			return fmt.Sprintf("its SQL thread is stopped, error %d", c.SQLErrno)
		}
	}
	return ""
}

func noGTID(_ judgement, n Node) string {
	if n.Readable() && n.Status.GTIDMode != "ON" {
		return "gtid_mode is " + n.Status.GTIDMode
	}
	for _, c := range channelsOf(n) {
		if !c.AutoPosition {
			return "its channel does not use GTIDs"
		}
	}
	return ""
}

func channelsOf(n Node) []mysql.Channel {
	channels, _ := n.channels()
	return channels
}
