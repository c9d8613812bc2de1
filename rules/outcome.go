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

// ParsePhase is the inverse of [Phase.String].
func ParsePhase(s string) (Phase, error) {
	for i, n := range phaseNames {
		if n == s {
			return Phase(i), nil
		}
	}
	return PhaseNone, fmt.Errorf("unknown phase %q", s)
}

// outcomeInfo is one row of the catalogue.
type outcomeInfo struct {
	key string
	// reached: the outcome proves that the network to the node works.
	reached bool
	// alive: the outcome proves that the server process lives.
	alive bool
	// beforeStatement: the outcome is one up to and including the login, the
	// only ones on which other hosts' views of the port can be asked.
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
