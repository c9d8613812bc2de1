package failover_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"failwise/failover"
	"failwise/rules"
)

// A windowed alarm counts as a naive reference does that keeps every observation.
func TestWindowedAlarmEqualsANaiveReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tick = time.Second
		threshold := rapid.IntRange(1, 6).Draw(t, "threshold")
		size := threshold + rapid.IntRange(0, 80).Draw(t, "more")
		rule := rules.Rule{State: rules.Timeout, Threshold: threshold, Action: rules.Alert, Window: size}
		m, err := rules.Defaults().With(map[rules.Outcome]rules.Rule{rules.QueryExecTimeout: rule}, "drawn")
		if err != nil {
			t.Fatal(err)
		}
		e, err := failover.New(failover.Config{
			Nodes: []failover.Node{{Name: "a", Role: failover.Primary}}, Rules: m, Policy: failover.Automatic,
			Timings: rules.Timings{Tick: tick, ProbeInterval: time.Second, ProbeBudget: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		var ref reference
		maintenance := false
		now := time.Duration(0)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			next := now + time.Duration(rapid.IntRange(0, 4000).Draw(t, "later"))*time.Millisecond
			if rapid.IntRange(0, 9).Draw(t, "align") == 0 {
				next = next.Truncate(tick)
				next = max(next, now)
			}
			for d := e.NextDeadline(); d < next; d = e.NextDeadline() {
				e.Advance(d)
				ref.advance(d, maintenance)
				ref.judge(tick, size)
				ref.compare(t, e, d, tick, size, threshold)
			}
			now = next
			ref.advance(now, maintenance)
			if rapid.IntRange(0, 9).Draw(t, "policy") == 0 {
				maintenance = !maintenance
				p := failover.Automatic
				if maintenance {
					p = failover.Maintenance
				}
				if _, err := e.Tell(now, failover.PolicyIs(p, "", 0, "")); err != nil {
					t.Fatal(err)
				}
			} else {
				o := rapid.SampledFrom([]rules.Outcome{rules.OK, rules.OK, rules.QueryExecTimeout, rules.TooManyConnections}).Draw(t, "outcome")
				e.Observe(now, failover.Observation{Node: "a", Outcome: o})
				ref.observe(tick, o == rules.QueryExecTimeout)
			}
			e.Advance(now)
			ref.judge(tick, size)
			ref.compare(t, e, now, tick, size, threshold)
		}
	})
}

// reference is a windowed alarm that keeps every observation.
type reference struct {
	exists bool
	now    time.Duration
	age    time.Duration
	seen   []struct {
		tick int64
		bad  bool
	}
}

func (r *reference) advance(now time.Duration, maintenance bool) {
	if !maintenance {
		r.age += now - r.now
	}
	r.now = now
}

func (r *reference) observe(tick time.Duration, bad bool) {
	if !r.exists {
		if !bad {
			return
		}
		*r = reference{exists: true, now: r.now}
	}
	r.seen = append(r.seen, struct {
		tick int64
		bad  bool
	}{int64(r.age / tick), bad})
}

// bad reports whether tick k is bad.
func (r *reference) bad(k int64) bool {
	for ; k >= 0; k-- {
		seen, bad := false, false
		for _, s := range r.seen {
			if s.tick == k {
				seen, bad = true, bad || s.bad
			}
		}
		if seen {
			return bad
		}
	}
	return false
}

func (r *reference) count(tick time.Duration, size int) int {
	n := 0
	current := int64(r.age / tick)
	for k := max(0, current-int64(size)); k < current; k++ {
		if r.bad(k) {
			n++
		}
	}
	return n
}

// judge ends the alarm when no bad tick is left, the running one included.
func (r *reference) judge(tick time.Duration, size int) {
	if !r.exists || r.count(tick, size) > 0 {
		return
	}
	for _, s := range r.seen {
		if s.tick == int64(r.age/tick) && s.bad {
			return
		}
	}
	*r = reference{now: r.now}
}

func (r *reference) compare(t *rapid.T, e *failover.Engine, now, tick time.Duration, size, threshold int) {
	var alarm *failover.AlarmStatus
	for _, a := range e.Snapshot(now).Nodes[0].Alarms {
		if a.Outcome == rules.QueryExecTimeout {
			alarm = &a
		}
	}
	switch {
	case (alarm != nil) != r.exists:
		t.Fatalf("at %s: alarm %+v, reference %t", now, alarm, r.exists)
	case alarm == nil:
		return
	}
	if want := r.count(tick, size); alarm.Count != want || alarm.Expired != (want >= threshold) {
		t.Fatalf("at %s: alarm %+v, reference count %d of %d", now, *alarm, want, threshold)
	}
}
