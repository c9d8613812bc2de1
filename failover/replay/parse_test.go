package replay_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"failwise/failover/replay"
)

// scenarioOf puts lines into a file that is otherwise good. Its test begins in line
// 3, steps and expect stand in lines 5 and 6.
func scenarioOf(steps, expect string) string {
	return "cluster: {db1: primary, db2: replica}\ntests:\n  - name: x\n    until: 60s\n    steps: [" + steps + "]\n    expect: [" + expect + "]\n"
}

func TestScenarioErrorsAreLocated(t *testing.T) {
	good := "cluster: {db1: primary}\ntests: [{name: x, until: 1s, expect: []}]\n"
	for _, c := range []struct {
		src, want, known string
	}{
		{"", "f.yaml: no tests in the file", ""},
		{"# nothing\n", "f.yaml: no tests in the file", ""},
		{"[1]", "f.yaml:1: a scenario must be a mapping", ""},
		{"cluster: {db1: primary}\ntests: [", "f.yaml:2: ", ""},
		{"tests: []", "f.yaml:1: the scenario has no cluster", ""},
		{"cluster: {db1: primary}", "f.yaml:1: the scenario has no tests", ""},
		{good + "setting: {}", `f.yaml:3: unknown key "setting"`, "settings"},
		{good + "rules: {profil: mha}", `f.yaml:3: unknown key of rules "profil"`, "profile"},
		{good + "rules: {profile: mah}", `f.yaml:3: unknown profile "mah"; did you mean mha?`, ""},
		{good + "rules: {file: no.properties}", "f.yaml:3: read statemap: ", ""},
		{good + "rules: {file: bad.properties}", "f.yaml:3: bad.properties:1", ""},
		{good + "rules:\n  set:\n    ok: {state: online}", "f.yaml:5: the rule of ok has no threshold", ""},
		{good + "rules: {set: {okk: {}}}", `f.yaml:3: unknown outcome "okk"`, ""},
		{good + "rules: {set: {ok: {state: online, threshold: -1, action: none, windw: 3}}}", `f.yaml:3: unknown key of a rule "windw"`, "window"},
		{good + "rules: {set: {ok: {state: on, threshold: -1, action: none}}}", `f.yaml:3: unknown state "on"`, ""},
		{good + "rules: {set: {ok: {state: online, threshold: 3, action: none, window: 2}}}", "f.yaml:3: ok: window needs", ""},
		{good + "settings: {tik: 1s}", `f.yaml:3: unknown setting "tik"`, "tick"},
		{good + "settings: {tick: 0s}", "f.yaml:3: tick must be longer", ""},
		{good + "settings: {tick: 10}", `f.yaml:3: tick: "10" is no duration`, ""},
		{good + "settings: {settle: -1}", `f.yaml:3: settle: "-1" is no whole number`, ""},
		{"a: &a {x: 1}\nb: &b {<<: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]}\n", `f.yaml:1: unknown key "a"`, "cluster"},
		{"<<: &a {<<: *a}", "f.yaml:1: a scenario merges too much", ""},
		{"cluster: {db1: replica}\ntests: []", "f.yaml:1: the cluster has no primary", ""},
		{"cluster: {db1: primary, db2: primary}\ntests: []", "f.yaml:1: both db1 and db2 are primary", ""},
		{"cluster: {db1: master}\ntests: []", `f.yaml:1: unknown role "master"`, "primary"},
		{"cluster: {policy: primary}\ntests: []", "f.yaml:1: a node cannot be named", ""},
		{"cluster: {db1: primary, db1: replica}\ntests: []", "f.yaml:1: cluster has the key db1 twice", ""},
		{"cluster: {db1: primary}\ntests:\n  - {name: x, expect: []}", "f.yaml:3: the test has no until", ""},
		{"cluster: {db1: primary}\ntests:\n  - {name: x, until: 9999h, expect: [], probe_every: 1ms}", "f.yaml:3: until 9999h0m0s with a probe every 1ms", ""},
		{"cluster: {db1: primary}\ntests:\n  - {name: x, until: 1s, expect: [], probe_every: 0s}", "f.yaml:3: probe_every must be longer", ""},
		{"cluster: {db1: primary}\ntests:\n  - {name: x, until: 1s, expect: [], probes: 1s}", `f.yaml:3: unknown key of a test "probes"`, "probe_every"},
		{scenarioOf("{db1: ok}", ""), "f.yaml:5: the step has no at", ""},
		{scenarioOf("{at: 1s, db3: ok}", ""), `f.yaml:5: unknown node or key of a step "db3"`, "db2"},
		{scenarioOf("{at: 1s, db1: okk}", ""), `f.yaml:5: unknown outcome "okk"`, ""},
		{scenarioOf("{at: 1s, db1: not_online}", ""), "f.yaml:5: no probe ends in not_online", ""},
		{scenarioOf("{at: -1s, db1: ok}", ""), `f.yaml:5: at: "-1s" is negative`, ""},
		{scenarioOf("{at: 1s, policy: auto}", ""), `f.yaml:5: unknown policy "auto"`, "automatic"},
		{scenarioOf("{at: 1s, coordinator: maybe}", ""), `f.yaml:5: coordinator: "maybe" is not true or false`, ""},
		{scenarioOf("{at: 1s, vote: {db3: sees}}", ""), `f.yaml:5: unknown node "db3"`, "db1"},
		{scenarioOf("{at: 1s, vote: {db2: see}}", ""), `f.yaml:5: unknown vote "see"`, "sees"},
		{scenarioOf("{at: 1s, promotion: fail}", ""), `f.yaml:5: unknown promotion "fail"`, "fails"},
		{scenarioOf("{at: 1s, pause: 0s}", ""), "f.yaml:5: pause must be longer", ""},
		{scenarioOf("{at: 1s, route: alive}", ""), `f.yaml:5: unknown route "alive"`, "sees"},
		{scenarioOf("{at: 1s, observers: unknown}", ""), `f.yaml:5: unknown observers "unknown"`, "agree"},
		{scenarioOf("{at: 1s, durability: bad}", ""), `f.yaml:5: unknown durability "bad"`, "violated"},
		{scenarioOf("{at: 1s, quota: 3}", ""), `f.yaml:5: unknown quota "3"`, "reset"},
		{scenarioOf("{at: 1s, recover: db3}", ""), `f.yaml:5: unknown node "db3"`, "db1"},
		{scenarioOf("{at: 1s, rules: {ok: {state: online}}}", ""), "f.yaml:5: the rule of ok has no threshold", ""},
		{scenarioOf("{at: 1s, rules: {ok: {threshold: -2}}}", ""), `f.yaml:5: threshold: "-2" is no whole number from -1 to 1000000`, ""},
		{scenarioOf("{at: 1s, rules: {ok: {heal: 0}}}", ""), `f.yaml:5: heal: "0" is no whole number from 1`, ""},
		{scenarioOf("{at: 1s, rules: {ok: {window: 0}}}", ""), `f.yaml:5: window: "0" is no whole number from 1`, ""},
		{scenarioOf("*nowhere", ""), "f.yaml:5: unknown anchor 'nowhere' referenced", ""},
		{"# one\n# \xe9\n", "f.yaml:2: ", ""},
		{"tests: []\ncluster: {\"db\\e1\": primary}", `f.yaml:2: "db\x1b1" is no name for a node`, ""},
		{scenarioOf("{at: [1s]}", ""), "f.yaml:5: at must be one word", ""},
		{scenarioOf("", "{at: 1s}"), "f.yaml:6: an expectation needs exactly one of event, never, stage, state, alarm", ""},
		{scenarioOf("", "{event: heal, never: heal}"), "f.yaml:6: an expectation needs exactly one of", ""},
		{scenarioOf("", "{event: failed}"), `f.yaml:6: unknown event "failed"`, "failover"},
		{scenarioOf("", "{event: confirm}"), `f.yaml:6: unknown event "confirm"`, "failover"},
		{scenarioOf("", "{event: hold, reason: quotas}"), `f.yaml:6: unknown hold reason "quotas"`, "quota"},
		{scenarioOf("", "{event: heal, reason: quota}"), "f.yaml:6: only a hold has a reason", ""},
		{scenarioOf("", "{event: heal, at: 1s, to: 2s}"), "f.yaml:6: an expectation has either at, or from and to", ""},
		{scenarioOf("", "{event: heal, from: 3s, to: 2s}"), "f.yaml:6: an expectation from 3s to 2s is empty", ""},
		{scenarioOf("", "{never: heal, count: 2}"), `f.yaml:6: unknown key of an expectation by never "count"`, "node"},
		{scenarioOf("", "{stage: down, node: db1, at: 1s}"), `f.yaml:6: unknown stage "down"`, "half_down"},
		{scenarioOf("", "{stage: up, node: db1}"), "f.yaml:6: an expectation of a stage needs node and at", ""},
		{scenarioOf("", "{state: up, node: db1, at: 1s}"), `f.yaml:6: unknown state "up"`, ""},
		{scenarioOf("", "{alarm: okk, node: db1, at: 1s}"), `f.yaml:6: unknown outcome "okk"`, ""},
		{scenarioOf("", "{event: heal, node: db7}"), `f.yaml:6: unknown node "db7"`, "db1"},
	} {
		_, err := replay.Parse("f.yaml", []byte(c.src), func(name string) ([]byte, error) {
			if name == "bad.properties" {
				return []byte("ok.threshold = many"), nil
			}
			return nil, os.ErrNotExist
		})
		var bad *replay.FileError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngives %v\nwant  %s", c.src, err, c.want)
			continue
		}
		if c.known != "" && !slices.Contains(bad.Known, c.known) {
			t.Errorf("%v: %q is not among the known words %q", err, c.known, bad.Known)
		}
	}
}

