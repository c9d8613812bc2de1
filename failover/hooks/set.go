package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Set is all of a cluster's hooks. The zero value has none. It is safe for
// concurrent use as long as nobody changes it.
type Set struct {
	Hooks    map[Event][]Hook
	Webhooks []Webhook
}

// Report is what came of firing an event.
type Report struct {
	Results  []Result
	Webhooks []error
	// Aborts is true when the failure of a hook must stop the operation.
	Aborts bool
	// Proof is true when at least one command ran and all that ran ended with
	// status 0: a fence hook's word that the old primary is out.
	Proof bool
}

// Err joins the failures of hooks and webhooks; nil when there are none.
func (r Report) Err() error {
	var errs []error
	for _, result := range r.Results {
		if result.Err != nil {
			errs = append(errs, result.Err)
		}
	}
	return errors.Join(append(errs, r.Webhooks...)...)
}

// Has reports whether firing the event would do anything.
func (s Set) Has(e Event) bool {
	if len(s.Hooks[e]) > 0 {
		return true
	}
	for _, w := range s.Webhooks {
		if w.wants(e) {
			return true
		}
	}
	return false
}

// Validate reports the first thing that keeps a hook from running.
func (s Set) Validate() error {
	for _, e := range Events() {
		for _, h := range s.Hooks[e] {
			if err := h.Validate(); err != nil {
				return fmt.Errorf("hooks.%s: %w", e, err)
			}
		}
	}
	for _, w := range s.Webhooks {
		if err := w.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Fire runs the event's hooks in their order and, beside them, its webhooks; it
// returns when all have ended or run into their limits. After a hook whose
// failure aborts, the rest of the list is not run.
func (s Set) Fire(ctx context.Context, call Call) Report {
	var report Report
	if call.DryRun {
		return report
	}
	var (
		posts sync.WaitGroup
		mu    sync.Mutex
	)
	for _, w := range s.Webhooks {
		if !w.wants(call.Event) {
			continue
		}
		posts.Go(func() {
			if err := w.Post(ctx, call); err != nil {
				mu.Lock()
				defer mu.Unlock()
				report.Webhooks = append(report.Webhooks, err)
			}
		})
	}
	ran, good := 0, 0
	for _, h := range s.Hooks[call.Event] {
		result := h.Run(ctx, call)
		report.Results = append(report.Results, result)
		if result.Ran {
			ran++
			if result.Status == 0 && result.Err == nil {
				good++
			}
		}
		if result.Aborts {
			report.Aborts = true
			break
		}
	}
	report.Proof = ran > 0 && ran == good
	posts.Wait()
	return report
}
