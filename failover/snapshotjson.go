package failover

import (
	"encoding/json"
	"time"
)

// UnmarshalJSON is the inverse of [Snapshot.MarshalJSON].
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	type plain Snapshot
	var w struct {
		At seconds `json:"at"`
		plain
		LastFailoverAge *seconds `json:"last_failover_age"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = Snapshot(w.plain)
	s.At, s.LastFailoverAge = time.Duration(w.At), (*time.Duration)(w.LastFailoverAge)
	return nil
}

// UnmarshalJSON is the inverse of [NodeSnapshot.MarshalJSON].
func (s *NodeSnapshot) UnmarshalJSON(b []byte) error {
	type plain NodeSnapshot
	var w struct {
		plain
		Age *seconds `json:"observation_age"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = NodeSnapshot(w.plain)
	s.Age = (*time.Duration)(w.Age)
	return nil
}

// UnmarshalJSON is the inverse of [AlarmStatus.MarshalJSON].
func (s *AlarmStatus) UnmarshalJSON(b []byte) error {
	type plain AlarmStatus
	var w struct {
		plain
		Age  seconds  `json:"age"`
		Left *seconds `json:"expires_in"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = AlarmStatus(w.plain)
	s.Age, s.Left = time.Duration(w.Age), (*time.Duration)(w.Left)
	return nil
}

// UnmarshalJSON is the inverse of [HoldStatus.MarshalJSON].
func (s *HoldStatus) UnmarshalJSON(b []byte) error {
	type plain HoldStatus
	var w struct {
		plain
		Since seconds `json:"since"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = HoldStatus(w.plain)
	s.Since = time.Duration(w.Since)
	return nil
}
