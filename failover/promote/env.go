package promote

import (
	"context"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
	"failwise/failover/hooks"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/mysql"
)

// Node is one configured node and the sessions to it.
type Node struct {
	// Name is the node's name in plans, logs and results.
	Name string
	// Host and Port are where its siblings reach it.
	Host string
	Port int
	// Session is the management session; it may be unconnected.
	Session *mysql.Session
	// Second is another session to the same server; nil has one made when needed.
	// Fencing needs it on the primary, at once.
	Second *mysql.Session
	// Down tells that the caller's latest look found no server to talk to. The plan
	// tries such a replica, but does not wait for it while writers do.
	Down bool
}

// Env is what a plan needs of the world. Nothing in it is changed.
type Env struct {
	Cluster string
	// Nodes are all configured nodes in their written order, the old primary among
	// them.
	Nodes []Node
	// Choose picks the candidate from final readings: Contest.Choose.
	Choose Chooser
	// Watcher is this watcher's number: the id of its heartbeat row.
	Watcher uint64
	// By is this watcher's name in the log.
	By string
	// Begin opens the promotion log of a new operation; nil keeps none. A log
	// that comes with an error is used, and the error becomes a warning.
	Begin func(context.Context, journal.Operation) (Log, error)
	// Lease, if not nil, is checked before the claim and before open, and its token
	// is written with the claim.
	Lease lock.Lease
	Hooks hooks.Set
	// HookFacts are what MHA's scripts get beyond the nodes' names.
	HookFacts hooks.MHAFacts
	// Record is given to the hooks as the decision record.
	Record any
	// Account is the replication account for a demoted primary or a recovered node
	// that has none.
	Account Account
	// SemiSyncWanted makes RepointNode and Recover switch the primary's semi-sync
	// source side on once the node is attached: for what a plan had to leave off,
	// see Result.SemiSyncPending.
	SemiSyncWanted bool
	// Seen is what was last known of the old primary while it was well.
	Seen Seen
	// OldOnline, if not nil, reports whether the old primary has been observed
	// online since the plan began. It is asked before open.
	OldOnline func() bool
	// Progress, if not nil, is called as steps begin and end, from several
	// goroutines but never at the same time; it must not block.
	Progress func(Progress)
	// Now is the wall clock, for the log and the hooks.
	Now func() time.Time
	Settings
}

// Reading is a replica at the moment of choice: its receiver is stopped and its
// positions are final.
type Reading struct {
	Node   string
	Status mysql.Status
	Err    error // why there is no Status
}

// Choice is the answer of a Chooser.
type Choice struct {
	// Order are the eligible nodes, best first. The first may lack transactions that
	// Advanced has: then it first catches up from there.
	Order []string
	// Advanced is the node that has all the others' transactions.
	Advanced string
	// Rejected says of the others why not.
	Rejected []Rejection
}

// Rejection is a replica that may not be promoted.
type Rejection struct {
	Node string `json:"node"`
	Rule string `json:"rule"`
	Why  string `json:"why"`
	Fix  string `json:"fix,omitempty"`
}

// Question is what a Chooser is asked.
type Question struct {
	OldPrimary string
	// Fallen are nodes that were opened by this plan and died before their first
	// write was proved: replicas may follow one of them instead of the old primary.
	Fallen   []string
	Readings []Reading
	// Seen is the old primary at its last good look.
	Seen Seen
}

// Chooser picks candidates. An error means that none may be promoted and says
// why, for example that histories have diverged.
type Chooser func(Question) (Choice, error)

// Log is the promotion log: a journal.PromotionLog, or what stands in for it.
type Log interface {
	Step(context.Context, journal.StepEntry) error
	Finish(ctx context.Context, now time.Time, result, message string) error
}

// Account is what a node needs to replicate.
type Account struct {
	User   string
	Secret check.Secret
	TLS    *mysql.ChannelTLS // nil is without
}

// Seen is the old primary as it was at the last good look.
type Seen struct {
	// Progress is what it had executed; empty when it was never read.
	Progress gtid.Progress
	// SemiSyncEnabled is true when its semi-sync source side was switched on,
	// SemiSync when it was in sync as well.
	SemiSyncEnabled bool
	SemiSync        bool
	// SemiSyncReplicas and WaitCount are how many replicas acknowledged and how many
	// it waited for.
	SemiSyncReplicas int
	WaitCount        int
}
