package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"failwise/failover"
	"failwise/failover/promote"
)

func TestFailuresKeepTheirKindThroughTheSocket(t *testing.T) {
	through := func(t *testing.T, err error) error {
		t.Helper()
		raw, encodeErr := json.Marshal(line{failure: failureOf(err), Done: true})
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatal(err)
		}
		return l.err()
	}
	if err := through(t, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	for _, k := range kinds {
		err := fmt.Errorf("db1: %w", k.err)
		if got := through(t, err); !errors.Is(got, k.err) || got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
	got := through(t, &promote.StepError{Step: promote.CatchUp, Target: "db2", Err: errors.New("slow"), Hint: "wait"})
	var f *Failure
	if !errors.As(got, &f) || f.Hint != "wait" || got.Error() != "catch up on db2: slow" {
		t.Errorf("%#v", got)
	}
	for _, reason := range []failover.Reason{failover.AgeLimit, failover.LatestNotFatal} {
		want := &Refusal{Reason: reason, Detail: "42 s old"}
		var refusal *Refusal
		if got := through(t, want); !errors.As(got, &refusal) || *refusal != *want || got.Error() != want.Error() {
			t.Errorf("%v became %v", want, got)
		}
	}
}
