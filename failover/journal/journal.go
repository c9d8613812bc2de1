package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [Options].
const (
	DefaultQueue        = 4096
	DefaultSegmentBytes = 16 << 20
	DefaultMaxBytes     = 256 << 20
	DefaultSyncEvery    = time.Second
)

// NoBound is the MaxBytes of a journal of which nothing is deleted.
const NoBound int64 = math.MaxInt64

// Options say where a journal is and how large it may become.
type Options struct {
	// Dir is the cluster's directory, made with mode 0700 if it is missing.
	Dir string
	// Watcher is written into every record that names none; empty writes none.
	Watcher string
	// Queue is how many records may wait for the disk; 0 means [DefaultQueue].
	// Further ones are dropped and counted.
	Queue int
	// SegmentBytes is the size at which a new file is begun; 0 means
	// [DefaultSegmentBytes].
	SegmentBytes int64
	// MaxBytes bounds all files together: the oldest are deleted, never the
	// current one. 0 means [DefaultMaxBytes], [NoBound] deletes none; else it must be
	// at least two segments.
	MaxBytes int64
	// SyncEvery is the longest time that a written record stays unsynced; 0 means
	// [DefaultSyncEvery], negative leaves it to the kernel. The record of a probe as
	// good as the one before has no news: it may stay 30 times as long, and be
	// written a second late.
	SyncEvery time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("journal without a directory; set state_dir")
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = max(DefaultMaxBytes, 2*o.SegmentBytes)
	}
	if o.SyncEvery == 0 {
		o.SyncEvery = DefaultSyncEvery
	}
	if o.Queue < 0 || o.SegmentBytes < 0 || o.MaxBytes < 2*o.SegmentBytes {
		return o, fmt.Errorf("journal of at most %d bytes in files of %d: the whole must hold at least two files", o.MaxBytes, o.SegmentBytes)
	}
	return o, nil
}

// Stats is what a journal knows of itself. A difference between two of them is a
// rate.
type Stats struct {
	// Appended, Written and Dropped count records. What is neither written nor
	// dropped waits.
	Appended uint64 `json:"appended"`
	Written  uint64 `json:"written"`
	Dropped  uint64 `json:"dropped"`
	// Waiting is the number of records in the queue or being written.
	Waiting uint64 `json:"waiting"`
	// Stalled is how long the current disk operation has been under way, or 0.
	Stalled time.Duration `json:"-"`
	// StalledSeconds is Stalled for JSON.
	StalledSeconds float64 `json:"stalled_seconds"`
	// Problem is why the last write failed, empty once one succeeded again.
	Problem string `json:"problem,omitempty"`
}

// Journal appends records to files in one directory. Its methods may be called
// from several goroutines; none but Flush, Ready and Close waits for anything.
type Journal struct {
	opts  Options
	queue chan *Record // pointers: thousands of places, mostly empty
	flush chan chan struct{}
	quit  chan struct{}
	done  chan struct{}
	ready chan struct{}

	mu     sync.RWMutex // held for writing only to close; never during I/O
	closed bool

	appended, written, dropped atomic.Uint64
	ioSince                    atomic.Int64 // monotonic nanoseconds since epoch+1, 0 when idle
	epoch                      time.Time
	problem                    atomic.Pointer[string]
}

// Open starts a journal. It checks the options only: the disk is first touched by
// the journal's own goroutine; [Journal.Ready] tells how that went.
func Open(opts Options) (*Journal, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return start(opts, &segments{dir: opts.Dir, segmentBytes: opts.SegmentBytes, maxBytes: opts.MaxBytes}), nil
}

// Discard is a journal that keeps nothing: for who only looks and shall leave no trace.
func Discard() *Journal {
	return start(Options{Queue: DefaultQueue, SegmentBytes: DefaultSegmentBytes, SyncEvery: -1}, nowhere{})
}

// nowhere is the disk of [Discard].
type nowhere struct{}

func (nowhere) open() error        { return nil }
func (nowhere) write([]byte) error { return nil }
func (nowhere) sync() error        { return nil }
func (nowhere) close() error       { return nil }

func start(opts Options, d disk) *Journal {
	j := &Journal{
		opts:  opts,
		queue: make(chan *Record, opts.Queue),
		flush: make(chan chan struct{}),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		ready: make(chan struct{}),
		epoch: time.Now(),
	}
	go j.run(d)
	return j
}

// Append queues r and returns at once. It is false when the record was dropped:
// the queue is full or the journal closed.
func (j *Journal) Append(r Record) bool {
	j.appended.Add(1)
	if r.Watcher == "" {
		r.Watcher = j.opts.Watcher
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	if !j.closed {
		select {
		case j.queue <- &r:
			return true
		default:
		}
	}
	j.dropped.Add(1)
	return false
}

// Stats returns the counters.
func (j *Journal) Stats() Stats {
	s := Stats{Written: j.written.Load(), Dropped: j.dropped.Load(), Appended: j.appended.Load()}
	if gone := s.Written + s.Dropped; s.Appended > gone {
		s.Waiting = s.Appended - gone
	}
	if since := j.ioSince.Load(); since != 0 {
		s.Stalled = time.Since(j.epoch) - time.Duration(since-1)
		s.StalledSeconds = s.Stalled.Seconds()
	}
	if p := j.problem.Load(); p != nil {
		s.Problem = *p
	}
	return s
}

// Ready waits until the directory was opened once and returns why it could not
// be, or a [StalledError] when ctx is done first. The journal works on in either
// case: it tries again with every record.
func (j *Journal) Ready(ctx context.Context) error {
	begin := time.Now()
	select {
	case <-j.ready:
		if p := j.problem.Load(); p != nil {
			return errors.New(*p)
		}
		return nil
	case <-ctx.Done():
		return &StalledError{Op: "open the journal", Path: j.opts.Dir, Waited: time.Since(begin)}
	}
}

// Flush waits until everything appended before it is written and synced, or
// dropped, or ctx is done.
func (j *Journal) Flush(ctx context.Context) error {
	begin := time.Now()
	stalled := func() error {
		return &StalledError{Op: "flush the journal", Path: j.opts.Dir, Waited: time.Since(begin)}
	}
	ack := make(chan struct{})
	select {
	case j.flush <- ack:
	case <-j.done:
		return nil
	case <-ctx.Done():
		return stalled()
	}
	select {
	case <-ack:
		return nil
	case <-j.done:
		return nil
	case <-ctx.Done():
		return stalled()
	}
}

// Close takes no more records, writes and syncs what waits and returns when that
// is done, or with a [StalledError] when ctx is done first. Closing twice is
// harmless.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.quit)
	}
	j.mu.Unlock()
	begin := time.Now()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return &StalledError{Op: "close the journal", Path: j.opts.Dir, Waited: time.Since(begin)}
	}
}
