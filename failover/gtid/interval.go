package gtid

import "slices"

// Interval is a run of transaction numbers, both ends included, 1 ≤ First ≤ Last.
type Interval struct {
	First, Last uint64
}

// count is the length of the interval; it saturates, which only MariaDB's
// 0..2^64-1 could reach.
func (iv Interval) count() uint64 { return iv.Last - iv.First + 1 }

// normalize sorts the intervals and joins those that overlap or touch.
func normalize(ivs []Interval) []Interval {
	slices.SortFunc(ivs, func(a, b Interval) int {
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		default:
			return 0
		}
	})
	out := ivs[:0]
	for _, iv := range ivs {
		if n := len(out); n > 0 && (iv.First <= out[n-1].Last || iv.First-1 == out[n-1].Last) {
			out[n-1].Last = max(out[n-1].Last, iv.Last)
			continue
		}
		out = append(out, iv)
	}
	return out
}

// intersect and subtract want normalized intervals and give normalized ones.

func intersect(a, b []Interval) []Interval {
	var out []Interval
	for i, j := 0, 0; i < len(a) && j < len(b); {
		first, last := max(a[i].First, b[j].First), min(a[i].Last, b[j].Last)
		if first <= last {
			out = append(out, Interval{first, last})
		}
		if a[i].Last < b[j].Last {
			i++
		} else {
			j++
		}
	}
	return out
}

func subtract(a, b []Interval) []Interval {
	var out []Interval
	j := 0
	for _, iv := range a {
		first, gone := iv.First, false
		for ; j < len(b) && b[j].First <= iv.Last; j++ {
			if b[j].Last < first {
				continue
			}
			if b[j].First > first {
				out = append(out, Interval{first, b[j].First - 1})
			}
			if b[j].Last >= iv.Last {
				gone = true
				break // this one may also cover the start of the next interval
			}
			first = b[j].Last + 1
		}
		if !gone {
			out = append(out, Interval{first, iv.Last})
		}
	}
	return out
}
