package sandbox

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"
)

// SampleInterval is how often a Sampler looks at each node's writability.
const SampleInterval = 20 * time.Millisecond

// followInterval is how often it looks whom a node follows, which costs more.
const followInterval = 100 * time.Millisecond

// Span is a time in which every look at a node showed the same.
type Span struct {
	Node     *Node
	From, To time.Time // certain: from the first answer's arrival to the last question's departure
	Writable bool      // read_only off and, on MySQL, offline_mode off
}

// Following is a time in which a node followed the same source.
type Following struct {
	Node     *Node
	From, To time.Time
	Source   string // host:port, empty for nobody
}

// Overlap is a time in which two nodes accepted writes.
type Overlap struct {
	Nodes    [2]*Node
	From, To time.Time
}

// Sampler looks at every node of a cluster all the time, as root over the
// socket. A node that does not answer gives no spans: it is neither seen
// writable nor seen read-only.
type Sampler struct {
	cluster *Cluster
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu         sync.Mutex
	spans      []Span
	followings []Following
}

// StartSampler starts to look. It ends with Stop, with ctx, or with the cluster.
func (c *Cluster) StartSampler(ctx context.Context) *Sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &Sampler{cluster: c, cancel: cancel}
	for _, n := range c.nodes {
		s.group.Go(func() { s.repeat(ctx, n, SampleInterval, s.lookWritable()) })
		s.group.Go(func() { s.repeat(ctx, n, followInterval, s.lookSource()) })
	}
	s.group.Go(func() {
		select {
		case <-ctx.Done():
		case <-c.closed:
			cancel()
		}
	})
	return s
}

// repeat looks at a node over one session until ctx ends. A hung look is waited
// for, so that a frozen server does not collect sessions.
func (s *Sampler) repeat(ctx context.Context, n *Node, every time.Duration, look func(context.Context, *sql.Conn, *Node) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var conn *sql.Conn
	defer func() {
		if conn != nil {
			_ = discard(conn) // its server may be gone
		}
	}()
	for ctx.Err() == nil {
		var err error
		if conn == nil {
			conn, err = n.root.Conn(ctx)
		}
		if err == nil {
			err = look(ctx, conn, n)
		}
		if err != nil && conn != nil {
			_ = discard(conn) // its server may be gone
			conn = nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// lookWritable returns a look that begins, or lengthens, a span.
func (s *Sampler) lookWritable() func(context.Context, *sql.Conn, *Node) error {
	query := "SELECT @@global.read_only = 'OFF' OR @@global.read_only = '0'"
	if s.cluster.Flavour() == MySQL {
		query = "SELECT NOT (@@global.read_only OR @@global.offline_mode)"
	}
	index := -1
	return func(ctx context.Context, conn *sql.Conn, n *Node) error {
		asked := time.Now()
		var writable bool
		if err := conn.QueryRowContext(ctx, query).Scan(&writable); err != nil {
			return err
		}
		answered := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		// After a gap nobody knows what was in between.
		if index >= 0 && s.spans[index].Writable == writable && asked.Sub(s.spans[index].To) < 10*SampleInterval {
			s.spans[index].To = asked
			return nil
		}
		index = len(s.spans)
		s.spans = append(s.spans, Span{Node: n, From: answered, To: answered, Writable: writable})
		return nil
	}
}

// lookSource returns a look that begins, or lengthens, a following.
func (s *Sampler) lookSource() func(context.Context, *sql.Conn, *Node) error {
	index := -1
	return func(ctx context.Context, conn *sql.Conn, n *Node) error {
		status, err := replicationStatus(ctx, conn, s.cluster.Flavour())
		if err != nil {
			return err
		}
		now := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		if index >= 0 && s.followings[index].Source == status.Source {
			s.followings[index].To = now
			return nil
		}
		index = len(s.followings)
		s.followings = append(s.followings, Following{Node: n, From: now, To: now, Source: status.Source})
		return nil
	}
}

// Stop ends the sampler.
func (s *Sampler) Stop() {
	s.cancel()
	s.group.Wait()
}

// Spans returns what was seen of one node, in order.
func (s *Sampler) Spans(n *Node) []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.spans), func(span Span) bool { return span.Node != n })
}

// Followings returns whom one node followed, in order.
func (s *Sampler) Followings(n *Node) []Following {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.followings), func(f Following) bool { return f.Node != n })
}

// Overlaps returns every time in which two nodes were certainly writable at once.
func (s *Sampler) Overlaps() []Overlap {
	s.mu.Lock()
	defer s.mu.Unlock()
	var overlaps []Overlap
	for i, a := range s.spans {
		for _, b := range s.spans[i+1:] {
			from, to := later(a.From, b.From), earlier(a.To, b.To)
			if a.Node != b.Node && a.Writable && b.Writable && !to.Before(from) {
				overlaps = append(overlaps, Overlap{Nodes: [2]*Node{a.Node, b.Node}, From: from, To: to})
			}
		}
	}
	return overlaps
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
