package check

import (
	"fmt"
	"sync"
	"time"

	"failwise/rules"
)

// record is what one probe notes down while it runs: the phase it is in, the
// time spent in each, the addresses tried and a trace.
type record struct {
	// mu guards all fields: an insert runs in its own goroutine.
	mu     sync.Mutex
	start  time.Time
	budget budget

	phase rules.Phase
	since time.Time // begin of the phase
	until time.Time // end of the phase's time
	times PhaseTimes

	attempts []Attempt
	trace    []Event

	greeting greeting
	remote   string
	tls      string
	pending  bool
	role     *Role
	state    string
	note     string
	ran      Type
}

func newRecord(start time.Time, b budget) *record {
	return &record{start: start, since: start, budget: b, until: b.end, trace: make([]Event, 0, 12)}
}

// enter ends the phase that runs, begins p and returns the moment at which p
// must be over.
func (r *record) enter(p rules.Phase) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.times[r.phase] += now.Sub(r.since)
	r.phase, r.since = p, now
	r.until = r.budget.until(p, now)
	return r.until
}

// stop ends the phase that runs without a next one.
func (r *record) stop() (phase rules.Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.times[r.phase] += now.Sub(r.since)
	r.since = now
	return r.phase
}

// current is the phase that runs and the end of its time.
func (r *record) current() (rules.Phase, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase, r.until
}

// say adds a line to the trace.
func (r *record) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, Event{At: time.Since(r.start), Text: text})
}

// sayf is say with a format.
func (r *record) sayf(format string, args ...any) { r.say(fmt.Sprintf(format, args...)) }
