package rules

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestWithAppliesAllOrNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		set  map[Outcome]Rule
		want error
	}{
		"state":        {map[Outcome]Rule{OK: {Threshold: -1}}, ErrState},
		"threshold":    {map[Outcome]Rule{OK: {State: Online, Threshold: -2}}, ErrThreshold},
		"too long":     {map[Outcome]Rule{OK: {State: Online, Threshold: MaxThreshold + 1}}, ErrThreshold},
		"action":       {map[Outcome]Rule{OK: {State: Online, Action: 3}}, ErrAction},
		"window":       {map[Outcome]Rule{OK: {State: Online, Threshold: 3, Window: 2}}, ErrWindow},
		"window of -1": {map[Outcome]Rule{OK: {State: Online, Threshold: -1, Window: 2}}, ErrWindow},
		"heal":         {map[Outcome]Rule{OK: {State: Online, Heal: -1}}, ErrHeal},
		"one of two":   {map[Outcome]Rule{DiskFull: {State: Suspect}, ReadOnly: {State: Suspect, Heal: -1}}, ErrHeal},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Defaults().With(tc.set, "test")
			if m != nil || !errors.Is(err, tc.want) {
				t.Errorf("With = %v, %v; want error %v", m, err, tc.want)
			}
		})
	}
	if _, err := Defaults().With(map[Outcome]Rule{outcomeEnd: {State: Online}}, "test"); err == nil {
		t.Error("With accepted an outcome that does not exist")
	}
	before := Defaults().Rule(DiskFull)
	if _, err := Defaults().With(map[Outcome]Rule{DiskFull: {State: Stopped, Action: Fail}}, "test"); err != nil {
		t.Fatal(err)
	}
	if Defaults().Rule(DiskFull) != before {
		t.Error("With changed the map beneath")
	}
}

func TestWorst(t *testing.T) {
	m := Defaults()
	for _, tc := range []struct {
		a, b, want Outcome
		why        string
	}{
		{OK, WriteTimeout, WriteTimeout, "alert beats none"},
		{SocketConnectTimeout, StorageError, SocketConnectTimeout, "fail beats alert, whatever the states and thresholds"},
		{ReadOnly, QueryExecTimeout, QueryExecTimeout, "alert with -1 is none; then timeout beats suspect"},
		{SocketIOError, LoginResponseTimeout, SocketIOError, "stopped beats timeout"},
		{LoginResponseTimeout, SocketConnectTimeout, SocketConnectTimeout, "the catalogue's order"},
		{Undefined, OK, Undefined, "unknown beats online"},
		{UnknownHost, Undefined, UnknownHost, "suspect beats unknown"},
		{0, OK, OK, "anything beats no outcome"},
		{0, 0, 0, "no outcome at all"},
	} {
		if got := m.Worst(tc.a, tc.b); got != tc.want {
			t.Errorf("Worst(%s, %s) = %s, want %s: %s", tc.a, tc.b, got, tc.want, tc.why)
		}
		if got := m.Worst(tc.b, tc.a); got != tc.want {
			t.Errorf("Worst(%s, %s) = %s, want %s: %s", tc.b, tc.a, got, tc.want, tc.why)
		}
	}
}

func drawMap(t *rapid.T) *Map {
	set := rapid.MapOf(rapid.SampledFrom(Outcomes()), rapid.Custom(drawRule)).Draw(t, "set")
	m, err := Defaults().With(set, "drawn")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWorstDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		o := rapid.SampledFrom(Outcomes())
		a, b, c := o.Draw(t, "a"), o.Draw(t, "b"), o.Draw(t, "c")
		if m.Worst(a, b) != m.Worst(b, a) {
			t.Fatal("not symmetric")
		}
		if m.Worst(a, m.Worst(b, c)) != m.Worst(m.Worst(a, b), c) {
			t.Fatal("not associative")
		}
		if m.Worst(a, a) != a {
			t.Fatal("not idempotent")
		}
	})
}

