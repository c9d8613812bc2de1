package watch

import (
	"encoding/json"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/promote"
)

// OperationRecord is how an operation ended, as the journal keeps it among the
// decisions.
type OperationRecord = operationRecord

// MarshalJSON writes the time with milliseconds, and a list without elements as
// such.
func (d Decision) MarshalJSON() ([]byte, error) {
	type plain Decision
	if d.Evidence == nil {
		d.Evidence = []check.Result{}
	}
	return json.Marshal(struct {
		Time string `json:"time"`
		plain
	}{failover.Stamp(d.Time), plain(d)})
}

// MarshalJSON writes the time with milliseconds.
func (r roundRecord) MarshalJSON() ([]byte, error) {
	type plain roundRecord
	return json.Marshal(struct {
		plain
		Began string `json:"time"`
	}{plain(r), failover.Stamp(r.Began)})
}

// MarshalJSON writes the time with milliseconds, and a list without elements as
// such.
func (r operationRecord) MarshalJSON() ([]byte, error) {
	type plain operationRecord
	if r.Steps == nil {
		r.Steps = []promote.Progress{}
	}
	return json.Marshal(struct {
		Time string `json:"time"`
		plain
	}{failover.Stamp(r.Time), plain(r)})
}
