package gtid

import (
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Set is an immutable set of transactions of one flavour. The zero value is
// the empty set. Sets of different flavours have nothing in common; algebra on
// them is defined, and never useful.
type Set struct {
	runs []run // sorted by source; every run has at least one interval
}

type run struct {
	source    Source
	intervals []Interval // normalized
}

// NewSet gives the set that holds the interval of one source. It is empty when
// first is 0 or greater than last.
func NewSet(source Source, first, last uint64) Set {
	if first == 0 || first > last {
		return Set{}
	}
	return Set{runs: []run{{source, []Interval{{first, last}}}}}
}

// builder collects intervals in any order.
type builder map[Source][]Interval

func (b builder) set() Set {
	var s Set
	for source, ivs := range b {
		if len(ivs) > 0 {
			s.runs = append(s.runs, run{source, normalize(ivs)})
		}
	}
	sort.Slice(s.runs, func(i, j int) bool { return s.runs[i].source.compare(s.runs[j].source) < 0 })
	return s
}

// IsEmpty tells whether the set holds no transaction.
func (s Set) IsEmpty() bool { return len(s.runs) == 0 }

// Count is the number of transactions in the set. On MariaDB it takes every
// number up to the newest of a source as used, which overstates a source that
// did not number all transactions of its domain.
func (s Set) Count() uint64 {
	var n uint64
	for _, r := range s.runs {
		for _, iv := range r.intervals {
			n += iv.count()
		}
	}
	return n
}

// All yields each source of the set with its intervals, in the order of the
// text form. The intervals must not be changed.
func (s Set) All() iter.Seq2[Source, []Interval] {
	return func(yield func(Source, []Interval) bool) {
		for _, r := range s.runs {
			if !yield(r.source, r.intervals) {
				return
			}
		}
	}
}

// Of is the part of the set that a predicate on sources selects.
func (s Set) Of(selects func(Source) bool) Set {
	var out Set
	for _, r := range s.runs {
		if selects(r.source) {
			out.runs = append(out.runs, r)
		}
	}
	return out
}

// WithoutServer is the set without the transactions that one server numbered:
// the uuid names it on MySQL (with any tag), the server id on MariaDB.
func (s Set) WithoutServer(uuid string, serverID uint32) Set {
	uuid = strings.ToLower(uuid)
	return s.Of(func(src Source) bool {
		if src.UUID != "" {
			return src.UUID != uuid
		}
		return src.Server != serverID
	})
}

// Has tells whether one transaction is in the set.
func (s Set) Has(source Source, number uint64) bool {
	for _, iv := range s.intervals(source) {
		if iv.First <= number && number <= iv.Last {
			return true
		}
	}
	return false
}

func (s Set) intervals(source Source) []Interval {
	i, ok := slices.BinarySearchFunc(s.runs, source, func(r run, src Source) int { return r.source.compare(src) })
	if !ok {
		return nil
	}
	return s.runs[i].intervals
}

// Equal tells whether both sets hold the same transactions.
func (s Set) Equal(o Set) bool {
	return slices.EqualFunc(s.runs, o.runs, func(a, b run) bool {
		return a.source == b.source && slices.Equal(a.intervals, b.intervals)
	})
}

// Contains tells whether every transaction of o is in s.
func (s Set) Contains(o Set) bool { return o.Subtract(s).IsEmpty() }

// Compare tells how s stands to o: [Ahead] means that s holds all of o and more.
func (s Set) Compare(o Set) Relation { return relationOf(s.Contains(o), o.Contains(s)) }

// Union holds what is in either set.
func (s Set) Union(o Set) Set {
	b := builder{}
	for _, r := range s.runs {
		b[r.source] = append(b[r.source], r.intervals...)
	}
	for _, r := range o.runs {
		b[r.source] = append(b[r.source], r.intervals...)
	}
	return b.set()
}

// Intersect holds what is in both sets.
func (s Set) Intersect(o Set) Set {
	return s.combine(o, intersect)
}

// Subtract holds what is in s and not in o.
func (s Set) Subtract(o Set) Set {
	return s.combine(o, subtract)
}

func (s Set) combine(o Set, op func(a, b []Interval) []Interval) Set {
	var out Set
	for _, r := range s.runs {
		if ivs := op(r.intervals, o.intervals(r.source)); len(ivs) > 0 {
			out.runs = append(out.runs, run{r.source, ivs})
		}
	}
	return out
}

// String gives the set in the spelling of its flavour, the inverse of [Parse].
// MySQL: uuid:1-5:7:tag:1, comma-separated. MariaDB: domain-server-number for
// all numbers of a source from 1 up to that one, and domain-server-first..last
// for any other interval.
func (s Set) String() string {
	var b strings.Builder
	previous := ""
	for _, r := range s.runs {
		if r.source.UUID == "" {
			writeMariaDB(&b, r)
			continue
		}
		if r.source.UUID != previous {
			comma(&b)
			b.WriteString(r.source.UUID)
			previous = r.source.UUID
		}
		if r.source.Tag != "" {
			b.WriteString(":" + r.source.Tag)
		}
		for _, iv := range r.intervals {
			b.WriteString(":" + strconv.FormatUint(iv.First, 10))
			if iv.Last > iv.First {
				b.WriteString("-" + strconv.FormatUint(iv.Last, 10))
			}
		}
	}
	return b.String()
}

func writeMariaDB(b *strings.Builder, r run) {
	for _, iv := range r.intervals {
		comma(b)
		b.WriteString(r.source.String() + "-")
		if iv.First > 1 {
			b.WriteString(strconv.FormatUint(iv.First, 10) + "..")
		}
		b.WriteString(strconv.FormatUint(iv.Last, 10))
	}
}

func comma(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
}

// MarshalText is [Set.String]; with [Set.UnmarshalText] it lets a set stand in JSON.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [Parse].
func (s *Set) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
