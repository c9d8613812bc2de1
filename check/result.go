package check

import (
	"encoding/json"
	"syscall"
	"time"

	"failwise/rules"
)

// Result is what one probe found: exactly one outcome, with its evidence.
type Result struct {
	// Node is the server's label, Address where it was looked for.
	Node    string
	Address Address
	// Type is the type that was asked for, Ran the one that ran: an insert
	// probe reads on a replica, and Note says why.
	Type, Ran Type
	Outcome   rules.Outcome
	// Phase is the last phase that began; for ok the last of all.
	Phase rules.Phase
	Start time.Time
	// Elapsed is the probe's whole time, the retry included.
	Elapsed time.Duration
	// Times holds the time spent in each phase, indexed by phase, both attempts
	// together. The TLS handshake is part of login.
	Times PhaseTimes
	// Errno is the operating system's error number; 0 is none.
	Errno syscall.Errno
	// ServerErrno and SQLState are the server's error; 0 and "" are none.
	ServerErrno uint16
	SQLState    string
	// ServerVersion is the version in the greeting, in the server's spelling but
	// without MariaDB's "5.5.5-" prefix for old clients; "" if none came.
	ServerVersion string
	Flavour       Flavour
	// Remote is the address that was used in the end, as it was dialled; "" if
	// none connected.
	Remote string
	// Attempts are the addresses that were tried, in order, both attempts
	// together.
	Attempts []Attempt
	// TLS is the protocol in use, such as "TLS 1.3"; "" without TLS.
	TLS string
	// Retry is the failure that led to the one new connection; nil if there was
	// none.
	Retry *Failure
	// Pending: the probe waited on a connection that an earlier one left
	// without a greeting.
	Pending bool
	// Role is what an insert probe read before it wrote; nil if it read nothing.
	Role *Role
	// SessionState is the state of a hung insert's session as SHOW PROCESSLIST
	// prints it, such as "Waiting for global read lock"; "" if not known.
	SessionState string
	// Note is a remark beside the outcome, one line: why an insert only read,
	// or what to grant; "" is none.
	Note string
	// Message says in one line what happened; no password, no driver prefix.
	Message string
	// Trace is how the probe got there, for -v.
	Trace []Event
}

// PhaseTimes holds a duration for each phase, indexed by [rules.Phase].
type PhaseTimes [rules.PhaseResults + 1]time.Duration

// Query is the time of the statement: send, execute and results.
func (t PhaseTimes) Query() time.Duration {
	return t[rules.PhaseSend] + t[rules.PhaseExecute] + t[rules.PhaseResults]
}

// Attempt is one try to reach one address of a node.
type Attempt struct {
	// Remote is the address as it was dialled.
	Remote string
	// Outcome is ok when the connection stood.
	Outcome rules.Outcome
	Errno   syscall.Errno
	Elapsed time.Duration
}

// Failure is a failure that did not decide the outcome.
type Failure struct {
	Outcome     rules.Outcome
	Phase       rules.Phase
	Errno       syscall.Errno
	ServerErrno uint16
	Message     string
}

// Event is one line of a probe's trace.
type Event struct {
	// At counts from the probe's start.
	At   time.Duration
	Text string
}

type attemptJSON struct {
	Address string  `json:"address"`
	Outcome string  `json:"outcome"`
	Errno   int     `json:"errno,omitempty"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

type failureJSON struct {
	Outcome     string `json:"outcome"`
	Phase       string `json:"phase"`
	Errno       int    `json:"errno,omitempty"`
	ServerErrno uint16 `json:"server_errno,omitempty"`
	Message     string `json:"message"`
}

type eventJSON struct {
	Seconds float64 `json:"seconds"`
	Text    string  `json:"text"`
}

type resultJSON struct {
	Node          string             `json:"node"`
	Address       string             `json:"address"`
	Type          string             `json:"type"`
	Ran           string             `json:"ran"`
	Outcome       string             `json:"outcome"`
	Phase         string             `json:"phase"`
	Time          string             `json:"time"`
	Seconds       float64            `json:"seconds"`
	Phases        map[string]float64 `json:"phases"`
	Errno         int                `json:"errno,omitempty"`
	Error         string             `json:"error,omitempty"`
	ServerErrno   uint16             `json:"server_errno,omitempty"`
	SQLState      string             `json:"sqlstate,omitempty"`
	ServerVersion string             `json:"server_version,omitempty"`
	Flavour       Flavour            `json:"flavour,omitzero"`
	Remote        string             `json:"remote,omitempty"`
	Attempts      []attemptJSON      `json:"attempts,omitempty"`
	TLS           string             `json:"tls,omitempty"`
	Retry         *failureJSON       `json:"retry,omitempty"`
	Pending       bool               `json:"pending,omitempty"`
	Role          *roleJSON          `json:"role,omitempty"`
	SessionState  string             `json:"session_state,omitempty"`
	Note          string             `json:"note,omitempty"`
	Message       string             `json:"message"`
	Trace         []eventJSON        `json:"trace,omitempty"`
}

// MarshalJSON writes one object: snake_case keys, durations in seconds, times
// in RFC 3339 with milliseconds.
func (r Result) MarshalJSON() ([]byte, error) {
	out := resultJSON{
		Node: r.Node, Address: r.Address.String(), Type: r.Type.String(), Ran: r.Ran.String(),
		Outcome: r.Outcome.String(), Phase: r.Phase.String(),
		Time: r.Start.Format("2006-01-02T15:04:05.000Z07:00"), Seconds: r.Elapsed.Seconds(),
		Phases: map[string]float64{},
		Errno:  int(r.Errno), Error: errnoName(r.Errno), ServerErrno: r.ServerErrno, SQLState: r.SQLState,
		ServerVersion: r.ServerVersion, Flavour: r.Flavour, Remote: r.Remote, TLS: r.TLS,
		Pending: r.Pending, SessionState: r.SessionState, Note: r.Note, Message: r.Message,
	}
	for p := rules.PhaseResolve; p <= r.Phase; p++ {
		out.Phases[p.String()] = r.Times[p].Seconds()
	}
	for _, a := range r.Attempts {
		out.Attempts = append(out.Attempts, attemptJSON{
			Address: a.Remote, Outcome: a.Outcome.String(), Errno: int(a.Errno), Error: errnoName(a.Errno), Seconds: a.Elapsed.Seconds(),
		})
	}
	if f := r.Retry; f != nil {
		out.Retry = &failureJSON{
			Outcome: f.Outcome.String(), Phase: f.Phase.String(), Errno: int(f.Errno), ServerErrno: f.ServerErrno, Message: f.Message,
		}
	}
	if r.Role != nil {
		out.Role = &roleJSON{ReadOnly: r.Role.ReadOnly, Replica: r.Role.Replica, Source: r.Role.Source}
	}
	for _, e := range r.Trace {
		out.Trace = append(out.Trace, eventJSON{Seconds: e.At.Seconds(), Text: e.Text})
	}
	return json.Marshal(out)
}
