package rules

// stateWeight orders states by how much they say about a node that is down.
var stateWeight = [...]uint8{StateUnset: 0, Online: 1, Unknown: 2, Suspect: 3, Timeout: 4, Stopped: 5}

// Worse reports whether s says more than t about a node that is down: stopped,
// timeout, suspect, unknown, online, unset.
func (s State) Worse(t State) bool { return s.weight() > t.weight() }

func (s State) weight() uint8 {
	if int(s) < len(stateWeight) {
		return stateWeight[s]
	}
	return 0
}

// Worst returns the worse of two outcomes that different probe types saw on one
// node: first by [Rule.Severity] (fail, alert, none; a rule that never expires
// is none), then by state (stopped, timeout, suspect, unknown, online), then the
// one that stands earlier in the catalogue. No outcome at all loses against any.
func (m *Map) Worst(a, b Outcome) Outcome {
	if !a.Valid() {
		return b
	}
	if !b.Valid() {
		return a
	}
	ra, rb := m.rules[a], m.rules[b]
	if sa, sb := ra.Severity(), rb.Severity(); sa != sb {
		if sa > sb {
			return a
		}
		return b
	}
	switch {
	case ra.State.Worse(rb.State):
		return a
	case rb.State.Worse(ra.State):
		return b
	}
	return min(a, b)
}

// Supports reports whether a node's latest observation keeps the clock of an
// alarm running: it is a failure at least as serious as the alarm's outcome, and
// it does not prove alive a node that the alarm calls unreachable. An alarm of
// [NotOnline] is supported by every outcome that is not online.
func (m *Map) Supports(observation, alarm Outcome) bool {
	r := m.Rule(observation)
	if r.State == Online {
		return false
	}
	if alarm == NotOnline {
		return true
	}
	return r.Severity() >= m.Rule(alarm).Severity() && (alarm.Alive() || !observation.Alive())
}
