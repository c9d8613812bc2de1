package sandbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// WriterOptions says how a Writer writes. The zero value is a useful one.
type WriterOptions struct {
	Pause time.Duration // between two rows; 0 means 2 ms, below 0 none
	Limit time.Duration // of one write on a node that took the last one; 0 means 1 s
	Retry time.Duration // of one attempt, login included, while writes are out; 0 means 200 ms
	Log   io.Writer     // gets "time id node" for each acknowledged row; nil means nowhere
}

// Ack is one row whose commit a server has acknowledged to the client.
type Ack struct {
	ID   int64
	Sent time.Time // when the statement was sent
	At   time.Time // when the answer came
	Node *Node
}

// Outage is a time without an acknowledged write.
type Outage struct {
	From, To time.Time // the last acknowledgement before, the first after
	Open     bool      // no write has succeeded since From; To is then the moment of asking
}

// Length returns how long the outage was.
func (o Outage) Length() time.Duration { return o.To.Sub(o.From) }

// Writer is an ordinary client that inserts row after row and remembers which
// were acknowledged. After an error it goes to the next node, in turn, until one
// takes the write; a row whose fate it does not know it never sends again.
type Writer struct {
	cluster *Cluster
	options WriterOptions
	cancel  context.CancelFunc
	stop    context.CancelFunc // no further row
	done    chan struct{}

	mu      sync.Mutex
	first   int64 // ids are first, first+1, …
	sent    int64 // ids given out
	acks    []Ack
	begin   time.Time
	logErr  error
	stopped time.Time
}

// idsPerWriter keeps the rows of a cluster's writers apart.
const idsPerWriter = 1_000_000_000

// StartWriter starts a writer on node 0. It ends with Stop, with ctx, or with the cluster.
func (c *Cluster) StartWriter(ctx context.Context, o WriterOptions) *Writer {
	o.Pause = max(0, cmp.Or(o.Pause, 2*time.Millisecond))
	o.Limit = cmp.Or(o.Limit, time.Second)
	o.Retry = cmp.Or(o.Retry, 200*time.Millisecond)
	c.mu.Lock()
	c.writers++
	first := c.writers * idsPerWriter
	c.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	going, stop := context.WithCancel(ctx)
	w := &Writer{cluster: c, options: o, cancel: cancel, stop: stop, done: make(chan struct{}), first: first, begin: time.Now()}
	go w.loop(ctx, going)
	go func() {
		select {
		case <-w.done:
		case <-c.closed:
			cancel()
		}
	}()
	return w
}

// loop writes while going lasts; ctx ends the row under way too.
func (w *Writer) loop(ctx, going context.Context) {
	defer close(w.done)
	defer w.cancel()
	var db *sql.DB
	defer func() {
		if db != nil {
			_ = db.Close() // its server may be gone
		}
	}()
	for i, limit := 0, w.options.Limit; going.Err() == nil; {
		n := w.cluster.nodes[i]
		if db == nil {
			db = w.open(n)
		}
		if w.write(ctx, db, n, limit) {
			limit = w.options.Limit
			sleep(going, w.options.Pause)
			continue
		}
		_ = db.Close() // its server may be gone
		db = nil
		limit = w.options.Retry
		if i = (i + 1) % len(w.cluster.nodes); i == 0 {
			sleep(going, 2*time.Millisecond) // once a round, so that refusals do not spin
		}
	}
}

func (w *Writer) open(n *Node) *sql.DB {
	config := n.Config(w.cluster.accounts.App)
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		panic(fmt.Sprintf("sandbox: a configuration of our own is refused: %v", err))
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db
}

// write sends one row and reports whether it was acknowledged.
func (w *Writer) write(ctx context.Context, db *sql.DB, n *Node, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// A session of its own: the pool would hide a lost one behind a second try.
	conn, err := db.Conn(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // the caller drops the pool after an error
	w.mu.Lock()
	id := w.first + w.sent
	w.sent++
	w.mu.Unlock()
	sent := time.Now()
	if _, err := conn.ExecContext(ctx, "INSERT INTO app.ledger (id, node) VALUES (?, ?)", id, n.Name()); err != nil {
		return false
	}
	ack := Ack{ID: id, Sent: sent, At: time.Now(), Node: n}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks = append(w.acks, ack)
	if w.options.Log != nil && w.logErr == nil {
		_, w.logErr = fmt.Fprintf(w.options.Log, "%s %d %s\n", ack.At.Format(time.RFC3339Nano), id, n.Name())
	}
	return true
}

// Stop ends the writer and returns an error of its log. It waits for the last statement,
// as long as its limit allows: a server goes on with one that its client gives up, and
// commits it when nobody expects it any more.
func (w *Writer) Stop() error {
	w.stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped.IsZero() {
		w.stopped = time.Now()
	}
	return w.logErr
}

// Acks returns every acknowledged row so far, in the order of the acknowledgements.
func (w *Writer) Acks() []Ack {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acks)
}

// Count returns how many rows were acknowledged and how many were sent at all.
func (w *Writer) Count() (acknowledged, sent int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acks), int(w.sent)
}

// FirstAck returns the first row that was sent at or after a moment and acknowledged.
func (w *Writer) FirstAck(after time.Time) (Ack, bool) {
	for _, ack := range w.Acks() {
		if !ack.Sent.Before(after) {
			return ack, true
		}
	}
	return Ack{}, false
}

// Outages returns the times of at least the given length without an acknowledged write.
func (w *Writer) Outages(atLeast time.Duration) []Outage {
	acks := w.Acks()
	w.mu.Lock()
	last, end := w.begin, w.stopped
	w.mu.Unlock()
	if end.IsZero() {
		end = time.Now()
	}
	var outages []Outage
	for _, ack := range acks {
		if ack.At.Sub(last) >= atLeast {
			outages = append(outages, Outage{From: last, To: ack.At})
		}
		last = ack.At
	}
	if end.Sub(last) >= atLeast {
		outages = append(outages, Outage{From: last, To: end, Open: true})
	}
	return outages
}

// Missing returns the acknowledged rows that a node does not have, by their ids.
// It asks as root over the socket; wait for the node to apply what it has first.
func (w *Writer) Missing(ctx context.Context, n *Node) ([]int64, error) {
	acks := w.Acks()
	rows, err := n.root.QueryContext(ctx, "SELECT id FROM app.ledger WHERE id BETWEEN ? AND ?", w.first, w.first+idsPerWriter-1)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of %s: %w", n.Name(), err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	present := make(map[int64]bool, len(acks))
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read the ledger of %s: %w", n.Name(), err)
		}
		present[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the ledger of %s: %w", n.Name(), err)
	}
	var missing []int64
	for _, ack := range acks {
		if !present[ack.ID] {
			missing = append(missing, ack.ID)
		}
	}
	return missing, nil
}

// sleep returns after d, or with ctx.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
