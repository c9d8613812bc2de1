package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// SyncWait is the longest time that a step waits to be on disk before it is done
// nevertheless.
const SyncWait = time.Second

// keepOperations is how many finished promotion logs are kept.
const keepOperations = 100

const (
	operationsName  = "promotions"
	operationSuffix = ".jsonl"
)

// PromotionLog writes the steps of one operation ahead of doing them. Its entries
// reach the disk in order; what a stalled or full disk holds up is kept in memory
// and written with the next entry.
type PromotionLog struct {
	op   Operation
	dir  string
	name string

	mu      sync.Mutex
	seq     int
	pending []pendingEntry
	stalled bool // a wait ran out and nothing has come back since
	closed  bool
	wake    chan struct{}
	done    chan struct{}
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
	return l, l.add(ctx, StepEntry{Time: op.Time, Mark: OperationBegun, Operation: &op})
}

// ResumeOperation goes on with an unfinished log.
func ResumeOperation(dir *Dir, o OperationLog) *PromotionLog {
	next := 0
	if n := len(o.Entries); n > 0 {
		next = o.Entries[n-1].Seq + 1
	}
	return newPromotionLog(dir.Path(), o.Operation, next)
}

func newPromotionLog(dir string, op Operation, next int) *PromotionLog {
	l := &PromotionLog{
		op:   op,
		dir:  filepath.Join(dir, operationsName),
		seq:  next,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	l.name = filepath.Join(l.dir, op.ID+operationSuffix)
	go l.run()
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
		f    *os.File
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
func (l *PromotionLog) write(f *os.File, lines []byte) (*os.File, error) {
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

func (l *PromotionLog) open() (*os.File, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(l.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := endTornLine(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, dir := range []string{l.dir, filepath.Dir(l.dir)} {
		if err := SyncDir(dir); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Operations reads the promotion logs in dir, oldest first, and deletes the oldest
// finished ones beyond a hundred.
func Operations(ctx context.Context, dir *Dir) ([]OperationLog, error) {
	return Do(ctx, dir, "read promotion logs", func() ([]OperationLog, error) {
		return readOperations(filepath.Join(dir.Path(), operationsName))
	})
}

// Unfinished reads the promotion logs in dir that nobody finished, oldest first.
// Call it while holding the cluster's lock: then their writers are dead.
func Unfinished(ctx context.Context, dir *Dir) ([]OperationLog, error) {
	all, err := Operations(ctx, dir)
	return slices.DeleteFunc(all, func(o OperationLog) bool { _, ended := o.Ended(); return ended }), err
}

func readOperations(dir string) ([]OperationLog, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var logs []OperationLog
	ended := 0
	// Newest first, so that what is beyond the bound is known when it is met.
	for _, e := range slices.Backward(entries) {
		id, ok := strings.CutSuffix(e.Name(), operationSuffix)
		if !ok {
			continue
		}
		name := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		o := parseOperation(id, data)
		if _, ok := o.Ended(); ok {
			if ended++; ended > keepOperations {
				if err := os.Remove(name); err != nil {
					return nil, err
				}
				continue
			}
		}
		logs = append(logs, o)
	}
	slices.Reverse(logs)
	return logs, nil
}

// parseOperation reads a log. A line may be there twice, when its first write was
// reported as failed and yet arrived.
func parseOperation(id string, data []byte) OperationLog {
	o := OperationLog{Operation: Operation{ID: id}}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var e StepEntry
		if err := json.Unmarshal(line, &e); err != nil {
			o.Damaged++
			continue
		}
		if n := len(o.Entries); n > 0 && e.Seq <= o.Entries[n-1].Seq {
			continue
		}
		if e.Operation != nil && e.Operation.ID == id {
			o.Operation = *e.Operation
		}
		o.Entries = append(o.Entries, e)
	}
	return o
}
