package rules

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shippedRules is the contract with users of Tungsten: keys, states and numbers
// up to undefined must never change.
var shippedRules = map[Outcome]Rule{
	OK:                   {State: Online, Threshold: -1, Action: None},
	SocketIOError:        {State: Stopped, Threshold: 0, Action: Fail},
	SocketConnectTimeout: {State: Timeout, Threshold: 8, Action: Fail},
	LoginResponseTimeout: {State: Timeout, Threshold: 8, Action: Fail},
	NoRouteToHost:        {State: Suspect, Threshold: 6, Action: Fail},
	SendQueryTimeout:     {State: Timeout, Threshold: -1, Action: None},
	QueryExecTimeout:     {State: Timeout, Threshold: -1, Action: None},
	QueryResultsTimeout:  {State: Timeout, Threshold: -1, Action: None},
	HostIsDown:           {State: Suspect, Threshold: -1, Action: None},
	UnknownHost:          {State: Suspect, Threshold: -1, Action: None},
	TooManyConnections:   {State: Suspect, Threshold: -1, Action: None},
	WrongCredentials:     {State: Suspect, Threshold: -1, Action: None},
	MySQLError:           {State: Suspect, Threshold: -1, Action: None},
	MySQLPrematureEOF:    {State: Suspect, Threshold: -1, Action: None},
	QueryExecutionFailed: {State: Suspect, Threshold: -1, Action: None},
	QueryResultFailed:    {State: Suspect, Threshold: -1, Action: None},
	QueryTooLarge:        {State: Suspect, Threshold: -1, Action: None},
	OpenFileLimitError:   {State: Suspect, Threshold: -1, Action: None},
	SocketNoIO:           {State: Suspect, Threshold: -1, Action: None},
	UnexpectedException:  {State: Suspect, Threshold: -1, Action: None},
	UntrappedCondition:   {State: Suspect, Threshold: -1, Action: None},
	Undefined:            {State: Unknown, Threshold: -1, Action: None},
	NetworkUnreachable:   {State: Suspect, Threshold: -1, Action: None},
	TLSError:             {State: Suspect, Threshold: -1, Action: None},
	ReadOnly:             {State: Suspect, Threshold: -1, Action: Alert},
	DiskFull:             {State: Suspect, Threshold: 6, Action: Alert},
	StorageError:         {State: Suspect, Threshold: 0, Action: Alert},
	WriteTimeout:         {State: Timeout, Threshold: 6, Action: Alert},
	NotOnline:            {State: Suspect, Threshold: -1, Action: None},
}

func TestDefaultsAreTheShippedRules(t *testing.T) {
	if len(shippedRules) != len(Outcomes()) {
		t.Fatalf("the table has %d outcomes, the catalogue %d", len(shippedRules), len(Outcomes()))
	}
	for _, o := range Outcomes() {
		if got := Defaults().Rule(o); got != shippedRules[o] {
			t.Errorf("%s: %s, want %s", o, got, shippedRules[o])
		}
		if got := Defaults().Origin(o); got.Kind != FromDefaults || got.Replaces != nil {
			t.Errorf("%s: origin %+v", o, got)
		}
	}
}

func TestDefaultsFileNamesEveryOutcomeInFull(t *testing.T) {
	doc := Read(DefaultsName, DefaultsFile())
	if len(doc.Problems) > 0 {
		t.Fatal(doc.Problems)
	}
	var got []Outcome
	for _, v := range doc.Overrides {
		got = append(got, v.Outcome)
	}
	if diff := cmp.Diff(Outcomes(), got); diff != "" {
		t.Error(diff)
	}
	last := 0
	for _, v := range doc.Overrides {
		if line := v.first().KeyAt.Line; line < last {
			t.Errorf("%s stands on line %d, out of the catalogue's order", v.Outcome, line)
		} else {
			last = line
		}
	}
}

func TestAnOutcomeThatNobodyNamesIsUnknownAndDoesNothing(t *testing.T) {
	for _, o := range []Outcome{0, outcomeEnd, 255} {
		if got := Defaults().Rule(o); got != (Rule{State: Unknown, Threshold: Never, Action: None}) {
			t.Errorf("Rule(%d) = %s", o, got)
		}
	}
}

func TestProfiles(t *testing.T) {
	fail := func(s State, n int) Rule { return Rule{State: s, Threshold: n, Action: Fail} }
	for _, tc := range []struct {
		profile Profile
		timings Timings
		changes map[Outcome]Rule
	}{
		{
			Tungsten,
			Timings{10 * time.Second, 3 * time.Second, 5 * time.Second, 0, 3, 0, 10 * time.Minute, time.Minute, 3},
			nil,
		},
		{
			Couchbase,
			Timings{time.Second, time.Second, 5 * time.Second, 2, 3, 1, 0, time.Minute, 3},
			map[Outcome]Rule{
				SocketIOError: fail(Stopped, 120), SocketConnectTimeout: fail(Timeout, 120),
				LoginResponseTimeout: fail(Timeout, 120), NoRouteToHost: fail(Suspect, 120),
				HostIsDown: fail(Suspect, 120), SendQueryTimeout: fail(Timeout, 120),
				QueryExecTimeout: fail(Timeout, 120), QueryResultsTimeout: fail(Timeout, 120),
				WriteTimeout: fail(Timeout, 120), MySQLPrematureEOF: fail(Suspect, 120), SocketNoIO: fail(Suspect, 120),
			},
		},
		{
			MHA,
			Timings{3 * time.Second, 3 * time.Second, 5 * time.Second, 0, 3, 0, 480 * time.Minute, time.Minute, 3},
			map[Outcome]Rule{
				SocketIOError: fail(Stopped, 3), SocketConnectTimeout: fail(Timeout, 3),
				LoginResponseTimeout: fail(Timeout, 3), SendQueryTimeout: fail(Timeout, 3),
				QueryExecTimeout: fail(Timeout, 3), QueryResultsTimeout: fail(Timeout, 3), NoRouteToHost: fail(Suspect, 3),
			},
		},
	} {
		t.Run(tc.profile.String(), func(t *testing.T) {
			if got := tc.profile.Timings(); got != tc.timings {
				t.Errorf("timings %+v, want %+v", got, tc.timings)
			}
			m := tc.profile.Rules()
			if m.Profile() != tc.profile {
				t.Errorf("Profile() = %s", m.Profile())
			}
			for _, o := range Outcomes() {
				want, changed := tc.changes[o]
				if !changed {
					want = shippedRules[o]
				}
				if got := m.Rule(o); got != want {
					t.Errorf("%s: %s, want %s", o, got, want)
				}
				kind := FromDefaults
				if changed {
					kind = FromProfile
				}
				if got := m.Origin(o); got.Kind != kind || (got.Replaces != nil) != changed {
					t.Errorf("%s: origin %+v, want kind %s", o, got, kind)
				}
			}
		})
	}
}

func TestParseProfileIsTheInverseOfString(t *testing.T) {
	for _, p := range Profiles() {
		if got, err := ParseProfile(" " + p.String() + "\t"); err != nil || got != p {
			t.Errorf("ParseProfile(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParseProfile("tungstn"); err == nil || err.Error() != `unknown profile "tungstn"; did you mean tungsten?` {
		t.Errorf("err = %v", err)
	}
}
