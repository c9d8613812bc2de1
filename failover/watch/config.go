package watch

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/hooks"
	"failwise/failover/lock"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// Node is one configured server.
type Node struct {
	Name string
	// Monitor is how probes log in, Manage how status is read and promotions are
	// made: the same account where the user configured one only.
	Monitor, Manage check.Server
	// Preference and Site order the candidates.
	Preference topology.Preference
	Site       string
}

// Votes says how replicas are asked whether they still see the primary.
type Votes uint8

// The ways to ask. The zero value is Bounce.
const (
	// Bounce looks at a replica's IO thread and, where that does not answer,
	// stops and starts it, one replica after the other.
	Bounce Votes = iota
	// Passive only looks.
	Passive
	// NoVotes asks nobody.
	NoVotes
)

var votesNames = [...]string{"bounce", "passive", "off"}

func (v Votes) String() string {
	if int(v) < len(votesNames) {
		return votesNames[v]
	}
	return fmt.Sprintf("votes(%d)", uint8(v))
}

// ParseVotes is the inverse of [Votes.String].
func ParseVotes(s string) (Votes, error) {
	for i, n := range votesNames {
		if n == s {
			return Votes(i), nil
		}
	}
	return Bounce, fmt.Errorf("confirm.replicas %q: not bounce, passive or off", s)
}

// Probing is how the nodes are probed; interval and budget stand in the timings.
type Probing struct {
	// Types are the probe types that run side by side; empty is connect.
	Types  []check.Type
	Query  string
	Limits check.Limits
	// Resolver looks the nodes' names up; nil is the system's.
	Resolver check.Resolver
}

// Config is all that a watcher is told.
type Config struct {
	Cluster string
	// Nodes in the order in which they are judged and chosen.
	Nodes []Node
	// Name and ID are the watcher's: ID is its row in the heartbeat table.
	Name string
	ID   uint64
	// Version is failwise's own, for the journal.
	Version string

	Profile rules.Profile
	// Statemap is the path of the user's rule file, read again when its content
	// changes; empty is none.
	Statemap string
	Timings  rules.Timings
	// Policy is the policy where no earlier run or command has set one.
	Policy failover.Policy
	Probe  Probing

	Votes  Votes
	Routes []Route
	// RoutesMajority lets a majority of the routes that answered say dead; else
	// all of them must.
	RoutesMajority bool

	// Promotion are the limits and choices of plans.
	Promotion promote.Settings
	// Account is the replication account for a node that has none.
	Account promote.Account
	Hooks   hooks.Set
	// EnforceReadOnly sets a writable replica read-only.
	EnforceReadOnly bool
	// RefillRecovered and RefillAfter refill the quota when an old primary was
	// recovered, or after a time.
	RefillRecovered bool
	RefillAfter     time.Duration

	// Dir is the cluster's directory for journal, state and promotion logs.
	Dir string
	// JournalMaxBytes bounds the journal; see journal.Options.
	JournalMaxBytes int64
	// Locker says who may act.
	Locker lock.Locker

	// Once ends the watcher after the first failover or failed promotion.
	Once bool
	// DryRun decides and reports, and promotes nothing.
	DryRun bool
	// Notify, if not nil, is told everything a user may want to read, in order and
	// never twice at a time, from a goroutine of its own: when it blocks, notices
	// are dropped and counted.
	Notify func(Notice)
	// Metrics, if not nil, counts.
	Metrics *Metrics
	// Phase, from 0 to less than 1, is where in its periods a watcher begins with
	// what it does from time to time beside probing. Several watchers in one process
	// take different ones, so that they do not all read and write at once.
	Phase float64

	// observer decides nothing by itself: it serves one request.
	observer bool
	// looking: it looks once and leaves no trace, not even a state directory.
	looking bool
	// stepping, if not nil, is called with each line of a plan, which waits for it.
	stepping func(promote.Progress)
}

func (c *Config) validate() error {
	if len(c.Nodes) == 0 {
		return errors.New("no nodes: name the cluster's servers in the configuration or with -H")
	}
	if c.Dir == "" {
		return errors.New("no state directory")
	}
	if c.Locker == nil {
		return errors.New("no lock")
	}
	if c.Phase < 0 || c.Phase >= 1 {
		return fmt.Errorf("phase %g: not from 0 to less than 1", c.Phase)
	}
	return c.Timings.Validate()
}

// Notice is one thing that a user may want to read.
type Notice struct {
	Time time.Time
	// Level is Info for what goes as it should, Warn for what somebody should
	// look at, Error for what failed.
	Level slog.Level
	// Kind is an event's name ("alarm", "hold", …), "probe", "step", "topology",
	// "rules" or "note".
	Kind    string
	Node    string
	Outcome rules.Outcome
	// State is the node's state under the rules after this notice, if it is about
	// a node.
	State rules.State
	// Text is one line for a human.
	Text string
	// Event is set for an event of the engine.
	Event *failover.Event
	// Step is set for a step of a promotion.
	Step *promote.Progress
}
