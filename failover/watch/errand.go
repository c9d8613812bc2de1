package watch

import (
	"context"
	"time"
)

// errand is something done on servers beside the loop that an operation must not
// meet there: a mending could close what a plan has just opened, a replica asked
// afresh could start what a plan has just stopped.
type errand struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// yieldLimit bounds the wait of an operation for errands that were called back:
// an IO thread that was stopped to be asked afresh is always started again.
const yieldLimit = 5 * time.Second

// errand runs f beside the loop within ctx, which ends also when it is called back.
// What f returns is taken in by the loop.
func (w *Watcher) errand(ctx context.Context, f func(context.Context) func()) {
	ctx, cancel := context.WithCancel(ctx)
	e := &errand{cancel: cancel, done: make(chan struct{})}
	w.errands[e] = true
	w.beside(func() {
		defer cancel()
		said := f(ctx)
		close(e.done)
		w.send(func() {
			delete(w.errands, e)
			said()
		})
	})
}

// callBack ends all errands; the returned function waits until they have.
func (w *Watcher) callBack() (wait func()) {
	var ending []chan struct{}
	for e := range w.errands {
		e.cancel()
		ending = append(ending, e.done)
	}
	return func() {
		limit := time.NewTimer(yieldLimit)
		defer limit.Stop()
		for _, done := range ending {
			select {
			case <-done:
			case <-limit.C:
				return
			}
		}
	}
}
