package mysql

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestChannelDurationsAreSecondsInJSON(t *testing.T) {
	c := Channel{
		Name: "c", Lag: Known(1500 * time.Millisecond), Delay: time.Hour, Retry: 10 * time.Second,
		HeartbeatPeriod: Known(250 * time.Millisecond), Heartbeats: Known(uint64(3)),
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"name": "c", "lag": 1.5, "delay": 3600.0, "connect_retry": 10.0, "heartbeat_period": 0.25, "heartbeat_age": nil, "heartbeats": 3.0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	var back Channel
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, c) {
		t.Errorf("read back as %+v, want %+v", back, c)
	}
}
