package failover

import (
	"encoding/json"
	"time"

	"failwise/rules"
)

// Observation is the result of one probe of one node. Where several probe types
// run on a node, it is the worst of them, see [rules.Map.Worst].
type Observation struct {
	// Node names the node. An observation of a node that the engine does not
	// know (any more) is ignored.
	Node string `json:"node"`
	// Outcome is any key of the catalogue but [rules.NotOnline]; another value
	// is ignored.
	Outcome rules.Outcome `json:"outcome"`
	// Elapsed is how long the probe took. The engine does not use it.
	Elapsed time.Duration `json:"-"`
}

// Call is one call of the engine, for a journal: an observation, a fact, or, if
// neither is set, an Advance that follows no other call of its instant. The same
// calls on an engine of the same [Config] give the same events.
type Call struct {
	At          time.Duration `json:"-"`
	Observation *Observation  `json:"observation,omitempty"`
	Fact        *Fact         `json:"fact,omitempty"`
}

// MarshalJSON writes the time in seconds.
func (c Call) MarshalJSON() ([]byte, error) {
	type plain Call
	return json.Marshal(struct {
		At seconds `json:"at"`
		plain
	}{seconds(c.At), plain(c)})
}

// UnmarshalJSON is the inverse of [Call.MarshalJSON].
func (c *Call) UnmarshalJSON(b []byte) error {
	type plain Call
	var w struct {
		At seconds `json:"at"`
		plain
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Call(w.plain)
	c.At = time.Duration(w.At)
	return nil
}

// Make makes the call and the Advance that belongs to it, and returns the events
// of both. The slice is the caller's.
func (e *Engine) Make(c Call) ([]Event, error) {
	var events []Event
	var err error
	switch {
	case c.Observation != nil:
		events = append(events, e.Observe(c.At, *c.Observation)...)
	case c.Fact != nil:
		var more []Event
		more, err = e.Tell(c.At, *c.Fact)
		events = append(events, more...)
	}
	return append(events, e.Advance(c.At)...), err
}
