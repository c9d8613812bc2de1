package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"failwise/rules"
)

// timeLayout is RFC 3339 with milliseconds; records are in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// MaxLine bounds one line of the journal, in bytes. A record with larger Data is
// written without it and says so.
const MaxLine = 1 << 20

// Record is one line of the journal.
type Record struct {
	// Time is when it happened, on the wall clock; kept to the millisecond.
	Time time.Time
	// Kind says what the record is about.
	Kind Kind
	// Watcher tells apart the watchers that share a directory. The journal fills
	// it in from its Options when it is empty.
	Watcher string
	// Node is the node concerned, or empty.
	Node string
	// Outcome is the result of a probe, or 0.
	Outcome rules.Outcome
	// Elapsed is how long the probe took; kept to the microsecond.
	Elapsed time.Duration
	// Message is one plain line for a human, or empty.
	Message string
	// Data is the whole record as JSON, or empty; see [Data]. Never a secret.
	Data json.RawMessage
}

// Data encodes v for [Record.Data]. What cannot be encoded becomes an object that
// says so: a record is never lost for its details.
func Data(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(map[string]string{"not_encoded": err.Error()})
	}
	return b
}

type recordJSON struct {
	Time      string          `json:"time"`
	Kind      string          `json:"kind,omitempty"`
	Watcher   string          `json:"watcher,omitempty"`
	Node      string          `json:"node,omitempty"`
	Outcome   string          `json:"outcome,omitempty"`
	ElapsedMS float64         `json:"elapsed_ms,omitempty"`
	Message   string          `json:"message,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// MarshalJSON encodes the record as the journal's line, without the line end.
func (r Record) MarshalJSON() ([]byte, error) {
	w := recordJSON{
		Time:      r.Time.UTC().Format(timeLayout),
		Kind:      r.Kind.String(),
		Watcher:   r.Watcher,
		Node:      r.Node,
		ElapsedMS: float64(r.Elapsed.Microseconds()) / 1000,
		Message:   r.Message,
		Data:      r.Data,
	}
	if r.Outcome != 0 {
		w.Outcome = r.Outcome.String()
	}
	return json.Marshal(w)
}

// UnmarshalJSON is the inverse of [Record.MarshalJSON]. Keys it does not know are
// ignored and an unknown kind becomes KindUnset, so that an older program can read
// a newer one's journal; a line without a time is an error.
func (r *Record) UnmarshalJSON(b []byte) error {
	var w recordJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Time == "" {
		return errors.New("no time")
	}
	t, err := time.Parse(time.RFC3339Nano, w.Time)
	if err != nil {
		return fmt.Errorf("time %q is not RFC 3339", w.Time)
	}
	kind, err := ParseKind(w.Kind)
	if err != nil {
		kind = KindUnset
	}
	*r = Record{
		Time:    t.UTC(),
		Kind:    kind,
		Watcher: w.Watcher,
		Node:    w.Node,
		Elapsed: time.Duration(w.ElapsedMS*1000+0.5) * time.Microsecond,
		Message: w.Message,
		Data:    w.Data,
	}
	if w.Outcome != "" {
		if r.Outcome, err = rules.ParseOutcome(w.Outcome); err != nil {
			return err
		}
	}
	return nil
}

// line encodes the record with its line end, within MaxLine.
func (r Record) line() ([]byte, error) {
	b, err := r.MarshalJSON()
	if err != nil {
		// Only Data that is not JSON can fail.
		r.Data = Data(map[string]string{"not_encoded": err.Error()})
		if b, err = r.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	if len(b) >= MaxLine {
		r.Data = Data(map[string]int{"omitted_bytes": len(r.Data)})
		if len(r.Message) > MaxLine/4 {
			r.Message = r.Message[:MaxLine/4]
		}
		if b, err = r.MarshalJSON(); err != nil {
			return nil, err
		}
		if len(b) >= MaxLine {
			return nil, fmt.Errorf("record of %d bytes is longer than the limit of %d", len(b), MaxLine)
		}
	}
	return append(b, '\n'), nil
}
