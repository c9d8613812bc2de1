package mysql

import (
	"encoding/json"
	"time"
)

// channelTimes are the durations of a [Channel] as JSON has them, in seconds.
type channelTimes struct {
	Lag             Fact[float64] `json:"lag"`
	Delay           float64       `json:"delay"`
	Retry           float64       `json:"connect_retry"`
	HeartbeatPeriod Fact[float64] `json:"heartbeat_period"`
	HeartbeatAge    Fact[float64] `json:"heartbeat_age"`
}

// hidden is a level of embedding: the names in it yield to those outside.
type hidden struct{ plainChannel }

type plainChannel Channel

// MarshalJSON writes durations in seconds.
func (c Channel) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		hidden
		channelTimes
	}{hidden{plainChannel(c)}, channelTimes{
		Lag: inSeconds(c.Lag), Delay: c.Delay.Seconds(), Retry: c.Retry.Seconds(),
		HeartbeatPeriod: inSeconds(c.HeartbeatPeriod), HeartbeatAge: inSeconds(c.HeartbeatAge),
	}})
}

// UnmarshalJSON is the inverse of [Channel.MarshalJSON].
func (c *Channel) UnmarshalJSON(b []byte) error {
	var w struct {
		hidden
		channelTimes
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	t := w.channelTimes
	*c = Channel(w.plainChannel)
	c.Lag, c.Delay, c.Retry = ofSeconds(t.Lag), duration(t.Delay), duration(t.Retry)
	c.HeartbeatPeriod, c.HeartbeatAge = ofSeconds(t.HeartbeatPeriod), ofSeconds(t.HeartbeatAge)
	return nil
}

func inSeconds(f Fact[time.Duration]) Fact[float64] {
	return Fact[float64]{f.value.Seconds(), f.known}
}

func ofSeconds(f Fact[float64]) Fact[time.Duration] {
	return Fact[time.Duration]{duration(f.value), f.known}
}

// duration is a number of seconds, to the microsecond.
func duration(seconds float64) time.Duration {
	return (time.Duration(seconds * float64(time.Second))).Round(time.Microsecond)
}
