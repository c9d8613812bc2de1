package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// SyncWait is the longest time that a step waits to be on disk before it is done
// nevertheless.
const SyncWait = time.Second

const (
	operationsName  = "promotions"
	operationSuffix = ".jsonl"
)

// PromotionLog writes the steps of one operation ahead of doing them. Its entries
// reach the disk in order; what a stalled or full disk holds up is kept in memory
// and written with the next entry.
type PromotionLog struct {
	op  Operation
	dir string

	mu      sync.Mutex
	seq     int
	pending []pendingEntry
	stalled bool // a wait ran out and nothing has come back since
	closed  bool
	wake    chan struct{}
	done    chan struct{}

	// open opens the log's file for appending; tests put a stalling one here.
	open func() (logFile, error)
}

// logFile is the part of os.File that a promotion log writes to.
type logFile interface {
	Write([]byte) (int, error)
	Sync() error
	Close() error
}

type pendingEntry struct {
	line []byte
	ack  chan error
}

// BeginOperation opens the log of a new operation in dir and writes its intent. It
// always returns a log; an error says that the intent is not known to be on disk
// within ctx or [SyncWait], and the caller goes on and says so.
func BeginOperation(ctx context.Context, dir *Dir, op Operation) (*PromotionLog, error) {
	op.ID = fmt.Sprintf("%s-%d", op.Time.UTC().Format("20060102T150405.000Z"), op.Token)
	l := newPromotionLog(dir.Path(), op, 0)
	go l.run()
	return l, l.begin(ctx)
}

func (l *PromotionLog) begin(ctx context.Context) error {
	op := l.op
	return l.add(ctx, StepEntry{Time: op.Time, Mark: OperationBegun, Operation: &op})
}

// ResumeOperation goes on with an unfinished log.
func ResumeOperation(dir *Dir, o OperationLog) *PromotionLog {
	next := 0
	if n := len(o.Entries); n > 0 {
		next = o.Entries[n-1].Seq + 1
	}
	l := newPromotionLog(dir.Path(), o.Operation, next)
	go l.run()
	return l
}

func newPromotionLog(dir string, op Operation, next int) *PromotionLog {
	l := &PromotionLog{
		op:   op,
		dir:  filepath.Join(dir, operationsName),
		seq:  next,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	l.open = func() (logFile, error) { return openLog(l.dir, op.ID+operationSuffix) }
	return l
}

// Operation returns what the log is about.
func (l *PromotionLog) Operation() Operation { return l.op }

// Step writes and syncs e and returns nil when it is on disk. Otherwise it returns
// why not: [ErrStalled] after ctx or [SyncWait] (at once, while an earlier stall
// lasts), or the write's error. The caller goes on in each case and says so; the
// entry is kept and written when the disk allows.
func (l *PromotionLog) Step(ctx context.Context, e StepEntry) error { return l.add(ctx, e) }

// Finish writes how the operation ended, done, undone or failed, and closes the
// log.
func (l *PromotionLog) Finish(ctx context.Context, now time.Time, result, message string) error {
	err := l.add(ctx, StepEntry{Time: now, Mark: OperationEnded, Result: result, Message: message})
	return errors.Join(err, l.Close(ctx))
}

// Close ends the log without ending the operation, which is then found unfinished.
// It waits for what is pending within ctx and [SyncWait].
func (l *PromotionLog) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		l.signal()
	}
	stalled := l.stalled
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, SyncWait)
	defer cancel()
	if stalled {
		cancel()
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return &StalledError{Op: "close the promotion log", Path: l.dir}
	}
}

func (l *PromotionLog) add(ctx context.Context, e StepEntry) error {
	ack := make(chan error, 1)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fmt.Errorf("promotion log %s is closed", l.op.ID)
	}
	e.Seq = l.seq
	line, err := json.Marshal(e)
	if err != nil {
		l.mu.Unlock()
		return fmt.Errorf("encode step %s: %w", e.Step, err)
	}
	l.seq++
	l.pending = append(l.pending, pendingEntry{line: append(line, '\n'), ack: ack})
	l.signal()
	stalled := l.stalled
	l.mu.Unlock()

	begin := time.Now()
	var limit <-chan time.Time
	if stalled {
		closed := make(chan time.Time)
		close(closed)
		limit = closed
	} else {
		timer := time.NewTimer(SyncWait)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case err := <-ack:
		return err
	case <-limit:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-ack:
		return err
	default:
	}
	l.stalled = true
	return &StalledError{Op: "write the promotion log", Path: l.dir, Waited: time.Since(begin)}
}

// signal wakes the writer; l.mu is held.
func (l *PromotionLog) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run is the log's writer. Lines that could not be written stay first in line.
func (l *PromotionLog) run() {
	defer close(l.done)
	var (
		f    logFile
		kept []byte
	)
	defer func() {
		if f != nil {
			_ = f.Close()
		}
	}()
	for range l.wake {
		l.mu.Lock()
		batch := l.pending
		l.pending = nil
		closed := l.closed
		l.mu.Unlock()
		for _, p := range batch {
			kept = append(kept, p.line...)
		}
		var err error
		if len(kept) > 0 {
			if f, err = l.write(f, kept); err == nil {
				kept = kept[:0]
			}
		}
		l.mu.Lock()
		l.stalled = false
		for _, p := range batch {
			p.ack <- err
		}
		l.mu.Unlock()
		if closed {
			return
		}
	}
}

// write appends lines to the log, opening it if need be, and syncs. After an
// error it returns no file, so that the next write begins on a line of its own.
func (l *PromotionLog) write(f logFile, lines []byte) (logFile, error) {
	if f == nil {
		var err error
		if f, err = l.open(); err != nil {
			return nil, fmt.Errorf("open the promotion log: %w", err)
		}
	}
	if _, err := f.Write(lines); err != nil {
		return nil, errors.Join(fmt.Errorf("write the promotion log: %w", err), f.Close())
	}
	if err := f.Sync(); err != nil {
		return nil, errors.Join(fmt.Errorf("sync the promotion log: %w", err), f.Close())
	}
	return f, nil
}

// openLog opens a log, makes its name durable and ends a line that a crash or a
// failed write cut off.
func openLog(dir, name string) (logFile, error) {
	if err := MakeDir(dir); err != nil {
		return nil, err
	}
	f, err := OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err := endTornLine(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := SyncDir(d); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}
