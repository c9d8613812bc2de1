package topology

import (
	"fmt"
	"slices"
	"strings"

	"failwise/failover/mysql"
)

// Tree draws the topology in ASCII: each node under its source, with role,
// version, writability, position, lag and threads, one a line; then the
// findings.
func (t Topology) Tree() string {
	var b strings.Builder
	drawn := map[string]bool{}
	if p, ok := t.Node(t.Primary); ok {
		t.draw(&b, p, "", "", drawn)
	}
	for _, n := range t.Nodes {
		if !drawn[n.Name] && len(n.Follows()) == 0 {
			t.draw(&b, n, "", "", drawn)
		}
	}
	for _, n := range t.Nodes { // what a ring has hidden
		if !drawn[n.Name] {
			t.draw(&b, n, "", "", drawn)
		}
	}
	for _, f := range t.Findings {
		where := f.Node
		if where == "" {
			where = "cluster"
		}
		fmt.Fprintf(&b, "! %s: %s: %s\n  hint: %s\n", where, f.Rule, f.Text, f.Fix)
	}
	return b.String()
}

func (t Topology) draw(b *strings.Builder, n Node, first, rest string, drawn map[string]bool) {
	drawn[n.Name] = true
	fmt.Fprintln(b, first+t.Line(n))
	followers := slices.DeleteFunc(t.Followers(n.Name), func(f Node) bool { return drawn[f.Name] })
	for i, f := range followers {
		if drawn[f.Name] {
			continue
		}
		if i == len(followers)-1 {
			t.draw(b, f, rest+"`- ", rest+"   ", drawn)
		} else {
			t.draw(b, f, rest+"+- ", rest+"|  ", drawn)
		}
	}
}

// Line is one node in one line.
func (t Topology) Line(n Node) string {
	parts := []string{n.Name}
	if n.Address != n.Name {
		parts = append(parts, n.Address)
	}
	parts = append(parts, t.roleWord(n))
	if !n.Readable() {
		return strings.Join(append(parts, "unreadable"), " ")
	}
	s := n.Status
	parts = append(parts, s.Version.String())
	if s.Writable() {
		parts = append(parts, "writable")
	} else {
		parts = append(parts, "read-only")
	}
	if gtids := s.Progress().ExecutedOnly().String(); gtids != "" {
		parts = append(parts, shorten(gtids))
	}
	for _, c := range channelsOf(n) {
		parts = append(parts, threads(c))
	}
	return strings.Join(parts, " ")
}

func (t Topology) roleWord(n Node) string {
	switch {
	case n.Name == t.Primary:
		return "primary"
	case t.Primary == "" && len(n.Links) == 0:
		return "unknown"
	default:
		return "replica"
	}
}

func threads(c mysql.Channel) string {
	s := "io=" + thread(c.IO, c.IOErrno) + " sql=" + thread(c.SQL, c.SQLErrno)
	if lag, known := c.Lag.Get(); known {
		s += fmt.Sprintf(" lag=%s", lag)
	} else {
		s += " lag=unknown"
	}
	if c.Delay > 0 {
		s += fmt.Sprintf(" delay=%s", c.Delay)
	}
	return s
}

func thread(s mysql.ThreadState, errno int) string {
	if errno != 0 && s != mysql.ThreadYes {
		return fmt.Sprintf("%s(%d)", s, errno)
	}
	return s.String()
}
