package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Query selects records. Its zero value selects all.
type Query struct {
	// Since and Until bound the records' times, both inclusive; zero is no bound.
	Since, Until time.Time
	// Kinds, Node and Watcher select by equality; empty selects all.
	Kinds   []Kind
	Node    string
	Watcher string
}

// Match reports whether the query selects r.
func (q Query) Match(r Record) bool {
	return (q.Since.IsZero() || !r.Time.Before(q.Since)) &&
		(q.Until.IsZero() || !r.Time.After(q.Until)) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind)) &&
		(q.Node == "" || q.Node == r.Node) &&
		(q.Watcher == "" || q.Watcher == r.Watcher)
}

// LineError is a line that is no record, for instance one that a crash cut off.
// Reading can go on after it.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: damaged journal line: %v", e.File, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// clockMargin is how far the wall clock may have been stepped back without
// records being missed that lie in a file not written since.
const clockMargin = time.Hour

// Read yields the records in dir that q selects, in the order of writing, in
// constant memory and while the journal may be written to. A damaged line is
// yielded as a [LineError] and reading goes on; any other error ends it. A last
// line that is still being written is not yielded. No journal at all yields
// nothing. It blocks on the disk: where that matters call it inside [Do], or in a
// process that may be abandoned.
func Read(ctx context.Context, dir string, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		ns, err := listSegments(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("read the journal: %w", err))
			return
		}
		for _, n := range ns {
			if !readSegment(ctx, filepath.Join(dir, segmentName(n)), q, yield) {
				return
			}
		}
	}
}

// Tail returns the last n records in dir that q selects, oldest first; memory is
// bounded by n records and one file at a time is read, newest first. Damaged lines
// are passed over.
func Tail(ctx context.Context, dir string, n int, q Query) ([]Record, error) {
	ns, err := listSegments(dir)
	if errors.Is(err, fs.ErrNotExist) || n <= 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var tail []Record
	for _, seg := range slices.Backward(ns) {
		want := n - len(tail)
		ring := make([]Record, 0, min(want, 1024))
		next := 0
		var failed error
		readSegment(ctx, filepath.Join(dir, segmentName(seg)), q, func(r Record, err error) bool {
			var damaged *LineError
			switch {
			case errors.As(err, &damaged):
			case err != nil:
				failed = err
				return false
			case len(ring) < want:
				ring = append(ring, r)
			default:
				ring[next] = r
				next = (next + 1) % want
			}
			return true
		})
		if failed != nil {
			return nil, failed
		}
		tail = slices.Concat(ring[next:], ring[:next], tail)
		if len(tail) >= n {
			break
		}
	}
	return tail, nil
}

// readSegment yields one file and reports whether to go on.
func readSegment(ctx context.Context, name string, q Query, yield func(Record, error) bool) bool {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true // deleted by the size bound meanwhile
	}
	if err != nil {
		return yield(Record{}, fmt.Errorf("read the journal: %w", err)) && false
	}
	defer func() { _ = f.Close() }()
	if !q.Since.IsZero() {
		if info, err := f.Stat(); err == nil && info.ModTime().Add(clockMargin).Before(q.Since) {
			return true
		}
	}
	lines := bufio.NewReaderSize(f, 64<<10)
	var long []byte
	for lineNo := 1; ; lineNo++ {
		if ctx.Err() != nil {
			return yield(Record{}, ctx.Err()) && false
		}
		line, tooLong, err := nextLine(lines, &long)
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(Record{}, fmt.Errorf("read %s: %w", name, err)) && false
		}
		if len(bytes.TrimSpace(line)) == 0 && !tooLong {
			continue
		}
		var r Record
		if tooLong {
			err = fmt.Errorf("longer than %d bytes", MaxLine)
		} else if outside(line, q) {
			continue
		} else {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			if !yield(Record{}, &LineError{File: name, Line: lineNo, Err: err}) {
				return false
			}
			continue
		}
		if q.Match(r) && !yield(r, nil) {
			return false
		}
	}
}

// nextLine returns the next line without its end; a last one without an end is
// io.EOF. The line is valid until the next call.
func nextLine(r *bufio.Reader, long *[]byte) (line []byte, tooLong bool, err error) {
	*long = (*long)[:0]
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case err == nil && len(*long) == 0 && !tooLong:
			return part[:len(part)-1], false, nil
		case err == nil:
			if !tooLong {
				*long = append(*long, part[:len(part)-1]...)
			}
			return *long, tooLong, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(*long)+len(part) > MaxLine:
			tooLong = true
		case !tooLong:
			*long = append(*long, part...)
		}
	}
}

// timePrefix is how every line of this package begins.
const timePrefix = `{"time":"`

// outside reports, without decoding the whole line, that its time lies outside
// the query. It says false when in doubt.
func outside(line []byte, q Query) bool {
	if q.Since.IsZero() && q.Until.IsZero() {
		return false
	}
	rest, ok := bytes.CutPrefix(line, []byte(timePrefix))
	if !ok || len(rest) < len(timeLayout)-len("Z07:00")+1 {
		return false
	}
	t, err := time.Parse(timeLayout, string(rest[:len("2006-01-02T15:04:05.000Z")]))
	if err != nil {
		return false
	}
	return !q.Since.IsZero() && t.Before(q.Since) || !q.Until.IsZero() && t.After(q.Until)
}
