package gtid

// Progress is all that one server has: executed, and for a replica received
// but not yet applied. Values of different flavours are [Incomparable].
type Progress struct {
	// Executed is gtid_executed on MySQL, gtid_binlog_state as a set on MariaDB.
	Executed Set `json:"executed"`
	// Received is Retrieved_Gtid_Set on MySQL; unused on MariaDB.
	Received Set `json:"received,omitzero"`

	// Applied and Fetched are MariaDB's positions: executed (gtid_current_pos
	// or the farther of gtid_slave_pos and gtid_binlog_pos), and received
	// (Gtid_IO_Pos). Unused on MySQL.
	Applied Position `json:"applied,omitzero"`
	Fetched Position `json:"fetched,omitzero"`
}

// IsEmpty tells whether the server has no transaction at all.
func (p Progress) IsEmpty() bool {
	return p.Executed.IsEmpty() && p.Received.IsEmpty() && p.Applied.IsEmpty() && p.Fetched.IsEmpty()
}

func (p Progress) isMariaDB() bool { return !p.Applied.IsEmpty() || !p.Fetched.IsEmpty() }

// newest is how far a MariaDB server is, received transactions included.
func (p Progress) newest() Position { return p.Applied.Max(p.Fetched) }

// String gives what the server has: the executed and received set, or the
// position on MariaDB.
func (p Progress) String() string {
	if p.isMariaDB() {
		return p.newest().String()
	}
	return p.Executed.Union(p.Received).String()
}

// ExecutedOnly is the progress without what is received and not applied.
func (p Progress) ExecutedOnly() Progress {
	return Progress{Executed: p.Executed, Applied: p.Applied}
}

// Lacks is what q has and p does not have. On MySQL this is exact. On MariaDB
// it is the numbers between the two positions, and each entry of q's binary log
// state that p's state denies; history, the state of the servers' common
// primary where it is known, names entries that are part of the common past
// even when p's binary log does not reach back to them (a replica restored from
// a backup has a short state and is no stranger).
func (p Progress) Lacks(q Progress, history Set) Set {
	if !p.isMariaDB() && !q.isMariaDB() {
		return q.Executed.Union(q.Received).Subtract(p.Executed.Union(p.Received))
	}
	lacks, mine := builder{}, p.newest()
	for _, want := range q.newest().gtids {
		have, ok := mine.Newest(want.Domain)
		switch {
		case have.Number < want.Number:
			lacks[want.source()] = append(lacks[want.source()], Interval{have.Number + 1, want.Number})
		case ok && p.denies(want) && !history.Has(want.source(), want.Number):
			lacks[want.source()] = append(lacks[want.source()], Interval{want.Number, want.Number})
		}
	}
	for source, ivs := range q.Executed.Union(q.Received).All() {
		if source.UUID != "" {
			lacks[source] = append(lacks[source], ivs...)
			continue
		}
		g := GTID{source.Domain, source.Server, ivs[len(ivs)-1].Last}
		if p.denies(g) && !history.Has(source, g.Number) {
			lacks[source] = append(lacks[source], Interval{g.Number, g.Number})
		}
	}
	return lacks.set()
}

// denies tells whether p, whose applied position has passed g's number, did
// not get there by way of g. Without a binary log state only the very same
// number with another server id is a denial.
func (p Progress) denies(g GTID) bool {
	if g.Number == 0 {
		return false
	}
	at, ok := p.Applied.Newest(g.Domain)
	if f, fetched := p.Fetched.Newest(g.Domain); fetched && f.Number == g.Number && f.Number > at.Number {
		return f.Server != g.Server
	}
	if !ok || at.Number < g.Number {
		return false
	}
	if at.Number == g.Number {
		return at.Server != g.Server
	}
	if p.Executed.IsEmpty() {
		return false
	}
	return !p.Executed.Has(g.source(), g.Number)
}

// Contains tells whether p has all that q has; see [Progress.Lacks].
func (p Progress) Contains(q Progress, history Set) bool { return p.Lacks(q, history).IsEmpty() }

// Compare tells how p stands to q; see [Progress.Lacks].
func (p Progress) Compare(q Progress, history Set) Relation {
	return relationOf(p.Contains(q, history), q.Contains(p, history))
}

// Errant is what a server executed that its primary never did, without the
// transactions that the primary itself numbered: those may be newer than the
// reading of the primary. On MySQL this is a set difference; on MariaDB the
// entries of the binary log state above the primary's, domain by domain and
// server by server, since positions hide them.
func (p Progress) Errant(primary Progress, primaryUUID string, primaryID uint32) Set {
	return p.Executed.Subtract(primary.Executed).WithoutServer(primaryUUID, primaryID)
}