func TestSupports(t *testing.T) {
	m := Defaults()
	stall, err := m.With(map[Outcome]Rule{
		QueryResultsTimeout: {State: Timeout, Threshold: 8, Action: Fail},
		TooManyConnections:  {State: Suspect, Threshold: -1, Action: Fail},
	}, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		m                  *Map
		observation, alarm Outcome
		want               bool
		why                string
	}{
		{m, SocketConnectTimeout, SocketConnectTimeout, true, "itself"},
		{m, NoRouteToHost, SocketConnectTimeout, true, "equally serious, nothing proved"},
		{m, LoginResponseTimeout, SocketConnectTimeout, true, "TCP is up, but a server that says nothing proves no life"},
		{m, QueryResultsTimeout, SocketConnectTimeout, false, "merely slow"},
		{m, TooManyConnections, SocketConnectTimeout, false, "an error that proves life"},
		{m, HostIsDown, SocketConnectTimeout, false, "less serious"},
		{m, WriteTimeout, SocketConnectTimeout, false, "an alert is less serious"},
		{m, SocketConnectTimeout, WriteTimeout, true, "more serious, and nothing proved"},
		{m, OK, SocketConnectTimeout, false, "online"},
		{m, OK, QueryExecTimeout, false, "online, though both are none"},
		{stall, QueryResultsTimeout, QueryResultsTimeout, true, "itself, made fatal"},
		{stall, QueryResultsTimeout, LoginResponseTimeout, false, "fatal, but it proves alive what the alarm calls silent"},
		{stall, LoginResponseTimeout, QueryResultsTimeout, true, "silence is no proof of life"},
		{stall, TooManyConnections, QueryResultsTimeout, false, "fail with -1 counts as none"},
		{m, TooManyConnections, NotOnline, true, "not_online takes every bad outcome"},
		{m, OK, NotOnline, false, "and no good one"},
	} {
		if got := tc.m.Supports(tc.observation, tc.alarm); got != tc.want {
			t.Errorf("Supports(%s, %s) = %v, want %v: %s", tc.observation, tc.alarm, got, tc.want, tc.why)
		}
	}
}

func TestEveryBadOutcomeSupportsItsOwnAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawMap(t), rapid.SampledFrom(Outcomes()).Draw(t, "outcome")
		if got, want := m.Supports(o, o), !m.Online(o); got != want {
			t.Fatalf("%s with rule %s: %v", o, m.Rule(o), got)
		}
	})
}

func TestDiff(t *testing.T) {
	next, _, err := Parse("my.properties", []byte(fatalStall+"ok.state=online\nok.threshold=-1\nok.action=none\nok.heal=1\n"), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	changes := Defaults().Diff(next)
	if len(changes) != 1 {
		t.Fatalf("changes: %v", changes)
	}
	want := "query_results_timeout: timeout -1 none → timeout 8 fail (my.properties:1)"
	if got := changes[0].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if back := next.Diff(Defaults()); len(back) != 1 || back[0].New.Rule != changes[0].Old.Rule {
		t.Errorf("the way back: %v", back)
	}
}

func TestRulesAndOriginsAsJSON(t *testing.T) {
	m, _, err := Parse("my.properties", []byte(fatalStall), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(Layer{Rule: m.Rule(QueryResultsTimeout), Origin: m.Origin(QueryResultsTimeout)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rule":{"state":"timeout","threshold":8,"action":"fail"},` +
		`"origin":{"kind":"file","name":"my.properties","line":1,"column":1,` +
		`"replaces":{"rule":{"state":"timeout","threshold":-1,"action":"none"},"origin":{"kind":"default"}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLookingUpARuleDoesNotAllocate(t *testing.T) {
	m := Defaults()
	var sink Rule
	n := testing.AllocsPerRun(100, func() {
		for o := Outcome(0); o <= outcomeEnd; o++ {
			sink = m.Rule(o)
			_ = m.Supports(o, SocketIOError)
			_ = m.Worst(o, SocketIOError)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations, last rule %s", n, sink)
	}
}

func BenchmarkRule(b *testing.B) {
	m := Defaults()
	for b.Loop() {
		_ = m.Rule(QueryResultsTimeout)
	}
}

func BenchmarkParseDefaults(b *testing.B) {
	for b.Loop() {
		if _, _, err := Parse(DefaultsName, defaultsFile, Defaults()); err != nil {
			b.Fatal(err)
		}
	}
}
