package watch

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exposition is a page of metrics in Prometheus' text format 0.0.4. The samples of
// one metric stand together below its help and type, as the format wants it; the
// order is that of their first appearance. It is not safe for concurrent use.
type exposition struct {
	families []*family
	byName   map[string]*family
}

// family is one metric with all its series.
type family struct {
	metric
	series []*series
	byKey  map[string]*series
}

// series is one set of label values with what was counted or measured. The
// counts of a histogram are those of its buckets, the last being that above them
// all.
type series struct {
	labels string
	value  float64
	bounds []float64
	counts []uint64
}

// buckets is the number of a histogram's buckets with an upper bound; each is
// twice as wide as the one before.
const buckets = 14

// set sets a gauge. The first label value is that of the cluster.
func (e *exposition) set(m metric, value float64, labels ...string) {
	e.of(m, labels).value = value
}

// count adds one to a counter.
func (e *exposition) count(m metric, labels ...string) {
	e.of(m, labels).value++
}

// observe adds a time to a histogram whose first bucket ends at first seconds.
func (e *exposition) observe(m metric, took time.Duration, first float64, labels ...string) {
	s := e.of(m, labels)
	if s.counts == nil {
		s.bounds, s.counts = make([]float64, buckets), make([]uint64, buckets+1)
		for i := range s.bounds {
			s.bounds[i] = first
			first *= 2
		}
	}
	seconds := took.Seconds()
	s.value += seconds
	i := 0
	for i < buckets && seconds > s.bounds[i] {
		i++
	}
	s.counts[i]++
}

// of finds the series with these label values, or begins it.
func (e *exposition) of(m metric, labels []string) *series {
	f := e.byName[m.name]
	if f == nil {
		f = &family{metric: m, byKey: map[string]*series{}}
		if e.byName == nil {
			e.byName = map[string]*family{}
		}
		e.byName[m.name] = f
		e.families = append(e.families, f)
	}
	key := strings.Join(labels, "\x00")
	s := f.byKey[key]
	if s == nil {
		s = &series{labels: f.pairs(labels)}
		f.byKey[key] = s
		f.series = append(f.series, s)
	}
	return s
}

// copy is the page as it is now, to be written only.
func (e *exposition) copy() exposition {
	var c exposition
	for _, f := range e.families {
		family := &family{metric: f.metric, series: make([]*series, len(f.series))}
		all := make([]series, len(f.series))
		for i, s := range f.series {
			all[i] = *s
			all[i].counts = slices.Clone(s.counts)
			family.series[i] = &all[i]
		}
		c.families = append(c.families, family)
	}
	return c
}

// pairs is the inside of the braces: the cluster, then the metric's own labels.
func (m metric) pairs(values []string) string {
	var b strings.Builder
	for i, v := range values {
		if i == 0 {
			b.WriteString("cluster=")
		} else {
			b.WriteString("," + m.labels[i-1] + "=")
		}
		b.WriteString(strconv.Quote(v))
	}
	return b.String()
}

// write writes the page. Errors of out are left to whoever owns it.
func (e *exposition) write(out io.Writer) {
	for _, f := range e.families {
		name := "failwise_" + f.name
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, f.kind)
		for _, s := range f.series {
			if s.counts == nil {
				fmt.Fprintf(out, "%s{%s} %s\n", name, s.labels, number(s.value))
				continue
			}
			var sum uint64
			for i, n := range s.counts {
				sum += n
				bound := "+Inf"
				if i < len(s.bounds) {
					bound = number(s.bounds[i])
				}
				fmt.Fprintf(out, "%s_bucket{%s,le=%q} %d\n", name, s.labels, bound, sum)
			}
			fmt.Fprintf(out, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, s.labels, number(s.value), name, s.labels, sum)
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
