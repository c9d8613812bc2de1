package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{
		"query_result_timeout":   "query_results_timeout",
		"QUERY_RESULTS_TIMEOT":   "query_results_timeout",
		"query-results-timeout":  "query_results_timeout",
		"socket connect timeout": "socket_connect_timeout",
		"scoket_io_error":        "socket_io_error",
		"connect_timeout":        "socket_connect_timeout",
		"credentials":            "wrong_credentials",
		"premature_eof":          "mysql_premature_eof",
		"to_many_connections":    "too_many_connections",
		"okk":                    "ok",
		"xyz":                    "",
		"":                       "",
	} {
		_, err := ParseOutcome(word)
		got := ""
		if u := (*UnknownError)(nil); errors.As(err, &u) {
			got = u.Suggestion
		}
		if got != want {
			t.Errorf("%q: suggested %q, want %q", word, got, want)
		}
	}
}

// inverse checks that parse is the inverse of String for all values, in any case
// and with blanks around.
func inverse[T interface {
	comparable
	fmt.Stringer
}](t *testing.T, all []T, parse func(string) (T, error)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom(all).Draw(t, "value")
		word := []byte(v.String())
		for i, c := range word {
			if 'a' <= c && c <= 'z' && rapid.Bool().Draw(t, "upper") {
				word[i] = c - 'a' + 'A'
			}
		}
		got, err := parse(" " + string(word) + "\t")
		if err != nil || got != v {
			t.Fatalf("parse(%q) = %v, %v", word, got, err)
		}
	})
	if _, err := parse("no such word"); err == nil {
		t.Error("parsed a word that does not exist")
	}
}

func TestParseIsTheInverseOfString(t *testing.T) {
	t.Run("outcome", func(t *testing.T) { inverse(t, Outcomes(), ParseOutcome) })
	t.Run("state", func(t *testing.T) { inverse(t, States(), ParseState) })
	t.Run("action", func(t *testing.T) { inverse(t, []Action{None, Alert, Fail}, ParseAction) })
	t.Run("profile", func(t *testing.T) { inverse(t, Profiles(), ParseProfile) })
	t.Run("attribute", func(t *testing.T) {
		inverse(t, []Attribute{AttributeState, AttributeThreshold, AttributeAction, AttributeWindow, AttributeHeal}, ParseAttribute)
	})
	t.Run("phase", func(t *testing.T) {
		inverse(t, []Phase{PhaseNone, PhaseResolve, PhaseConnect, PhaseGreeting, PhaseLogin, PhaseSend, PhaseExecute, PhaseResults}, ParsePhase)
	})
}

func TestValuesOutOfRangePrintTheirNumber(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"outcome(200)": Outcome(200), "state(9)": State(9), "action(9)": Action(9), "profile(9)": Profile(9),
		"phase(99)": Phase(99), "attribute(9)": Attribute(9), "origin(9)": OriginKind(9),
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTextRoundTrip(t *testing.T) {
	type all struct {
		O Outcome
		S State
		A Action
		P Phase
		R Profile
	}
	for _, in := range []all{{}, {QueryResultsTimeout, Timeout, Fail, PhaseResults, MHA}} {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out all
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("%s became %+v, %v", b, out, err)
		}
	}
	var out all
	if err := json.Unmarshal([]byte(`{"O":"nope"}`), &out); err == nil {
		t.Error("an unknown outcome was read")
	}
	if _, err := json.Marshal(Outcome(200)); err == nil {
		t.Error("an invalid outcome was written")
	}
}
