package watch

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// Snapshot is what a watcher knows at one moment, for `status`, the status block
// and metrics.
type Snapshot struct {
	Time    time.Time `json:"time"`
	Cluster string    `json:"cluster"`
	Watcher string    `json:"watcher"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	DryRun  bool      `json:"dry_run,omitempty"`
	// Lock says who holds the lock instead; empty while this watcher does.
	Lock    string        `json:"lock,omitempty"`
	Profile rules.Profile `json:"profile"`
	Tick    time.Duration `json:"-"`
	// TickAge is the time since the loop last judged.
	TickAge time.Duration     `json:"-"`
	Engine  failover.Snapshot `json:"engine"`
	Nodes   []NodeView        `json:"nodes"`
	// Operation is the one in progress, nil if none is.
	Operation *OperationView     `json:"operation,omitempty"`
	Findings  []topology.Finding `json:"findings,omitempty"`
	Winner    string             `json:"candidate"`
	Refusal   string             `json:"candidate_refusal,omitempty"`
	Journal   journal.Stats      `json:"journal"`
	// Left are the replicas that do not follow the primary yet, and why.
	Left map[string]string `json:"left,omitempty"`
}

// NodeView is what is known of one node beside the engine's view of it.
type NodeView struct {
	Name    string        `json:"name"`
	Address string        `json:"address"`
	Outcome rules.Outcome `json:"outcome"`
	State   rules.State   `json:"state"`
	Message string        `json:"message,omitempty"`
	// Elapsed is how long the latest probe took.
	Elapsed time.Duration `json:"-"`
	// Lag is in seconds, nil if it is unknown.
	Lag      *float64 `json:"lag"`
	Version  string   `json:"version,omitempty"`
	ReadOnly *bool    `json:"read_only,omitempty"`
	// History is the worst state of each of the last 60 seconds, oldest first; an
	// empty one had no probe.
	History []rules.State `json:"-"`
}

// OperationView is an operation in progress.
type OperationView struct {
	What  string             `json:"what"`
	Since time.Time          `json:"since"`
	Steps []promote.Progress `json:"steps"`
}

// MarshalJSON writes times with milliseconds, and a list without elements as such.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	type plain Snapshot
	if s.Nodes == nil {
		s.Nodes = []NodeView{}
	}
	return json.Marshal(struct {
		Time string `json:"time"`
		plain
		Since string `json:"since"`
	}{failover.Stamp(s.Time), plain(s), failover.Stamp(s.Since)})
}

// MarshalJSON writes the time with milliseconds, and a list without elements as
// such.
func (o OperationView) MarshalJSON() ([]byte, error) {
	type plain OperationView
	if o.Steps == nil {
		o.Steps = []promote.Progress{}
	}
	return json.Marshal(struct {
		plain
		Since string `json:"since"`
	}{plain(o), failover.Stamp(o.Since)})
}

// MarshalJSON writes durations in seconds and the history as one letter a second.
func (v NodeView) MarshalJSON() ([]byte, error) {
	type plain NodeView
	letters := make([]byte, len(v.History))
	for i, s := range v.History {
		letters[i] = '.'
		if s != rules.StateUnset {
			letters[i] = s.String()[0]
		}
		if s == rules.Suspect {
			letters[i] = 'x'
		}
	}
	return json.Marshal(struct {
		plain
		Elapsed float64 `json:"elapsed"`
		History string  `json:"history"`
	}{plain(v), v.Elapsed.Seconds(), string(letters)})
}

// UnmarshalJSON is the inverse of [NodeView.MarshalJSON].
func (v *NodeView) UnmarshalJSON(b []byte) error {
	type plain NodeView
	var w struct {
		plain
		Elapsed float64 `json:"elapsed"`
		History string  `json:"history"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*v = NodeView(w.plain)
	v.Elapsed = time.Duration(w.Elapsed * float64(time.Second))
	v.History = make([]rules.State, len(w.History))
	for i, c := range []byte(w.History) {
		v.History[i] = historyLetters[c]
	}
	return nil
}

// historyLetters are the states by the letters of a history; a dot is no probe.
var historyLetters = map[byte]rules.State{
	'o': rules.Online, 's': rules.Stopped, 't': rules.Timeout, 'x': rules.Suspect, 'u': rules.Unknown,
}

// ErrStopped says that the watcher has ended.
var ErrStopped = errors.New("the watcher has stopped")

// Snapshot returns a copy of what the watcher knows.
func (w *Watcher) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	if !w.ask(ctx, func() { s = w.snapshot() }) {
		return Snapshot{}, ErrStopped
	}
	return s, nil
}

func (w *Watcher) snapshot() Snapshot {
	now := time.Now()
	age := w.since() - w.judgedAt
	s := Snapshot{
		Time: now, Cluster: w.cfg.Cluster, Watcher: w.cfg.Name, PID: os.Getpid(), Version: w.cfg.Version, Since: w.began,
		DryRun: w.cfg.DryRun, Lock: w.lockNote, Profile: w.cfg.Profile, Tick: w.cfg.Timings.Tick, TickAge: age, Engine: w.engine.Snapshot(w.since()),
		Findings: w.topo.Findings, Winner: w.choice.Winner, Refusal: w.choice.Refusal, Journal: w.journal.Stats(), Left: map[string]string{},
	}
	for name, why := range w.left {
		s.Left[name] = why
	}
	for _, m := range w.members {
		s.Nodes = append(s.Nodes, w.nodeView(m, now))
	}
	if op := w.running; op != nil {
		s.Operation = &OperationView{What: op.what, Since: op.began, Steps: append([]promote.Progress(nil), op.steps...)}
	}
	return s
}

func (w *Watcher) nodeView(m *member, now time.Time) NodeView {
	v := NodeView{
		Name: m.Name, Address: m.Monitor.Address.String(), Outcome: m.outcome, State: w.rules.Rule(m.outcome).State,
		History: m.history.last(now),
	}
	var newest time.Time
	for _, r := range m.latest {
		if r.Outcome == m.outcome && r.Start.After(newest) {
			newest, v.Message, v.Elapsed = r.Start, r.Message, r.Elapsed
		}
	}
	if lag, ok := w.known.lag[m.Name].Get(); ok {
		seconds := lag.Seconds()
		v.Lag = &seconds
	}
	if n, ok := w.topo.Node(m.Name); ok && n.Readable() {
		v.Version = n.Status.Version.String()
		readOnly := !n.Status.Writable()
		v.ReadOnly = &readOnly
	}
	return v
}
