package rules

import (
	"fmt"
	"strconv"
	"time"
)

// Timings are the times and limits that a profile brings along with its rules.
// Each can be set by itself in the configuration.
type Timings struct {
	// Tick is the unit of thresholds, windows and settles. It is positive.
	Tick time.Duration
	// ProbeInterval is the time from the start of one probe of a node to the
	// start of the next. It is positive.
	ProbeInterval time.Duration
	// ProbeBudget is the longest that one probe may take, all phases together.
	// It is positive and may be longer than ProbeInterval: at most one probe of
	// a node is in flight.
	ProbeBudget time.Duration
	// Settle, in ticks, is how long no other node may newly enter nearly_down
	// before a primary is failed. 0 is no settle.
	Settle int
	// SettleRestarts is how often a settle starts anew for such a node.
	SettleRestarts int
	// Quota is the number of automatic failovers until it is refilled. 0 is no
	// quota.
	Quota int
	// AgeLimit is the time after a failover in which there is no other. 0 is no
	// limit.
	AgeLimit time.Duration
	// Retry is the time between a failed promotion and the next attempt.
	Retry time.Duration
	// Attempts is the number of promotions tried in one episode.
	Attempts int
}

// Ticks returns the length of n ticks.
func (t Timings) Ticks(n int) time.Duration { return time.Duration(n) * t.Tick }

// set gives one of the timings a value as it is written in a profile.
func (t *Timings) set(key, value string) error {
	durations := map[string]*time.Duration{
		"tick": &t.Tick, "probe_interval": &t.ProbeInterval, "probe_budget": &t.ProbeBudget,
		"age_limit": &t.AgeLimit, "retry": &t.Retry,
	}
	counts := map[string]*int{
		"settle": &t.Settle, "settle_restarts": &t.SettleRestarts, "quota": &t.Quota, "attempts": &t.Attempts,
	}
	if d, ok := durations[key]; ok {
		v, err := time.ParseDuration(value)
		if err != nil || v < 0 {
			return fmt.Errorf("timing.%s: %q is no duration such as 10s or 8h", key, value)
		}
		*d = v
		return nil
	}
	if n, ok := counts[key]; ok {
		v, err := strconv.Atoi(value)
		if err != nil || v < 0 {
			return fmt.Errorf("timing.%s: %q is no count", key, value)
		}
		*n = v
		return nil
	}
	return &UnknownError{Kind: "timing", Value: key}
}

// Validate returns an error if a timing is out of its range.
func (t Timings) Validate() error {
	switch {
	case t.Tick <= 0:
		return fmt.Errorf("tick must be longer than 0, not %s", t.Tick)
	case t.ProbeInterval <= 0:
		return fmt.Errorf("probe interval must be longer than 0, not %s", t.ProbeInterval)
	case t.ProbeBudget <= 0:
		return fmt.Errorf("probe budget must be longer than 0, not %s", t.ProbeBudget)
	case t.Settle < 0 || t.SettleRestarts < 0 || t.Quota < 0 || t.Attempts < 0 || t.AgeLimit < 0 || t.Retry < 0:
		return fmt.Errorf("settle, settle_restarts, quota, attempts, age_limit and retry must not be negative")
	}
	return nil
}
