package topology

import (
	"time"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// Memory is the last healthy topology, to be kept across restarts. The zero
// value is none.
type Memory struct {
	Time    time.Time    `json:"time,omitzero"`
	Primary string       `json:"primary,omitempty"`
	Nodes   []MemoryNode `json:"nodes,omitempty"`
	// Progress is the primary's as of Time: a lower bound of what it had.
	Progress gtid.Progress `json:"progress,omitzero"`
	// Deposed are old primaries that were failed over and not recovered since, with
	// the node that was opened in place of each. The state file keeps them elsewhere.
	Deposed map[string]string `json:"-"`
}

// successor is the node that was opened in place of a deposed one, in the end;
// empty for a node that was not deposed.
func (m Memory) successor(name string) string {
	next := m.Deposed[name]
	for range m.Deposed {
		later, ok := m.Deposed[next]
		if !ok {
			break
		}
		next = later
	}
	return next
}

// MemoryNode is one node's identity.
type MemoryNode struct {
	Name       string `json:"name"`
	Address    string `json:"address"`
	ServerID   uint32 `json:"server_id"`
	ServerUUID string `json:"server_uuid,omitempty"`
}

// IsZero tells whether nothing is remembered.
func (m Memory) IsZero() bool { return m.Primary == "" }

// Node is a remembered node by name.
func (m Memory) Node(name string) (MemoryNode, bool) {
	for _, n := range m.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return MemoryNode{}, false
}

// isSource tells whether the named node had the identity of a channel's source.
func (m Memory) isSource(name string, c mysql.Channel) bool {
	n, ok := m.Node(name)
	switch {
	case !ok:
		return false
	case n.ServerUUID != "":
		return c.SourceUUID == n.ServerUUID
	default:
		return c.SourceServerID != 0 && c.SourceServerID == n.ServerID
	}
}

// Remember makes the memory of a healthy topology; false for one that is not
// healthy, whose predecessor should be kept. Nodes that could not be read keep
// what old says of them.
func (t Topology) Remember(old Memory) (Memory, bool) {
	if !t.Healthy() {
		return old, false
	}
	m := Memory{Time: t.Time, Primary: t.Primary}
	for _, n := range t.Nodes {
		switch past, ok := old.Node(n.Name); {
		case n.Readable():
			m.Nodes = append(m.Nodes, MemoryNode{n.Name, n.Address, n.Status.ServerID, n.Status.ServerUUID})
		case ok:
			m.Nodes = append(m.Nodes, past)
		}
	}
	if p, ok := t.Node(t.Primary); ok {
		m.Progress = p.Status.Progress()
	}
	return m, true
}
