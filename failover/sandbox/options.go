package sandbox

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// MaxNodes is the largest number of nodes in one cluster.
const MaxNodes = 9

// Options says what cluster New starts. The zero value is three MariaDB nodes
// without semi-synchronous replication.
type Options struct {
	Flavour Flavour
	Nodes   int    // 1 to MaxNodes; 0 means 3
	Binary  string // server program; empty means what FindBinary finds
	Dir     string // parent of the cluster's directory; empty means os.TempDir()

	// SemiSync turns semi-synchronous replication on: the source side on node 0
	// alone, since a replica with it on would wait for acknowledgements itself,
	// the replica side on all. The wait point is AFTER_SYNC on both flavours.
	SemiSync        bool
	SemiSyncTimeout time.Duration // 0 means 10 s, both servers' default

	HeartbeatPeriod time.Duration // of the replication channels; 0 means 1 s
	ConnectRetry    time.Duration // whole seconds; 0 means 1 s
	NetTimeout      time.Duration // slave_net_timeout, whole seconds; 0 means 60 s, both servers' default

	RelayLogRecovery bool // relay_log_recovery=ON: a restarted replica drops what it received but did not apply
	Durable          bool // sync_binlog=1 and innodb_flush_log_at_trx_commit=1: each commit waits for the disk
	AdminPort        bool // MySQL's admin_port, MariaDB's extra_port: see Node.AdminAddress
	MaxConnections   int  // 0 means 60
	TLS              bool // a certificate for each node from an authority of the cluster's own: see Cluster.Authority
	Names            bool // a name server that knows each node's Domain: see Cluster.Resolver

	// LoopBytes, when not 0, puts the data directories of LoopNodes on an ext4
	// file system of that size each, in a loop-mounted file: the disk faults need
	// it, and it needs root. It implies Durable, since a disk that nobody waits for
	// can stall unnoticed. Useful sizes start at 128 MiB for MariaDB and at 384 MiB
	// for MySQL. LoopNodes nil means node 0 alone.
	LoopBytes int64
	LoopNodes []int

	Config []string // further lines of the [mysqld] section, for all nodes

	// TrapSignals makes SIGINT, SIGTERM and SIGHUP close the cluster before they
	// take their usual effect. A program that ends its context on these signals
	// must leave it off.
	TrapSignals bool

	// Log, when not nil, is told in one line each what takes time.
	Log func(line string)
}

// withDefaults fills what the caller left out and refuses what cannot be.
func (o Options) withDefaults() (Options, error) {
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Nodes < 0 || o.Nodes > MaxNodes {
		return o, fmt.Errorf("sandbox of %d nodes: want 1 to %d", o.Nodes, MaxNodes)
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	for _, d := range []*time.Duration{&o.HeartbeatPeriod, &o.ConnectRetry} {
		if *d == 0 {
			*d = time.Second
		}
	}
	if o.SemiSyncTimeout == 0 {
		o.SemiSyncTimeout = 10 * time.Second
	}
	if o.NetTimeout == 0 {
		o.NetTimeout = time.Minute
	}
	if o.ConnectRetry%time.Second != 0 || o.NetTimeout%time.Second != 0 {
		return o, errors.New("sandbox options: connect retry and net timeout are whole seconds on the server")
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 60
	}
	if o.LoopBytes != 0 && o.LoopNodes == nil {
		o.LoopNodes = []int{0}
	}
	o.Durable = o.Durable || o.LoopBytes != 0
	for _, i := range o.LoopNodes {
		if i < 0 || i >= o.Nodes {
			return o, fmt.Errorf("loop storage for node %d: the cluster has nodes 0 to %d", i, o.Nodes-1)
		}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, nil
}
