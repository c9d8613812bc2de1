package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"failwise/failover"
	"failwise/rules"
)

const (
	// sample is how many rows are looked at to learn how often the timeline's
	// nodes were probed.
	sample = 2000
	// longestInterval and shortestTick bound how often the engine is called
	// between two rows, whatever stands in the timeline. Nodes that were probed
	// less often were not watched.
	longestInterval = 10 * time.Minute
	shortestTick    = 100 * time.Millisecond
	// progressEvery is the number of rows between two calls of Progress.
	progressEvery = 1 << 14
)

// Side is one set of rules under which a timeline is replayed.
type Side struct {
	// Name is how the side is called in reports: a profile or a file.
	Name    string
	Rules   *rules.Map
	Timings rules.Timings
	// RecordedRules and RecordedTimings let a journal replace what it tells: the
	// profile and the rules that were loaded, and tick, settle, quota and limits.
	RecordedRules, RecordedTimings bool
}

// Options say how a timeline is replayed.
type Options struct {
	// Sides are one or more; all see the same rows at the same time.
	Sides []Side
	// Nodes are the cluster. Empty: the node of the first row is the primary and
	// every other that comes a replica.
	Nodes []failover.Node
	// KeepGoing skips rows that cannot be read, and tells Skipped; otherwise the
	// first one ends the replay.
	KeepGoing bool
	Skipped   func(*FileError)
	// Begin is called once before any event, with the time of the first row as in
	// [Report].
	Begin func(start time.Time)
	// Events is called with the events of one moment, per side, in order of
	// time. The slices are reused. Requests are left out.
	Events func(at time.Duration, sides [][]failover.Event)
	// Progress is called now and then with the number of bytes and rows so far.
	Progress func(bytes, rows int64)
}

// Report is what a replay came to.
type Report struct {
	Rows, Skipped int64
	// Start is the time of the first row if times are RFC 3339, else zero; times
	// in reports count from it.
	Start time.Time
	// First and Last are the times of the first and the last row.
	First, Last time.Duration
	// ProbeInterval is what the rows say about how often a node was probed.
	ProbeInterval time.Duration
	// Journal is true for a watcher's journal: its facts were used.
	Journal bool
	Nodes   []failover.Node
	Sides   []*SideReport
	// Difference is the first moment at which two sides did not do the same, nil
	// if there is none.
	Difference *Difference
	// Decision is the same for what is decided: failovers, failed replicas,
	// alerts and holds.
	Decision *Difference
}

// Difference is a moment at which sides differ, with the events of each.
type Difference struct {
	At     time.Duration
	Events [][]failover.Event
}

// player replays one timeline.
type player struct {
	Options
	rows    *rows
	report  *Report
	drivers []*driver
	// learn: nodes are taken from the rows.
	learn bool
	known map[string]bool
	now   time.Duration
	// open: observations of now have not been judged yet.
	open   bool
	groups [][]failover.Event
}

// Timeline replays a timeline: CSV with the header time,node,outcome, or JSON
// lines with the same names, or a journal. name is used in messages. Memory does
// not grow with its length. An error about a row is a [*FileError].
func Timeline(ctx context.Context, name string, r io.Reader, o Options) (*Report, error) {
	src, err := openRows(name, r)
	if err != nil {
		return nil, err
	}
	p := &player{
		Options: o, rows: src, report: &Report{}, learn: len(o.Nodes) == 0, known: map[string]bool{},
		groups: make([][]failover.Event, len(o.Sides)),
	}
	first, err := p.head()
	if err != nil {
		return nil, err
	}
	if err := p.begin(first); err != nil {
		return nil, err
	}
	for _, w := range first {
		if err := p.play(w); err != nil {
			return nil, err
		}
	}
	for n := int64(len(first)); ; n++ {
		w, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := p.play(w); err != nil {
			return nil, err
		}
		if n%progressEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if p.Progress != nil {
				p.Progress(src.bytes, p.report.Rows)
			}
		}
	}
	return p.end(), nil
}

// next returns the next row that can be used.
func (p *player) next() (row, error) {
	for {
		w, err := p.rows.next()
		if err == nil && w.begin == nil && w.fact == nil && !p.learn && !p.known[w.node] && len(p.known) > 0 {
			err = p.rows.bad(&FileError{Msg: fmt.Sprintf("node %q is not in the cluster", w.node), Word: w.node, Known: names(p.Nodes)})
		}
		if err == nil {
			return w, nil
		}
		var bad *FileError
		if !errors.As(err, &bad) || !p.KeepGoing {
			return row{}, err
		}
		p.report.Skipped++
		if p.Skipped != nil {
			p.Skipped(bad)
		}
	}
}

func names(nodes []failover.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Name
	}
	return all
}

// head reads the rows from which the interval of the probes is learned.
func (p *player) head() ([]row, error) {
	for _, n := range p.Nodes {
		p.known[n.Name] = true
	}
	var first []row
	for len(first) < sample {
		w, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		first = append(first, w)
	}
	if len(first) == 0 {
		return nil, &FileError{File: p.rows.name, Msg: "the timeline has no row that can be used"}
	}
	return first, nil
}

// interval returns how often a node was probed: the median time between two rows
// of the node whose median is longest.
func interval(rows []row) time.Duration {
	last, gaps := map[string]time.Duration{}, map[string][]time.Duration{}
	for _, w := range rows {
		if w.fact != nil || w.begin != nil {
			continue
		}
		if before, ok := last[w.node]; ok {
			gaps[w.node] = append(gaps[w.node], w.at-before)
		}
		last[w.node] = w.at
	}
	longest := time.Duration(0)
	for _, g := range gaps {
		slices.Sort(g)
		longest = max(longest, g[len(g)/2])
	}
	return min(longest, longestInterval)
}

