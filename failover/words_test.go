package failover_test

import (
	"errors"
	"fmt"
	"testing"

	"failwise/failover"
)

// word is a value of one of the package's vocabularies.
type word interface {
	fmt.Stringer
	MarshalText() ([]byte, error)
}

// inverse checks that String and Parse are inverse over values, and that Parse
// refuses another word.
func inverse[T interface {
	comparable
	word
}](t *testing.T, values []T, parse func(string) (T, error)) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range values {
		got, err := parse(v.String())
		if err != nil || got != v {
			t.Errorf("parse(%q) = %v, %v", v.String(), got, err)
		}
		if b, err := v.MarshalText(); err != nil || string(b) != v.String() {
			t.Errorf("%s marshals to %q, %v", v, b, err)
		}
		if seen[v.String()] {
			t.Errorf("two values are called %q", v)
		}
		seen[v.String()] = true
	}
	var name *failover.NameError
	if _, err := parse("no such word"); !errors.As(err, &name) || name.Name != "no such word" {
		t.Errorf("parse of an unknown word: %v", err)
	}
	if _, err := parse(""); err == nil {
		t.Error("the empty word parses")
	}
}

func upTo[T ~uint8](last T) []T {
	var all []T
	for v := T(0); v <= last; v++ {
		all = append(all, v)
	}
	return all
}

func TestWordsAndParseAreInverse(t *testing.T) {
	t.Run("role", func(t *testing.T) { inverse(t, upTo(failover.Primary), failover.ParseRole) })
	t.Run("stage", func(t *testing.T) { inverse(t, upTo(failover.Shunned), failover.ParseStage) })
	t.Run("policy", func(t *testing.T) { inverse(t, upTo(failover.Maintenance), failover.ParsePolicy) })
	t.Run("vote", func(t *testing.T) { inverse(t, upTo(failover.VoteLost), failover.ParseVote) })
	t.Run("route", func(t *testing.T) { inverse(t, upTo(failover.RouteDead), failover.ParseRoute) })
	t.Run("observers", func(t *testing.T) { inverse(t, upTo(failover.ObserversDisagree), failover.ParseObservers) })
	t.Run("reason", func(t *testing.T) { inverse(t, failover.Reasons(), failover.ParseReason) })
	t.Run("kind", func(t *testing.T) { inverse(t, failover.Kinds(), failover.ParseKind) })
	t.Run("fact", func(t *testing.T) {
		inverse(t, upTo(failover.FactForced)[1:], failover.ParseFactKind)
	})
}

// Every reason says what it means and what would lift it.
func TestReasonsExplainThemselves(t *testing.T) {
	for _, r := range failover.Reasons() {
		if r.Means() == "" || r.Lifts() == "" {
			t.Errorf("%s: means %q, lifts %q", r, r.Means(), r.Lifts())
		}
	}
	if failover.NoHold.String() != "" || failover.NoHold.Lifts() != "" {
		t.Error("no hold has words")
	}
}
