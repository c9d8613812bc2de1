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

	mu       sync.Mutex
	inFlight bool
	waiting  []chan check.Result
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

// fresh returns the next probe to end once it has been delivered: the one in
// flight, or one made at once. It returns false when ctx ends first.
func (p *probing) fresh(ctx context.Context) (check.Result, bool) {
	done := make(chan check.Result, 1)
	p.mu.Lock()
	p.waiting = append(p.waiting, done)
	if !p.inFlight {
		p.trigger()
	}
	p.mu.Unlock()
	select {
	case r := <-done:
		return r, true
	case <-ctx.Done():
		return check.Result{}, false
	}
}

// begin and end mark a probe in flight; end returns who waited for it.
func (p *probing) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight = true
}

func (p *probing) end() []chan check.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.waiting
	p.inFlight, p.waiting = false, nil
	return waiting
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
		p.begin()
		result := p.prober.Probe(ctx)
		waiting := p.end()
		if ctx.Err() != nil {
			return
		}
		p.deliver(result)
		for _, w := range waiting {
			w <- result
		}
		if p.scheduled {
			timer.Reset(max(0, p.interval-time.Since(began)))
		}
	}
}
