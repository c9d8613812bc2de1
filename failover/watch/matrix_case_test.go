package watch

import (
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// verdict is what is to come of a fault.
type verdict string

// The verdicts. A fault that is left alone may raise alarms; nobody is told.
const (
	actsOn       verdict = "failover"
	maybeActs    verdict = "failover or none" // over before anybody could be sure
	holdsBack    verdict = "hold"
	onlyAlerts   verdict = "alert"
	leavesAlone  verdict = "none"
	failsReplica verdict = "replica failed"
)

// Sizes of the loop-mounted data directories of the disk faults.
var matrixLoop = map[sandbox.Flavour]int64{sandbox.MariaDB: 192 << 20, sandbox.MySQL: 512 << 20}

// matrixCase is one row of the fault matrix: a fault, and what must come of it.
type matrixCase struct {
	fault string
	// node is the index of the node that is broken; 0 is the primary.
	node int
	// then is a second fault, on the primary, once the first has been seen.
	then string

	profile rules.Profile
	// probes are the probe types; empty is connect. query replaces SELECT 1.
	probes []check.Type
	query  string
	budget time.Duration // 0 is 2 s

	// outcomes are those of which the judged node must show one; empty is that it
	// stays ok. The judged node is the primary where there is a second fault.
	outcomes []rules.Outcome
	want     verdict
	// reason is that of the hold.
	reason failover.Reason
	// finding is the rule by which the survey must report the broken replica, as a
	// finding or a candidate's rejection.
	finding string
	// only is the node that must be chosen; empty is either.
	only string

	// cutOff: the old primary may live on where nobody can reach it, so that it may
	// stay writable, with no write acknowledged.
	cutOff bool
	// slow is how long the fault itself takes to begin.
	slow time.Duration
	// alone: the fault can be had only in a fresh cluster, or leaves one that is no
	// use for another case.
	alone bool
	// ruins: the node is not brought back, since the fault takes its data.
	ruins bool
	// loop: the data directory of node 0 lies on a file system of its own.
	loop bool
	// named: the watcher knows the nodes by name and verifies their certificates.
	named bool
	// proxied: the watcher comes from sandbox.BlockedSource.
	proxied bool
	// short: part of every test run.
	short bool
}

func (c matrixCase) name() string {
	s := c.fault
	if c.node > 0 {
		s += " of a replica"
	}
	if c.then != "" {
		s += ", then " + c.then
	}
	if c.query != "" {
		s += ", own query"
	}
	for _, p := range c.probes {
		if p == check.Insert {
			s += ", insert"
		}
	}
	if c.profile != rules.Tungsten {
		s += ", " + c.profile.String()
	}
	return s
}

// judged is the index of the node whose outcomes and decisions count.
func (c matrixCase) judged() int {
	if c.then != "" {
		return 0
	}
	return c.node
}

// heartbeatQuery reads the table that locked-heartbeat locks.
const heartbeatQuery = "SELECT id FROM failwise.heartbeat LIMIT 1"

var (
	withInsert = []check.Type{check.Connect, check.Insert}
	noAnswer   = []rules.Outcome{rules.LoginResponseTimeout, rules.SocketConnectTimeout}
	refused    = []rules.Outcome{rules.SocketIOError}
	// A server that ends may close a connection in good order first.
	ending = []rules.Outcome{rules.SocketIOError, rules.MySQLPrematureEOF, rules.MySQLError}
	silent = []rules.Outcome{rules.SocketConnectTimeout}
	stuck  = []rules.Outcome{rules.WriteTimeout}
	denied = []rules.Outcome{rules.WrongCredentials}
)

// matrixCases is the fault matrix: each fault under the shipped rules and under those of
// the profile mha. Cases that leave their cluster as it was stand together, so that they
// can share one.
var matrixCases = underBoth(faultCases)

// underBoth adds to each case the one of profile mha.
func underBoth(cases []matrixCase) []matrixCase {
	var both []matrixCase
	for _, c := range cases {
		mha := c
		mha.profile, mha.short = rules.MHA, false
		if c.query != "" { // that profile fails a primary over which cannot execute a query
			mha.want = actsOn
		}
		both = append(both, c, mha)
	}
	return both
}

var faultCases = []matrixCase{
	{fault: "full", outcomes: []rules.Outcome{rules.TooManyConnections}, want: leavesAlone, short: true},
	{fault: "locked", probes: withInsert, outcomes: stuck, want: onlyAlerts, short: true},
	{fault: "io-stopped", node: 1, want: leavesAlone, finding: "io_stopped", short: true},
	{fault: "locked", want: leavesAlone},
	{fault: "locked-heartbeat", probes: withInsert, outcomes: stuck, want: onlyAlerts},
	{fault: "locked-heartbeat", query: heartbeatQuery, outcomes: []rules.Outcome{rules.QueryExecTimeout}, want: leavesAlone},
	{fault: "refuse-new", outcomes: refused, want: holdsBack, reason: failover.ReplicaSeesPrimary},
	{fault: "drop-watcher", outcomes: silent, want: holdsBack, reason: failover.ReplicaSeesPrimary},
	{fault: "wrong-password", outcomes: denied, want: leavesAlone},
	{fault: "expired-account", outcomes: denied, want: leavesAlone},
	{fault: "locked-account", outcomes: denied, want: leavesAlone},
	{fault: "blocked-host", outcomes: []rules.Outcome{rules.MySQLError}, want: leavesAlone, proxied: true},
	{fault: "flapping", budget: 400 * time.Millisecond, outcomes: noAnswer, want: leavesAlone},
	{fault: "sql-error", node: 1, want: leavesAlone, finding: "sql_stopped"},
	{fault: "delayed", node: 1, want: leavesAlone, finding: "delayed"},
	{fault: "kill", node: 1, outcomes: refused, want: failsReplica},
	{fault: "freeze", node: 1, outcomes: noAnswer, want: failsReplica},
	{fault: "drop", node: 1, outcomes: silent, want: failsReplica},
	{fault: "full", node: 1, outcomes: []rules.Outcome{rules.TooManyConnections}, want: leavesAlone},
	{fault: "behind", node: 1, want: leavesAlone},
	{fault: "errant", node: 1, want: leavesAlone, finding: "errant", alone: true},

	{fault: "kill", outcomes: refused, want: actsOn, short: true},
	{fault: "refuse", outcomes: refused, want: actsOn, cutOff: true, short: true},
	{fault: "freeze", outcomes: noAnswer, want: actsOn, cutOff: true, short: true},
	{fault: "drop", outcomes: silent, want: actsOn, cutOff: true, short: true},
	{fault: "shutdown", outcomes: ending, want: actsOn, slow: 15 * time.Second},
	{fault: "restart", outcomes: ending, want: maybeActs, slow: 15 * time.Second},
	{fault: "drop-in", outcomes: silent, want: actsOn, cutOff: true},
	{fault: "drop-out", outcomes: silent, want: actsOn, cutOff: true},
	{fault: "io-stopped", node: 1, then: "kill", outcomes: refused, want: actsOn},
	{fault: "sql-error", node: 1, then: "kill", outcomes: refused, want: actsOn, only: "db3"},
	{fault: "delayed", node: 1, then: "kill", outcomes: refused, want: actsOn, only: "db3"},
	{fault: "errant", node: 1, then: "kill", outcomes: refused, want: actsOn, only: "db3"},
	{fault: "kill", node: 1, then: "kill", outcomes: refused, want: actsOn, only: "db3"},
	{fault: "freeze", node: 1, then: "kill", outcomes: refused, want: actsOn, only: "db3"},

	{fault: "tls-expired", outcomes: []rules.Outcome{rules.TLSError}, want: leavesAlone, named: true},
	{fault: "name-lost", outcomes: []rules.Outcome{rules.UnknownHost}, want: leavesAlone, named: true},
	{fault: "tls-expired", then: "kill", outcomes: refused, want: actsOn, named: true},

	{fault: "disk-stall", probes: withInsert, outcomes: stuck, want: onlyAlerts, loop: true},
	{fault: "disk-slow", probes: withInsert, outcomes: stuck, want: onlyAlerts, loop: true},
	{fault: "disk-full", probes: withInsert, outcomes: stuck, want: onlyAlerts, loop: true, alone: true},
	{fault: "disk-read-only", probes: withInsert, outcomes: ending, want: actsOn, loop: true, ruins: true},
}