// begin makes the engines.
func (p *player) begin(first []row) error {
	p.report.First, p.report.ProbeInterval = first[0].at, interval(first)
	p.report.Journal = slices.ContainsFunc(first, func(w row) bool { return w.fact != nil || w.begin != nil })
	if p.rows.time.absolute {
		p.report.Start = time.Unix(0, p.rows.time.base).UTC()
	}
	learned := 0 // the line that names the nodes
	if p.learn {
		for _, w := range first {
			if w.begin != nil && len(w.begin.Nodes) > 0 {
				p.Nodes, learned = w.begin.Nodes, w.line
				break
			}
		}
		if len(p.Nodes) == 0 {
			i := slices.IndexFunc(first, func(w row) bool { return w.node != "" })
			if i < 0 {
				return &FileError{File: p.rows.name, Msg: "the timeline has no probe"}
			}
			p.Nodes = []failover.Node{{Name: first[i].node, Role: failover.Primary}}
		}
		for _, n := range p.Nodes {
			p.known[n.Name] = true
		}
	}
	for _, side := range p.Sides {
		d, err := newDriver(side, p.Nodes, p.report.ProbeInterval, p.report.Journal)
		if learned > 0 && errors.Is(err, failover.ErrNodes) {
			return &FileError{File: p.rows.name, Line: learned, Msg: err.Error(), Err: err}
		}
		if err != nil {
			return err
		}
		p.drivers = append(p.drivers, d)
	}
	p.now = first[0].at
	if p.Begin != nil {
		p.Begin(p.report.Start)
	}
	return nil
}

// play takes in one row.
func (p *player) play(w row) error {
	if w.at > p.now {
		p.judge()
		for _, d := range p.drivers {
			d.advanceTo(w.at)
		}
		p.now = w.at
	}
	p.report.Rows++
	p.report.Last = w.at
	switch {
	case w.begin != nil:
		for _, d := range p.drivers {
			d.restart(w.at, w.begin)
		}
	case w.fact != nil:
		for _, d := range p.drivers {
			d.fact(w.at, *w.fact)
		}
	default:
		if p.learn && !p.known[w.node] {
			p.known[w.node] = true
			p.Nodes = append(p.Nodes, failover.Node{Name: w.node})
			for _, d := range p.drivers {
				d.addNode(w.at, w.node)
			}
		}
		for _, d := range p.drivers {
			d.observe(w.at, w.node, w.outcome)
		}
	}
	p.open = true
	return nil
}

// judge lets every side judge the moment in hand, and hands the events out.
func (p *player) judge() {
	if !p.open {
		return
	}
	p.open = false
	quiet := true
	for _, d := range p.drivers {
		d.judge(p.now)
		quiet = quiet && len(d.events) == 0
	}
	if !quiet {
		p.flush()
	}
}

// flush hands out the events that the sides have gathered, in order of time.
func (p *player) flush() {
	next := make([]int, len(p.drivers))
	for {
		at := never
		for i, d := range p.drivers {
			if next[i] < len(d.events) {
				at = min(at, d.events[next[i]].At)
			}
		}
		if at == never {
			break
		}
		for i, d := range p.drivers {
			from := next[i]
			for next[i] < len(d.events) && d.events[next[i]].At == at {
				next[i]++
			}
			p.groups[i] = d.events[from:next[i]]
		}
		p.compare(at)
		if p.Events != nil {
			p.Events(at, p.groups)
		}
	}
	for _, d := range p.drivers {
		d.events = d.events[:0]
	}
}

// compare keeps the first moments at which the sides differ.
func (p *player) compare(at time.Duration) {
	if p.report.Difference == nil && p.differ(func(failover.Event) bool { return true }) {
		p.report.Difference = p.difference(at)
	}
	if p.report.Decision == nil && p.differ(decides) {
		p.report.Decision = p.difference(at)
	}
}

// differ reports whether the sides differ at this moment in the events that count.
func (p *player) differ(counts func(failover.Event) bool) bool {
	for _, g := range p.groups[1:] {
		i, j, first := 0, 0, p.groups[0]
		for {
			for i < len(first) && !counts(first[i]) {
				i++
			}
			for j < len(g) && !counts(g[j]) {
				j++
			}
			if i == len(first) || j == len(g) {
				break
			}
			if !same(first[i], g[j]) {
				return true
			}
			i++
			j++
		}
		if i < len(first) || j < len(g) {
			return true
		}
	}
	return false
}

func (p *player) difference(at time.Duration) *Difference {
	d := &Difference{At: at}
	for _, g := range p.groups {
		d.Events = append(d.Events, slices.Clone(g))
	}
	return d
}

// decides reports whether an event is a decision.
func decides(ev failover.Event) bool {
	switch ev.Kind {
	case failover.FailoverDecided, failover.ReplicaFailed, failover.Alerted, failover.Held:
		return true
	default:
		return false
	}
}

// same reports whether two events say the same, details aside.
func same(a, b failover.Event) bool {
	return a.Kind == b.Kind && a.Node == b.Node && a.Outcome == b.Outcome && a.Reason == b.Reason && a.Count == b.Count && a.Peer == b.Peer
}

func (p *player) end() *Report {
	p.judge()
	r := p.report
	r.Nodes = p.Nodes
	for _, d := range p.drivers {
		r.Sides = append(r.Sides, d.finish(r.Last))
	}
	if p.Progress != nil {
		p.Progress(p.rows.bytes, r.Rows)
	}
	return r
}
