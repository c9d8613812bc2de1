package failover_test

import (
	"testing"
	"time"

	"failwise/failover"
)

func TestStampHasMilliseconds(t *testing.T) {
	for nanos, want := range map[int]string{
		0:           "2026-03-04T05:06:07.000Z",
		120_000_000: "2026-03-04T05:06:07.120Z",
		999_999_999: "2026-03-04T05:06:07.999Z",
	} {
		if got := failover.Stamp(time.Date(2026, 3, 4, 5, 6, 7, nanos, time.UTC)); got != want {
			t.Errorf("%d ns: %s, want %s", nanos, got, want)
		}
	}
}
