package topology

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// Topology is what the readings of all configured nodes add up to. It is a
// plain value that can stand in JSON.
type Topology struct {
	Time time.Time `json:"time"`
	// Primary is the primary's name; empty when it is not certain, and then a
	// finding that holds says why.
	Primary string `json:"primary"`
	// PrimaryDead tells that the primary could not be read: it is known from its
	// replicas, or remembered.
	PrimaryDead bool   `json:"primary_dead"`
	Nodes       []Node `json:"nodes"` // in configured order
	// Findings are what is not as it should be, in the order of the rules' table.
	Findings []Finding `json:"findings"`
	// History is what the primary had at the last look at it, now or remembered.
	History gtid.Progress `json:"history,omitzero"`
	// Remembered is who the nodes were when all was well.
	Remembered []MemoryNode `json:"-"`
}

// MarshalJSON writes the time with milliseconds, and lists without elements as
// such.
func (t Topology) MarshalJSON() ([]byte, error) {
	type plain Topology
	if t.Nodes == nil {
		t.Nodes = []Node{}
	}
	if t.Findings == nil {
		t.Findings = []Finding{}
	}
	return json.Marshal(struct {
		Time string `json:"time"`
		plain
	}{failover.Stamp(t.Time), plain(t)})
}

// Node is one node and its place.
type Node struct {
	Reading
	// Role is replica for every node but the primary.
	Role failover.Role `json:"role"`
	// Links say, for each of its replication channels, whom it follows.
	Links []Link `json:"links,omitempty"`
}

// Link is one replication channel seen from the cluster.
type Link struct {
	Channel string `json:"channel"` // empty is the default channel
	// Source is the configured node that is followed; empty for a stranger.
	Source  string `json:"source"`
	Address string `json:"address"` // of the source, as the replica knows it
}

// unnamed is the error without the node's name before it.
func (n Node) unnamed() string { return strings.TrimPrefix(n.Error, n.Name+": ") }

// Follows are the configured nodes that the node's channels follow.
func (n Node) Follows() []string {
	var list []string
	for _, l := range n.Links {
		if l.Source != "" {
			list = append(list, l.Source)
		}
	}
	return list
}

// Strangers are the addresses of sources that are not configured.
func (n Node) Strangers() []string {
	var list []string
	for _, l := range n.Links {
		if l.Source == "" {
			list = append(list, l.Address)
		}
	}
	return list
}

// Channel is the node's channel that follows the named node.
func (n Node) Channel(source string) (mysql.Channel, bool) {
	channels, _ := n.channels()
	for i, l := range n.Links {
		if l.Source == source {
			return channels[i], true
		}
	}
	return mysql.Channel{}, false
}

// Node is a node by name.
func (t Topology) Node(name string) (Node, bool) {
	for _, n := range t.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// Followers are the nodes that follow the named one, in configured order.
func (t Topology) Followers(name string) []Node {
	var list []Node
	for _, n := range t.Nodes {
		if slices.Contains(n.Follows(), name) {
			list = append(list, n)
		}
	}
	return list
}

// Unread is the finding that too few nodes could be read to know the primary; nil
// if that is not so.
func (t Topology) Unread() *Finding {
	for i := range t.Findings {
		if t.Findings[i].Rule == primaryUnreadRule {
			return &t.Findings[i]
		}
	}
	return nil
}

// Healthy tells whether the primary is known, alive and writable, and nothing
// that was found holds.
func (t Topology) Healthy() bool {
	p, ok := t.Node(t.Primary)
	if !ok || t.PrimaryDead || !p.Status.Writable() {
		return false
	}
	return !slices.ContainsFunc(t.Findings, func(f Finding) bool { return f.Holds })
}

// Judge makes the topology of a reading of every configured node. It is pure:
// the same arguments give the same topology.
func Judge(readings []Reading, memory Memory, now time.Time) Topology {
	t := Topology{Time: now, Nodes: make([]Node, len(readings)), Remembered: memory.Nodes}
	for i, r := range readings {
		n := Node{Reading: r}
		channels, _ := r.channels()
		for _, c := range channels {
			link := Link{Channel: c.Name, Address: sourceAddress(c)}
			if j := sourceOf(readings, r, c, memory); j >= 0 {
				link.Source = readings[j].Name
			}
			n.Links = append(n.Links, link)
		}
		t.Nodes[i] = n
	}
	j := judgement{Topology: &t, memory: memory}
	j.findPrimary()
	if i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == t.Primary }); i >= 0 {
		t.Nodes[i].Role = failover.Primary
		t.PrimaryDead = !t.Nodes[i].Readable()
		t.History = t.Nodes[i].Status.Progress()
	}
	if t.PrimaryDead && memory.Primary == t.Primary {
		t.History = memory.Progress
	}
	for _, rule := range findingRules {
		t.Findings = append(t.Findings, rule.find(j)...)
	}
	return t
}
