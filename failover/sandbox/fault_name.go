package sandbox

import (
	"context"
	"net"
	"sync"
)

// names is what the cluster's name server knows.
type names struct {
	server *NameServer

	mu   sync.Mutex
	lost map[*Node]bool
}

// nameFaults are done with the name server of Options.Names.
func nameFaults() []Fault {
	return []Fault{{
		Name: "name-lost", Doc: "the name server does not know the node's name any more", Needs: NeedNames,
		start: func(_ context.Context, n *Node) (injury, error) {
			n.cluster.names.lose(n, true)
			return injury{heal: func(context.Context) error {
				n.cluster.names.lose(n, false)
				return nil
			}}, nil
		},
	}}
}

func (d *names) lose(n *Node, lost bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost[n] = lost
}

// startNames starts the cluster's name server.
func (c *Cluster) startNames() error {
	d := &names{lost: map[*Node]bool{}}
	server, err := StartNameServer(func(name string) ([]net.IP, bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, n := range c.nodes {
			if name == n.Domain()+"." && !d.lost[n] {
				return []net.IP{net.ParseIP(n.host)}, true
			}
		}
		return nil, true
	})
	if err != nil {
		return err
	}
	d.server = server
	c.names = d
	return nil
}

// Domain returns the name under which the cluster's Resolver finds the node,
// "db1.failwise.test" for node 0.
func (n *Node) Domain() string { return n.Name() + ".failwise.test" }

// Resolver knows the nodes' domain names; it is the system's without Options.Names.
func (c *Cluster) Resolver() *net.Resolver {
	if c.names == nil {
		return net.DefaultResolver
	}
	return c.names.server.Resolver()
}
