package watch

import (
	"fmt"
	"log/slog"
	"time"
)

// noticesSize is the number of notices that may wait for their reader.
const noticesSize = 1024

// notices are on their way to [Config.Notify], which may wait for a terminal that
// was stopped or a pipe that nobody reads: no decision waits with it.
type notices struct {
	queue chan *Notice
	// dropped is the number of those that found no place since the last that did.
	dropped int
	done    chan struct{}
}

// newNotices begins to hand notices to f.
func newNotices(f func(Notice)) *notices {
	n := &notices{queue: make(chan *Notice, noticesSize), done: make(chan struct{})}
	go func() {
		defer close(n.done)
		for notice := range n.queue {
			f(*notice)
		}
	}()
	return n
}

// put queues a notice, or drops and counts it; one goroutine at a time calls it.
func (n *notices) put(notice Notice) {
	if n.dropped > 0 {
		gap := Notice{Time: notice.Time, Level: slog.LevelWarn, Kind: "note",
			Text: fmt.Sprintf("%d lines before this one were dropped: whoever reads them is too slow; the journal has them", n.dropped)}
		select {
		case n.queue <- &gap:
			n.dropped = 0
		default:
		}
	}
	select {
	case n.queue <- &notice:
	default:
		n.dropped++
	}
}

// close waits within limit until what is queued has been read.
func (n *notices) close(limit time.Duration) {
	close(n.queue)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-n.done:
	case <-timer.C:
	}
}
