package rules

import "fmt"

// Outcome is the result of one probe: exactly one key of the catalogue. The
// zero value is no outcome at all; [Undefined] is the catalogue's own word for
// "no probe has ended yet". The constants stand in the catalogue's order, which
// breaks ties when several probe types report on one node.
type Outcome uint8

// The catalogue. The first block carries Tungsten's keys.
const (
	OK Outcome = iota + 1
	SocketIOError
	SocketConnectTimeout
	LoginResponseTimeout
	NoRouteToHost
	SendQueryTimeout
	QueryExecTimeout
	QueryResultsTimeout
	HostIsDown
	UnknownHost
	TooManyConnections
	WrongCredentials
	MySQLError
	MySQLPrematureEOF
	QueryExecutionFailed
	QueryResultFailed
	QueryTooLarge
	OpenFileLimitError
	SocketNoIO
	UnexpectedException
	UntrappedCondition
	Undefined

	NetworkUnreachable
	TLSError
	ReadOnly
	DiskFull
	StorageError
	WriteTimeout
	NotOnline // synthetic: every bad outcome; rules with a window only

	outcomeEnd
)

// NumOutcomes is one more than the largest Outcome, so that an array of this
// length can be indexed by Outcome.
const NumOutcomes = int(outcomeEnd)

// Phase is a part of a probe; evidence names the one that was reached.
type Phase uint8

// The phases of a probe in the order in which they happen.
const (
	PhaseNone Phase = iota
	PhaseResolve
	PhaseConnect
	PhaseGreeting
	PhaseLogin
	PhaseSend
	PhaseExecute
	PhaseResults
)

var phaseNames = [...]string{"none", "resolve", "connect", "greeting", "login", "send", "execute", "results"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// ParsePhase is the inverse of [Phase.String]; case and surrounding blanks do
// not matter. Its error is an [*UnknownError].
func ParsePhase(s string) (Phase, error) {
	i, err := lookUp("phase", s, phaseNames[:], true)
	return Phase(i), err
}

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePhase].
func (p *Phase) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePhase(string(b))
	return err
}

// outcomeInfo is one row of the catalogue.
type outcomeInfo struct {
	key string
	// reached: the outcome proves that the network to the node works.
	reached bool
	// alive: the outcome proves that the server process lives.
	alive bool
	// upToLogin: the outcome is one up to and including the login, the only
	// ones on which other hosts' views of the port can be asked.
	upToLogin bool
}

var catalogue = [outcomeEnd]outcomeInfo{
	OK:                   {key: "ok", reached: true, alive: true},
	SocketIOError:        {key: "socket_io_error", reached: true, upToLogin: true},
	SocketConnectTimeout: {key: "socket_connect_timeout", upToLogin: true},
	LoginResponseTimeout: {key: "login_response_timeout", reached: true, upToLogin: true},
	NoRouteToHost:        {key: "no_route_to_host", upToLogin: true},
	SendQueryTimeout:     {key: "send_query_timeout", reached: true, alive: true},
	QueryExecTimeout:     {key: "query_exec_timeout", reached: true, alive: true},
	QueryResultsTimeout:  {key: "query_results_timeout", reached: true, alive: true},
	HostIsDown:           {key: "host_is_down", upToLogin: true},
	UnknownHost:          {key: "unknown_host", upToLogin: true},
	TooManyConnections:   {key: "too_many_connections", reached: true, alive: true, upToLogin: true},
	WrongCredentials:     {key: "wrong_credentials", reached: true, alive: true, upToLogin: true},
	MySQLError:           {key: "mysql_error", reached: true, alive: true, upToLogin: true},
	MySQLPrematureEOF:    {key: "mysql_premature_eof", reached: true, upToLogin: true},
	QueryExecutionFailed: {key: "query_execution_failed", reached: true, alive: true},
	QueryResultFailed:    {key: "query_result_failed", reached: true, alive: true},
	QueryTooLarge:        {key: "query_too_large", reached: true, alive: true},
	OpenFileLimitError:   {key: "open_file_limit_error"},
	SocketNoIO:           {key: "socket_no_io", reached: true, upToLogin: true},
	UnexpectedException:  {key: "unexpected_exception"},
	UntrappedCondition:   {key: "untrapped_condition"},
	Undefined:            {key: "undefined"},
	NetworkUnreachable:   {key: "network_unreachable", upToLogin: true},
	TLSError:             {key: "tls_error", reached: true, upToLogin: true},
	ReadOnly:             {key: "read_only", reached: true, alive: true},
	DiskFull:             {key: "disk_full", reached: true, alive: true},
	StorageError:         {key: "storage_error", reached: true, alive: true},
	WriteTimeout:         {key: "write_timeout", reached: true, alive: true},
	NotOnline:            {key: "not_online"},
}

func (o Outcome) String() string {
	if o.Valid() {
		return catalogue[o].key
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// ParseOutcome is the inverse of [Outcome.String]; case and surrounding blanks do
// not matter. Its error is an [*UnknownError] that suggests the key meant.
func ParseOutcome(s string) (Outcome, error) {
	var keys [NumOutcomes]string
	for i := range catalogue {
		keys[i] = catalogue[i].key
	}
	i, err := lookUp("outcome", s, keys[:], false)
	return Outcome(i), err
}

// Outcomes returns all keys of the catalogue in its order.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, NumOutcomes-1)
	for o := OK; o < outcomeEnd; o++ {
		all = append(all, o)
	}
	return all
}

// MarshalText writes the outcome's key; no outcome at all is the empty text.
func (o Outcome) MarshalText() ([]byte, error) {
	if o == 0 {
		return nil, nil
	}
	if !o.Valid() {
		return nil, &UnknownError{Kind: "outcome", Value: o.String()}
	}
	return []byte(o.String()), nil
}

// UnmarshalText is [ParseOutcome]; the empty text is no outcome at all.
func (o *Outcome) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*o = 0
		return nil
	}
	*o, err = ParseOutcome(string(b))
	return err
}

// Valid reports whether o is a key of the catalogue.
func (o Outcome) Valid() bool { return o > 0 && o < outcomeEnd }

// Reached reports whether o proves that the network to the node works.
func (o Outcome) Reached() bool { return o.Valid() && catalogue[o].reached }

// Alive reports whether o proves that the server process lives: an answer after
// a good login or an error number that only a server sends.
func (o Outcome) Alive() bool { return o.Valid() && catalogue[o].alive }

// UpToLogin reports whether o arises before a good login. Replicas' votes and
// routes can contradict only such an outcome: a hung server still answers a TCP
// check.
func (o Outcome) UpToLogin() bool { return o.Valid() && catalogue[o].upToLogin }

// OfStatement reports whether o is about the probe's statement: it was slow,
// refused or answered wrongly after a good login.
func (o Outcome) OfStatement() bool {
	return o >= SendQueryTimeout && o <= QueryResultsTimeout || o >= QueryExecutionFailed && o <= QueryTooLarge
}

// OfInsert reports whether only the insert probe ends in o.
func (o Outcome) OfInsert() bool { return o >= ReadOnly && o <= WriteTimeout }
