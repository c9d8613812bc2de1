package watch

import (
	"context"
	"sync"
	"time"

	"failwise/check"
)

// probing runs one type of probe on one node: every interval, and at once when
// it is triggered. At most one of its probes is in flight.
type probing struct {
	prober   *check.Prober
	interval time.Duration
	// scheduled is false for the connect probe that only rechecks.
	scheduled bool
	deliver   func(check.Result)
	wake      chan struct{}

	mu      sync.Mutex
	waiting []waiter
}

// waiter is told of the first probe that began at or after its time.
type waiter struct {
	since time.Time
	done  chan check.Result
}

func newProbing(p *check.Prober, interval time.Duration, scheduled bool, deliver func(check.Result)) *probing {
	return &probing{prober: p, interval: interval, scheduled: scheduled, deliver: deliver, wake: make(chan struct{}, 1)}
}

// trigger has a probe made at once, or right after the one in flight.
func (p *probing) trigger() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// fresh has a probe made and returns its result once it has been delivered. It
// returns false when ctx ends first.
func (p *probing) fresh(ctx context.Context) (check.Result, bool) {
	w := waiter{since: time.Now(), done: make(chan check.Result, 1)}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	p.trigger()
	select {
	case r := <-w.done:
		return r, true
	case <-ctx.Done():
		return check.Result{}, false
	}
}

// run probes until ctx ends.
func (p *probing) run(ctx context.Context) {
	defer func() { _ = p.prober.Close() }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	if !p.scheduled {
		timer.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		began := time.Now()
		result := p.prober.Probe(ctx)
		if ctx.Err() != nil {
			return
		}
		p.deliver(result)
		p.answer(began, result)
		if p.scheduled {
			timer.Reset(max(0, p.interval-time.Since(began)))
		}
	}
}

// answer tells those who waited for a probe that began no earlier than they
// asked, and probes again for the others.
func (p *probing) answer(began time.Time, r check.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.waiting[:0]
	for _, w := range p.waiting {
		if began.Before(w.since) {
			left = append(left, w)
			continue
		}
		w.done <- r
	}
	p.waiting = left
	if len(left) > 0 {
		p.trigger()
	}
}
