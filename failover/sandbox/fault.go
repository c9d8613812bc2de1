package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// ErrNotPermitted is wrapped where something needs root.
var ErrNotPermitted = errors.New("needs root")

// ErrNotHere is wrapped where a fault cannot be had on this cluster or machine.
var ErrNotHere = errors.New("not possible here")

// Need is what a fault asks of the machine and the cluster.
type Need int

// The needs; a fault may have several.
const (
	NeedRoot     Need = 1 << iota // to run as root
	NeedFirewall                  // nft and a kernel with nf_tables; implies root
	NeedLoop                      // Options.LoopBytes on the node; implies root
	NeedOwnUser                   // servers that run as another user than this process
	NeedThrottle                  // a control group controller for block devices; Start finds out
	NeedReplica                   // a node that follows another; Start finds out
	NeedTLS                       // Options.TLS
	NeedNames                     // Options.Names
)

// Fault is one way to break a node on purpose.
type Fault struct {
	Name  string
	Doc   string // what it does, in one line
	Needs Need

	start func(ctx context.Context, n *Node) (injury, error)
}

// injury is how a started fault ends.
type injury struct {
	heal    func(context.Context) error // puts the node back into order; nil if nothing is left to do
	abandon func()                      // frees what this process holds, when the cluster is closed instead; nil if nothing
}

// Active is a fault that was started on a node.
type Active struct {
	Fault Fault
	Node  *Node

	once   sync.Once
	injury injury
	err    error
}

// Available returns nil if the fault can be started on the node, else the
// reason, which wraps ErrNotPermitted or ErrNotHere.
func (f Fault) Available(n *Node) error {
	root := os.Getuid() == 0
	switch {
	case f.Needs&(NeedRoot|NeedFirewall|NeedLoop|NeedThrottle) != 0 && !root:
		return fmt.Errorf("fault %s: %w", f.Name, ErrNotPermitted)
	case f.Needs&NeedLoop != 0 && n.mount == "":
		return fmt.Errorf("fault %s: %w: %s has no file system of its own, see Options.LoopBytes", f.Name, ErrNotHere, n.Name())
	case f.Needs&NeedOwnUser != 0 && !n.cluster.serverUser.change:
		return fmt.Errorf("fault %s: %w: the servers run as this process's user", f.Name, ErrNotHere)
	case f.Needs&NeedTLS != 0 && n.cluster.authority == nil:
		return fmt.Errorf("fault %s: %w: the servers have no certificates of ours, see Options.TLS", f.Name, ErrNotHere)
	case f.Needs&NeedNames != 0 && n.cluster.names == nil:
		return fmt.Errorf("fault %s: %w: the nodes have no names, see Options.Names", f.Name, ErrNotHere)
	}
	if f.Needs&NeedFirewall != 0 {
		if _, err := run("", "nft", "list", "tables"); err != nil {
			return fmt.Errorf("fault %s: %w: %w", f.Name, ErrNotHere, err)
		}
	}
	return nil
}

// Start breaks the node. The fault lasts until Heal, or until the cluster is closed.
func (f Fault) Start(ctx context.Context, n *Node) (*Active, error) {
	if err := f.Available(n); err != nil {
		return nil, err
	}
	if f.Needs&NeedReplica != 0 {
		if _, err := n.source(ctx); err != nil {
			return nil, fmt.Errorf("fault %s: %w", f.Name, err)
		}
	}
	injury, err := f.start(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("fault %s on %s: %w", f.Name, n.Name(), err)
	}
	a := &Active{Fault: f, Node: n, injury: injury}
	c := n.cluster
	c.mu.Lock()
	c.active = append(c.active, a)
	c.mu.Unlock()
	return a, nil
}

// Heal ends the fault; a second call returns the first one's error.
func (a *Active) Heal(ctx context.Context) error {
	a.once.Do(func() {
		if a.injury.heal != nil {
			if err := a.injury.heal(ctx); err != nil {
				a.err = fmt.Errorf("heal %s on %s: %w", a.Fault.Name, a.Node.Name(), err)
			}
		}
		c := a.Node.cluster
		c.mu.Lock()
		c.active = slices.DeleteFunc(c.active, func(other *Active) bool { return other == a })
		c.mu.Unlock()
	})
	return a.err
}

// abandon lets go of what the fault holds in this process.
func (a *Active) abandon() {
	a.once.Do(func() {
		if a.injury.abandon != nil {
			a.injury.abandon()
		}
	})
}

// Faults lists every fault.
func Faults() []Fault {
	return slices.Concat(processFaults(), networkFaults(), sessionFaults(), accountFaults(), tlsFaults(), nameFaults(), replicationFaults(), diskFaults())
}

// LookupFault returns the fault of a name.
func LookupFault(name string) (Fault, error) {
	for _, f := range Faults() {
		if f.Name == name {
			return f, nil
		}
	}
	return Fault{}, fmt.Errorf("unknown fault %q", name)
}
