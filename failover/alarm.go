package failover

import (
	"time"

	"failwise/rules"
)

// alarm is a running count, per node and outcome.
type alarm struct {
	outcome rules.Outcome
	// raisedAt is when it was raised, on the caller's clock.
	raisedAt time.Duration
	// age is its age at since; while running it grows with the engine's clock.
	age, since time.Duration
	running    bool
	// window is nil for an alarm without one.
	window *window
	// expired is what the last evaluation found.
	expired bool
	// alerted: people were told. muted: it expired in maintenance, so they are
	// told at the first observation after it that supports the alarm.
	alerted, muted bool
}

// ageAt returns the age at clock, the time less what pauses took away.
func (a *alarm) ageAt(clock time.Duration) time.Duration {
	if a.running && clock > a.since {
		return a.age + clock - a.since
	}
	return a.age
}

// run starts or stops the alarm's clock.
func (a *alarm) run(clock time.Duration, running bool) {
	a.age, a.since, a.running = a.ageAt(clock), clock, running
}

// restart lets the alarm start at 0 with a window of size ticks, 0 for none.
func (a *alarm) restart(clock time.Duration, size int, bad bool) {
	a.age, a.since, a.window = 0, clock, nil
	a.expired = false
	if size > 0 {
		a.window = newWindow(size)
		a.window.observe(0, bad)
	}
}

// count returns the number that the rule's threshold is compared with: complete
// ticks of age, or bad ones in the window.
func (a *alarm) count(clock, tick time.Duration) int {
	k := int64(a.ageAt(clock) / tick)
	if a.window == nil {
		return int(k)
	}
	a.window.roll(k)
	return a.window.bad
}

// reached reports whether the rule's threshold is reached by count.
func reached(r rules.Rule, count int) bool { return r.Threshold >= 0 && count >= r.Threshold }

// due returns the age at which the alarm's count can change what holds now, or
// false if it stands still or nothing can come.
func (a *alarm) due(r rules.Rule, clock, tick time.Duration) (time.Duration, bool) {
	switch {
	case !a.running:
		return 0, false
	case a.window != nil:
		return (a.ageAt(clock)/tick + 1) * tick, true
	case a.expired || r.Threshold < 0:
		return 0, false
	}
	return time.Duration(r.Threshold) * tick, true
}
