package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"failwise/failover/replay"
	"failwise/rules"
)

// runScenario parses a scenario and runs its tests; all must pass.
func runScenario(t *testing.T, src string) {
	t.Helper()
	f, err := replay.Parse("scenario.yaml", []byte(src), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	for _, test := range f.Tests {
		r, err := test.Run()
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		for _, f := range r.Failures {
			t.Errorf("%s: line %d: expected %s: %s", test.Name, f.Line, f.Expected, f.Happened)
		}
		if !r.Passed() {
			var all strings.Builder
			for _, ev := range r.Events {
				fmt.Fprintf(&all, "%10s %s\n", ev.At, replay.Line(ev))
			}
			t.Fatalf("%s\n%s", src, all.String())
		}
	}
}

// Every rule of every profile that can expire does so at its threshold: an online
// probe one second before and at that moment prevents it, one second after does not.
func TestEveryThresholdOfEveryProfileHoldsToTheSecond(t *testing.T) {
	const raised = 7 * time.Second
	for _, p := range rules.Profiles() {
		timings := p.Timings()
		for _, o := range rules.Outcomes() {
			r := p.Rules().Rule(o)
			if r.Threshold < 0 || r.Action == rules.None || o == rules.NotOnline {
				continue
			}
			t.Run(p.String()+"/"+o.String(), func(t *testing.T) {
				due := raised + timings.Ticks(r.Threshold)
				event := "alert"
				if r.Action == rules.Fail {
					event = "failover"
					due += timings.Ticks(timings.Settle)
				}
				expiry := raised + timings.Ticks(r.Threshold)
				expect := fmt.Sprintf("{never: %s, to: %s}, {event: %s, node: db1, at: %s}", event, due-time.Second, event, due)
				if r.Threshold > 0 {
					expect += fmt.Sprintf(", {alarm: %s, node: db1, at: %s, count: %d}, {event: expire, at: %s}, {stage: half_down, node: db1, at: %s}",
						o, expiry-time.Second, r.Threshold-1, expiry, expiry-time.Second)
				}
				src := fmt.Sprintf("rules: {profile: %s}\ncluster: {db1: primary, db2: replica}\ntests:\n", p)
				for _, c := range []struct {
					name, heal, expect string
				}{
					{"nobody heals it", "", expect},
					{"healed one second later", fmt.Sprintf(", {at: %s, db1: ok}", due+time.Second), expect},
					{"healed at the moment", fmt.Sprintf(", {at: %s, db1: ok}", due), fmt.Sprintf("{never: %s}", event)},
					{"healed one second before", fmt.Sprintf(", {at: %s, db1: ok}", due-time.Second), fmt.Sprintf("{never: %s}", event)},
				} {
					if due == raised && c.name == "healed one second before" {
						continue // there is nothing to heal yet
					}
					src += fmt.Sprintf("  - {name: %s, until: %s, steps: [{at: %s, db1: %s}%s], expect: [%s]}\n",
						c.name, due+20*time.Second, raised, o, c.heal, c.expect)
				}
				runScenario(t, src)
			})
		}
	}
}

// Alarm, window, maintenance, coordinator and settle in all combinations: the time
// of the failover follows from a formula.
func TestInterplayOfAlarmMaintenanceCoordinatorSettleAndWindow(t *testing.T) {
	type span struct{ from, to int }
	n := 0
	for _, window := range []int{0, 3, 5} {
		for _, maintenance := range []span{{}, {20, 35}, {25, 26}, {39, 40}, {40, 41}, {45, 60}, {5, 15}, {20, 90}} {
			for _, coordinator := range []int{0, 39, 40, 50, 77} {
				for _, settle := range []int{0, 1, 2} {
					for _, manual := range []span{{}, {38, 52}} {
						if manual != (span{}) && maintenance != (span{}) {
							continue // one policy at a time
						}
						n++
						const raised, need = 10, 30
						expiry := raised + need
						if overlap := min(maintenance.to, 1000) - max(maintenance.from, raised); maintenance != (span{}) && maintenance.from < expiry && overlap > 0 {
							expiry += overlap
						}
						act := max(expiry+10*settle, coordinator)
						for range 3 {
							for _, s := range []span{maintenance, manual} {
								if act >= s.from && act < s.to {
									act = s.to
								}
							}
							act = max(act, coordinator)
						}
						steps := fmt.Sprintf("{at: 0s, coordinator: %t}, {at: %ds, db1: socket_connect_timeout}", coordinator == 0, raised)
						if coordinator > 0 {
							steps += fmt.Sprintf(", {at: %ds, coordinator: true}", coordinator)
						}
						if maintenance != (span{}) {
							steps += fmt.Sprintf(", {at: %ds, policy: maintenance}, {at: %ds, policy: automatic}", maintenance.from, maintenance.to)
						}
						if manual != (span{}) {
							steps += fmt.Sprintf(", {at: %ds, policy: manual}, {at: %ds, policy: automatic}", manual.from, manual.to)
						}
						rule := "{state: timeout, threshold: 3, action: fail}"
						if window > 0 {
							rule = fmt.Sprintf("{state: timeout, threshold: 3, action: fail, window: %d}", window)
						}
						runScenario(t, fmt.Sprintf(`
rules: {set: {socket_connect_timeout: %s}}
settings: {settle: %d}
cluster: {db1: primary, db2: replica, db3: replica}
tests:
  - name: window %d, maintenance %v, coordinator at %d, settle %d, manual %v
    until: 200s
    steps: [%s]
    expect: [{event: expire, node: db1, at: %ds}, {never: failover, to: %ds}, {event: failover, node: db1, at: %ds}, {event: failover, count: 1}]
`, rule, settle, window, maintenance, coordinator, settle, manual, steps, expiry, act-1, act))
					}
				}
			}
		}
	}
	if n < 300 {
		t.Fatalf("only %d combinations", n)
	}
}
