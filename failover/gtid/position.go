package gtid

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// GTID is one transaction of MariaDB, written domain-server-number.
type GTID struct {
	Domain uint32
	Server uint32
	Number uint64
}

func (g GTID) String() string { return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Number) }

func (g GTID) source() Source { return Source{Domain: g.Domain, Server: g.Server} }

func parseGTID(s string) (GTID, bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 3 {
		return GTID{}, false
	}
	domain, ok1 := parseNumber(parts[0], math.MaxUint32)
	server, ok2 := parseNumber(parts[1], math.MaxUint32)
	number, ok3 := parseNumber(parts[2], math.MaxUint64)
	return GTID{uint32(domain), uint32(server), number}, ok1 && ok2 && ok3
}

// Position is MariaDB's newest transaction of each domain, as in
// gtid_slave_pos, gtid_binlog_pos and Gtid_IO_Pos. The zero value is the
// empty position.
type Position struct {
	gtids []GTID // sorted by domain, one each
}

// ParsePosition reads a comma-separated list of domain-server-number with each
// domain at most once. Errors are of type [*SyntaxError].
func ParsePosition(text string) (Position, error) {
	const kind = "gtid position"
	gtids, err := parseList(kind, text)
	if err != nil {
		return Position{}, err
	}
	slices.SortFunc(gtids, func(a, b GTID) int { return a.source().compare(b.source()) })
	for i := 1; i < len(gtids); i++ {
		if gtids[i].Domain == gtids[i-1].Domain {
			return Position{}, syntaxError(kind, text, fmt.Sprintf("domain %d stands twice", gtids[i].Domain))
		}
	}
	return Position{gtids}, nil
}

func parseList(kind, text string) ([]GTID, error) {
	var gtids []GTID
	for part := range strings.SplitSeq(text, ",") {
		part = stripSpace(part)
		if part == "" {
			continue
		}
		g, ok := parseGTID(part)
		if !ok {
			return nil, syntaxError(kind, part, "want domain-server-number")
		}
		gtids = append(gtids, g)
	}
	return gtids, nil
}

// String is the inverse of [ParsePosition].
func (p Position) String() string { return joinGTIDs(p.gtids) }

func joinGTIDs(gtids []GTID) string {
	parts := make([]string, len(gtids))
	for i, g := range gtids {
		parts[i] = g.String()
	}
	return strings.Join(parts, ",")
}

// IsEmpty tells whether the position names no domain.
func (p Position) IsEmpty() bool { return len(p.gtids) == 0 }

// Newest is the newest transaction of a domain; false if the position does
// not name the domain.
func (p Position) Newest(domain uint32) (GTID, bool) {
	for _, g := range p.gtids {
		if g.Domain == domain {
			return g, true
		}
	}
	return GTID{}, false
}

// GTIDs lists the position, sorted by domain.
func (p Position) GTIDs() []GTID { return slices.Clone(p.gtids) }

// Reaches tells whether p is as far as o in every domain of o. Two different
// transactions with the same number in one domain reach each other in neither
// direction: their servers have diverged.
func (p Position) Reaches(o Position) bool {
	for _, want := range o.gtids {
		have, ok := p.Newest(want.Domain)
		if !ok && want.Number > 0 || have.Number < want.Number || have.Number == want.Number && ok && have.Server != want.Server {
			return false
		}
	}
	return true
}

// Compare tells how p stands to o; see [Position.Reaches].
func (p Position) Compare(o Position) Relation { return relationOf(p.Reaches(o), o.Reaches(p)) }

// Max takes the farther transaction of each domain; where the numbers are
// equal, that of p.
func (p Position) Max(o Position) Position {
	out := slices.Clone(p.gtids)
	for _, g := range o.gtids {
		i := slices.IndexFunc(out, func(h GTID) bool { return h.Domain == g.Domain })
		switch {
		case i < 0:
			out = append(out, g)
		case out[i].Number < g.Number:
			out[i] = g
		}
	}
	slices.SortFunc(out, func(a, b GTID) int { return a.source().compare(b.source()) })
	return Position{out}
}

// MarshalText is [Position.String].
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePosition].
func (p *Position) UnmarshalText(text []byte) error {
	parsed, err := ParsePosition(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// State is MariaDB's gtid_binlog_state: the newest transaction of each domain
// and server id in the binary log. The last entry of a domain is the domain's
// newest. The zero value is the empty state.
type State struct {
	entries []GTID // in the server's order
}

// ParseState reads gtid_binlog_state, keeping its order. Errors are of type
// [*SyntaxError].
func ParseState(text string) (State, error) {
	const kind = "gtid binlog state"
	entries, err := parseList(kind, text)
	if err != nil {
		return State{}, err
	}
	seen := make(map[Source]bool, len(entries))
	for _, g := range entries {
		if seen[g.source()] {
			return State{}, syntaxError(kind, text, fmt.Sprintf("domain %d, server %d stands twice", g.Domain, g.Server))
		}
		seen[g.source()] = true
	}
	return State{entries}, nil
}

// String is the inverse of [ParseState].
func (st State) String() string { return joinGTIDs(st.entries) }

// IsEmpty tells whether the state has no entry.
func (st State) IsEmpty() bool { return len(st.entries) == 0 }

// Set is the state as a set: of each domain and server, all numbers up to the newest.
func (st State) Set() Set {
	b := builder{}
	for _, g := range st.entries {
		if g.Number > 0 {
			b[g.source()] = []Interval{{1, g.Number}}
		}
	}
	return b.set()
}

// Position is the newest transaction of each domain.
func (st State) Position() Position {
	newest := map[uint32]GTID{}
	for _, g := range st.entries {
		newest[g.Domain] = g
	}
	var p Position
	for _, g := range newest {
		p.gtids = append(p.gtids, g)
	}
	slices.SortFunc(p.gtids, func(a, b GTID) int { return a.source().compare(b.source()) })
	return p
}

// MarshalText is [State.String].
func (st State) MarshalText() ([]byte, error) { return []byte(st.String()), nil }

// UnmarshalText is [ParseState].
func (st *State) UnmarshalText(text []byte) error {
	parsed, err := ParseState(string(text))
	if err != nil {
		return err
	}
	*st = parsed
	return nil
}
