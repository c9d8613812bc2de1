package watch

import (
	"context"
	"time"
)

// phaseOf is how far into a period this watcher begins.
func (w *Watcher) phaseOf(period time.Duration) time.Duration {
	return time.Duration(w.cfg.Phase * float64(period))
}

// shift moves the surveys, which otherwise all count from the start, to this
// watcher's place in their period: one that was asked for begins the period anew.
func (w *Watcher) shift(ctx context.Context) {
	if w.cfg.Phase == 0 {
		return
	}
	timer := time.NewTimer(w.phaseOf(surveyEvery))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		w.survey()
	}
}
