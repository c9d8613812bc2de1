package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover/hooks"
	"failwise/rules"
)

// Config is a whole configuration.
type Config struct {
	// File is the file it was read from, "" if there was none.
	File string
	// StateDir is absolute; each cluster has a directory of its own in it.
	StateDir string
	// Metrics is HOST:PORT of watch's metrics, "" for none.
	Metrics string
	// LogFormat is logfmt or json.
	LogFormat string
	Watcher   Watcher
	// JournalMaxSize bounds a cluster's journal, in bytes; 0 is no bound.
	JournalMaxSize int64
	// Clusters in the file's order. A cluster given by flags alone is the only one.
	Clusters []*Cluster
	// Ad hoc commands on a server that no cluster names use this account, which
	// has no node.
	Server *Cluster

	process *settings
}

// Watcher is how this process is known to others.
type Watcher struct {
	Name string
	// ID is the row of the heartbeat table; never 0.
	ID uint64
}

// Cluster is one primary and its replicas, with all settings resolved.
type Cluster struct {
	Name string
	// Ad hoc: the cluster was given by flags alone.
	AdHoc bool
	Nodes []Node

	// Monitor is the account of probes and status; Manage that of fencing and
	// promotion, the same if no other was configured. Replication is given to
	// nodes that become replicas; it may be empty.
	Monitor, Manage Account
	Replication     Replication

	Profile  rules.Profile
	Statemap string // path of the file of local rules; "" for none
	Timings  rules.Timings
	Policy   string // automatic, manual or maintenance
	Probe    Probe

	QuotaRefill QuotaRefill
	Confirm     Confirm
	// MaxLostTransactions is -1 for unlimited.
	MaxLostTransactions int64
	CatchUp             CatchUp
	Fence               Fence
	Repoint, Verify     time.Duration // time limit of one replica
	Switch              Switch
	EnforceReadOnly     bool
	Hooks               hooks.Set
	Lock                Lock

	settings *settings
}

// Node is one configured server.
type Node struct {
	// Name is unique in its cluster; the address if the file gives none.
	Name      string
	Address   check.Address
	AdminPort uint16 // 0 for none
	Promote   Promote
	Site      string
}

// Promote is how much a node is wanted as the primary.
type Promote uint8

// The preferences. Neutral is the default.
const (
	Neutral Promote = iota
	Prefer
	Never
)

var promoteNames = [...]string{"neutral", "prefer", "never"}

func (p Promote) String() string {
	if int(p) < len(promoteNames) {
		return promoteNames[p]
	}
	return fmt.Sprintf("promote(%d)", uint8(p))
}

// ParsePromote is the inverse of [Promote.String].
func ParsePromote(s string) (Promote, error) {
	for i, n := range promoteNames {
		if n == s {
			return Promote(i), nil
		}
	}
	return Neutral, &choiceError{value: s, choices: promoteNames[:]}
}

// Probe is how nodes are looked at; interval and budget are in Timings.
type Probe struct {
	Types []check.Type
	Query string
	// Limits.Total is the budget.
	Limits check.Limits
}

// Replication is what a node needs to become a replica.
type Replication struct {
	Account
	SSL       bool
	SSLVerify bool
	// SSLCA, SSLCert and SSLKey are paths on that node.
	SSLCA, SSLCert, SSLKey string
}

// Confirm is who is asked before a failover.
type Confirm struct {
	Replicas string // bounce, passive or off
	Routes   []Route
	Require  string // all or majority
}

// Route is a command that looks at the primary from elsewhere.
type Route struct {
	Command  []string
	Contract hooks.Contract
	Timeout  time.Duration
}

// CatchUp is how long a candidate may take, and what happens then.
type CatchUp struct {
	Timeout   time.Duration
	OnTimeout string // next, abort or promote
}

// Fence is what must be known about the old primary.
type Fence struct {
	Require string // none or proof
	Timeout time.Duration
}

// Switch bounds a planned change of primary.
type Switch struct{ Block, MaxLag, LongTransaction time.Duration }

// Lock is who may act. Etcd is nil for the file lock.
type Lock struct{ Etcd *Etcd }

// Etcd is where several watchers agree.
type Etcd struct {
	Endpoints          []string
	TTL                time.Duration
	Prefix             string
	User, PasswordFile string
	CAFile             string
	CertFile, KeyFile  string
}

// QuotaRefill is when the quota of failovers is filled up: by hand, when the old
// primary has recovered, or After a time that is not 0.
type QuotaRefill struct {
	Recovered bool
	After     time.Duration
}

func (q QuotaRefill) String() string {
	switch {
	case q.Recovered:
		return "recovered"
	case q.After > 0:
		return q.After.String()
	default:
		return "manual"
	}
}

func parseQuotaRefill(s string) (QuotaRefill, error) {
	switch s {
	case "manual":
		return QuotaRefill{}, nil
	case "recovered":
		return QuotaRefill{Recovered: true}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return QuotaRefill{}, fmt.Errorf("%q is not manual, recovered or a duration such as 24h", s)
	}
	return QuotaRefill{After: d}, nil
}

func parseMaxLost(s string) (int64, error) {
	if s == "unlimited" {
		return -1, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is neither a count nor unlimited", s)
	}
	return n, nil
}

// Node finds a node by its name or address.
func (c *Cluster) Node(s string) (Node, bool) {
	for _, n := range c.Nodes {
		if n.Name == s || n.Address.String() == s {
			return n, true
		}
	}
	address, err := check.ParseAddress(s, c.Port())
	if err != nil {
		return Node{}, false
	}
	for _, n := range c.Nodes {
		if n.Address == address {
			return n, true
		}
	}
	return Node{}, false
}

// NodeNames lists the nodes' names in their order.
func (c *Cluster) NodeNames() []string {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Server is how to log in to a node.
func (n Node) Server(l Login) check.Server {
	return check.Server{
		Name: n.Name, Address: n.Address, User: l.User, Secret: l.Secret, TLS: l.TLS, AdminPort: n.AdminPort,
	}
}

// Cluster finds a cluster by its name; "" finds the only one.
func (c *Config) Cluster(name string) (*Cluster, error) {
	var names []string
	for _, each := range c.Clusters {
		if each.Name == name {
			return each, nil
		}
		names = append(names, each.Name)
	}
	switch {
	case len(names) == 0:
		return nil, &ChoiceError{Asked: name, File: c.File}
	case name == "" && len(names) == 1:
		return c.Clusters[0], nil
	}
	return nil, &ChoiceError{Asked: name, Clusters: names, File: c.File}
}

// ChoiceError says that it is not clear which cluster is meant, or that there is
// none.
type ChoiceError struct {
	Asked    string   // "" if none was named
	Clusters []string // those there are
	File     string
}

func (e *ChoiceError) Error() string {
	switch {
	case len(e.Clusters) == 0 && e.File == "":
		return "no cluster is configured"
	case len(e.Clusters) == 0:
		return "no cluster is configured in " + e.File
	case e.Asked == "":
		return fmt.Sprintf("%s has %d clusters, and none was chosen", e.File, len(e.Clusters))
	default:
		return fmt.Sprintf("%s has no cluster %q", e.File, e.Asked)
	}
}

// Hints says what to type.
func (e *ChoiceError) Hints() []string {
	if len(e.Clusters) > 0 {
		return []string{"choose with --cluster: " + strings.Join(e.Clusters, ", ")}
	}
	return []string{"name the nodes (-H db1 -H db2 -u monitor), or give a file with --config; docs/configuration.md shows one"}
}
