package journal

import (
	"fmt"
	"time"

	"failwise/rules"
)

// A batch bounds what is encoded before one write, so that memory stays flat when
// a long queue drains. It is never more than a quarter of a file, so that files
// keep their size.
const (
	batchRecords = 256
	batchBytes   = 256 << 10
)

// A record without news waits for others before it is written, and its line longer
// than others before it is synced: hundreds of healthy clusters in one process would
// else keep a disk busy with nothing.
const (
	dullWrite = time.Second
	dullSync  = 30 // times [Options.SyncEvery]
)

// dull tells a record without news: a probe as good as the one before.
func (r *Record) dull() bool {
	return r.Kind == Probe && r.Outcome == rules.OK && r.Message == "" && len(r.Data) == 0
}

// retryOpen is how long the journal leaves a directory alone that could not be
// opened or written.
const retryOpen = time.Second

// disk is where the journal's lines go; every method may block for ever. After an
// error the next write begins afresh.
type disk interface {
	open() error
	// write appends whole lines.
	write(lines []byte) error
	sync() error
	close() error
}

// run is the journal's goroutine: the only one that touches the disk.
func (j *Journal) run(w disk) {
	defer close(j.done)
	defer func() { _ = j.io(w.close) }()
	j.note(j.io(w.open))
	close(j.ready)

	limit := int(min(batchBytes, j.opts.SegmentBytes/4))
	var (
		reported uint64 // drops that a record already names
		syncAt   time.Time
		retryAt  time.Time
		timer    = time.NewTimer(time.Hour)
		held     []*Record // without news, not written yet
		heldTime = time.NewTimer(time.Hour)
	)
	defer timer.Stop()
	defer heldTime.Stop()
	sync := func() {
		if !syncAt.IsZero() {
			syncAt = time.Time{}
			if err := j.io(w.sync); err != nil {
				j.note(err)
			}
		}
	}
	// write puts one batch on disk: what is held, first, what else waits, and before
	// them how many were lost since the last batch that arrived.
	write := func(first ...*Record) {
		var buf []byte
		n, every := 0, j.opts.SyncEvery*dullSync
		take := func(r *Record) {
			buf, n = j.encode(buf, n, r)
			if !r.dull() {
				every = j.opts.SyncEvery
			}
		}
		for _, r := range held {
			take(r)
		}
		clear(held)
		held = held[:0]
		for _, r := range first {
			take(r)
		}
	more:
		for n < batchRecords && len(buf) < limit {
			select {
			case r := <-j.queue:
				take(r)
			default:
				break more
			}
		}
		lost := j.dropped.Load()
		if lost > reported {
			if line, err := j.droppedRecord(lost - reported).line(); err == nil {
				buf = append(line, buf...)
			}
		}
		if len(buf) == 0 {
			return
		}
		if time.Now().Before(retryAt) {
			j.dropped.Add(uint64(n))
			return
		}
		if err := j.io(func() error { return w.write(buf) }); err != nil {
			j.note(err)
			j.dropped.Add(uint64(n))
			retryAt = time.Now().Add(retryOpen)
			return
		}
		j.note(nil)
		j.written.Add(uint64(n))
		reported = lost
		if at := time.Now().Add(every); every > 0 && (syncAt.IsZero() || at.Before(syncAt)) {
			syncAt = at
			timer.Reset(every)
		}
	}
	drain := func() {
		for {
			select {
			case r := <-j.queue:
				write(r)
			default:
				write()
				sync()
				return
			}
		}
	}
	for {
		select {
		case r := <-j.queue:
			if !r.dull() || len(held) == batchRecords/2 {
				write(r)
				continue
			}
			if len(held) == 0 {
				heldTime.Reset(dullWrite)
			}
			held = append(held, r)
		case <-heldTime.C:
			write()
		case <-timer.C:
			sync()
		case ack := <-j.flush:
			drain()
			close(ack)
		case <-j.quit:
			drain()
			return
		}
	}
}

// encode appends r's line to buf and adds it to n; one that cannot be encoded is
// counted as dropped.
func (j *Journal) encode(buf []byte, n int, r *Record) ([]byte, int) {
	line, err := r.line()
	if err != nil {
		j.dropped.Add(1)
		return buf, n
	}
	return append(buf, line...), n + 1
}

func (j *Journal) droppedRecord(lost uint64) Record {
	why := "the queue was full"
	if p := j.problem.Load(); p != nil {
		why = *p
	}
	return Record{
		Time: time.Now(), Kind: Dropped, Watcher: j.opts.Watcher,
		Message: fmt.Sprintf("%d records lost: %s", lost, why),
		Data:    Data(map[string]any{"records": lost, "reason": why}),
	}
}

// io runs one disk operation under the stall clock.
func (j *Journal) io(fn func() error) error {
	j.ioSince.Store(int64(time.Since(j.epoch)) + 1)
	defer j.ioSince.Store(0)
	return fn()
}

// note keeps the reason of the last failure for Stats; nil clears it.
func (j *Journal) note(err error) {
	if err == nil {
		j.problem.Store(nil)
		return
	}
	s := err.Error()
	j.problem.Store(&s)
}