// Anchors, aliases, merges and several documents are plain YAML and work.
func TestScenarioYAMLIsWholeYAML(t *testing.T) {
	runScenario(t, `
cluster: &c {db1: primary, db2: replica}
tests:
  - &base
    name: anchored
    until: 20s
    steps: &steps
      - &refused {at: 5s, db1: socket_io_error}
    expect: &expect [{event: failover, node: db1, at: 5s}]
  - {name: aliased, until: 20s, steps: *steps, expect: *expect}
  - {name: items, until: 20s, steps: [*refused], expect: *expect}
  - {<<: *base, name: merged}
---
---
cluster: {a: replica, b: primary}
rules: {profile: mha}
tests: [{name: second document, probe_every: 3s, until: 30s, steps: [{at: 3s, b: socket_io_error}], expect: [{event: promoted, node: a, at: 12s}]}]
`)
}

// Each kind of expectation can fail, and says what happened instead.
func TestFailedExpectationsSayWhatHappened(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		{"{event: failover, node: db1, at: 6s}", "it did not happen; such an event was at 5s"},
		{"{event: failover, node: db2}", "no such event in the whole test"},
		{"{event: failover, count: 2}", "it happened once, at 5s"},
		{"{event: heal, count: 3, from: 0s, to: 9s}", "it did not happen; such an event was at 10s"},
		{"{event: hold, reason: quota}", "it did not happen; such an event was at 12s (age_limit)"},
		{"{event: alert, count: 0}", ""},
		{"{event: failover, count: 0}", "it happened once, at 5s"},
		{"{never: failover}", "it happened: failover db1"},
		{"{never: failover, from: 6s}", ""},
		{"{stage: up, node: db1, at: 7s}", "the stage is shunned"},
		{"{state: online, node: db1, at: 7s}", "the state is stopped (socket_io_error)"},
		{"{alarm: socket_io_error, node: db1, at: 7s, count: 3}", "the count is 0"},
		{"{alarm: socket_connect_timeout, node: db1, at: 7s}", "there is no such alarm, only socket_io_error with count 0"},
		{"{alarm: socket_io_error, node: db2, at: 7s}", "the node has no alarm"},
		{"{stage: up, node: db2, at: 61s}", "the test ends at 1m0s"},
	} {
		f, err := replay.Parse("f.yaml", []byte(scenarioOf("{at: 5s, db1: socket_io_error}, {at: 10s, db1: ok}, {at: 12s, db2: socket_io_error}", c.expect)), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Tests[0].Run()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if !r.Passed() {
			got = r.Failures[0].Happened
			if r.Failures[0].Line != 6 || r.Failures[0].Expected != c.expect || len(r.Failures[0].Around) == 0 || len(r.Failures[0].Around) > 10 {
				t.Errorf("%s: failure %+v", c.expect, r.Failures[0])
			}
		}
		if got != c.want {
			t.Errorf("%s: happened %q, want %q", c.expect, got, c.want)
		}
	}
}

// A failure shows ten events around the moment, half of them before it.
func TestFailureShowsTheEventsAround(t *testing.T) {
	var steps []string
	for i := range 20 {
		steps = append(steps, fmt.Sprintf("{at: %ds, db2: query_exec_timeout}, {at: %ds, db2: ok}", 2*i+1, 2*i+2))
	}
	f, err := replay.Parse("f.yaml", []byte(scenarioOf(strings.Join(steps, ", "), "{event: alert, at: 20s}")), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Tests[0].Run()
	if err != nil {
		t.Fatal(err)
	}
	around := r.Failures[0].Around
	if len(around) != 10 || around[0].At.String() != "15s" || around[9].At.String() != "24s" {
		t.Errorf("around %v", around)
	}
}
