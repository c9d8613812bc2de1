package topology

import "slices"

// judgement is a topology while it is being made.
type judgement struct {
	*Topology
	memory Memory
	// roots are readable nodes that follow no configured node and are followed.
	roots []string
	// dead are unreadable nodes that readable nodes follow.
	dead []string
}

// findPrimary sets Primary where it is certain.
func (j *judgement) findPrimary() {
	for _, n := range j.Nodes {
		followed := len(j.Followers(n.Name)) > 0
		_, known := n.channels()
		switch {
		case !followed, j.deposed(n.Name):
		case !n.Readable():
			j.dead = append(j.dead, n.Name)
		case known && len(n.Follows()) == 0:
			j.roots = append(j.roots, n.Name)
		}
	}
	switch {
	case len(j.roots) == 1:
		j.Primary = j.roots[0]
	case len(j.roots) > 1:
	case len(j.dead) == 1 && j.deadIsCertain(j.dead[0]):
		j.Primary = j.dead[0]
	case len(j.dead) == 0:
		if j.Primary = j.opened(); j.Primary == "" {
			j.Primary = j.unfollowedPrimary()
		}
	}
}

// deposed tells whether a node was failed over and not recovered since. Replicas
// that could not be reached then still follow it, and prove nothing. It is the
// primary again only if the node opened in its place has been made to follow it.
func (j *judgement) deposed(name string) bool {
	successor := j.memory.successor(name)
	if successor == "" || successor == name {
		return false
	}
	n, ok := j.Node(successor)
	return ok && !j.leadsTo(n, name, len(j.Nodes))
}

// opened is the node that was opened in place of a deposed one and that nobody
// follows yet; empty if there is none that lives and follows nobody.
func (j *judgement) opened() string {
	for _, n := range j.Nodes {
		if !j.deposed(n.Name) {
			continue
		}
		s, _ := j.Node(j.memory.successor(n.Name))
		if _, known := s.channels(); known && s.Readable() && len(s.Links) == 0 {
			return s.Name
		}
	}
	return ""
}

// deadIsCertain tells whether an unreadable node may be taken for the primary.
// A remembered one may, if no readable node follows anything that does not lead
// to it. Any other only if a majority of all nodes can be read and every
// replica among them names it as its own source.
func (j *judgement) deadIsCertain(name string) bool {
	readable := 0
	for _, n := range j.Nodes {
		if !n.Readable() {
			continue
		}
		readable++
		_, known := n.channels()
		switch {
		case j.memory.Primary == name:
			if len(n.Links) > 0 && !j.leadsTo(n, name, len(j.Nodes)) {
				return false
			}
		case !known, len(n.Links) != 1, n.Links[0].Source != name:
			return false
		}
	}
	return j.memory.Primary == name || 2*readable > len(j.Nodes)
}

// leadsTo tells whether a node's channels end at the named node, over at most
// so many others: at least one does, and none ends at another configured node.
func (j *judgement) leadsTo(n Node, name string, hops int) bool {
	leads := false
	for _, l := range n.Links {
		switch source, configured := j.Node(l.Source); {
		case l.Source == name:
			leads = true
		case !configured:
		case hops == 0 || !j.leadsTo(source, name, hops-1):
			return false
		default:
			leads = true
		}
	}
	return leads
}

// unfollowedPrimary is the primary of a cluster in which nobody follows
// anyone: the only node there is, or the remembered one if it lives and is the
// only writable node, or if nothing at all can be read.
func (j *judgement) unfollowedPrimary() string {
	if len(j.Nodes) == 1 && len(j.Nodes[0].Strangers()) == 0 {
		return j.Nodes[0].Name
	}
	readable, writable := 0, []string{}
	for _, n := range j.Nodes {
		if n.Readable() {
			readable++
			if n.Status.Writable() && len(n.Strangers()) == 0 {
				writable = append(writable, n.Name)
			}
		}
	}
	i := slices.IndexFunc(j.Nodes, func(n Node) bool { return n.Name == j.memory.Primary })
	switch {
	case i < 0:
		return ""
	case j.deposed(j.memory.Primary):
		return ""
	case readable == 0:
		return j.memory.Primary
	case len(writable) == 1 && writable[0] == j.memory.Primary && len(j.Nodes[i].Follows()) == 0:
		return j.memory.Primary
	}
	return ""
}
