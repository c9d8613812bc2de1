package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// networkFaults are done with a firewall table of the sandbox's own. They touch
// only packets to and from the node's ports.
func networkFaults() []Fault {
	return []Fault{
		firewall("refuse", "connections are refused and open ones reset (nft reject with tcp reset)", NeedFirewall,
			// Not the resets themselves, which the rules make and which must arrive.
			"input", "TO tcp flags & rst == 0 reject with tcp reset", "FROM tcp flags & rst == 0 reject with tcp reset"),
		firewall("refuse-new", "new connections are refused, open ones live on", NeedFirewall,
			"input", "TO tcp flags & (fin|syn|rst|ack) == syn reject with tcp reset"),
		firewall("drop", "all packets are lost, both ways", NeedFirewall,
			"input", "TO drop", "FROM drop"),
		firewall("drop-in", "packets to the server are lost", NeedFirewall,
			"input", "TO drop"),
		firewall("drop-out", "packets from the server are lost", NeedFirewall,
			"input", "FROM drop"),
		// The servers' packets are told from everybody else's by their user.
		firewall("drop-watcher", "packets from others than the servers are lost: the replicas still see the node", NeedFirewall|NeedOwnUser,
			"output", "TO meta skuid != USER drop"),
	}
}

// firewall makes a fault of nft rules in one hook. TO and FROM stand for a match
// of the node's ports as destination and as source, USER for the servers' user.
func firewall(name, doc string, needs Need, hook string, rules ...string) Fault {
	return Fault{Name: name, Doc: doc, Needs: needs, start: func(_ context.Context, n *Node) (injury, error) {
		ports := fmt.Sprintf("{ %d, %d }", n.port, n.adminPort)
		text := strings.NewReplacer(
			"TO", "ip daddr "+n.host+" tcp dport "+ports,
			"FROM", "ip saddr "+n.host+" tcp sport "+ports,
			"USER", fmt.Sprint(n.cluster.serverUser.uid),
		).Replace(strings.Join(rules, "\n"))
		// Ahead of the machine's own filters, which sit at priority 0.
		return n.cluster.block(fmt.Sprintf("chain %s {\ntype filter hook %s priority -10; policy accept;\n%s\n}", hook, hook, text))
	}}
}

// block loads rules as a new table and removes the table when healed.
func (c *Cluster) block(rules string) (injury, error) {
	c.mu.Lock()
	c.tables++
	table := fmt.Sprintf("failwise_%d_%d_%d", os.Getpid(), c.slot.number, c.tables)
	c.mu.Unlock()
	if err := c.slot.update(func(r *record) { r.Tables = append(r.Tables, table) }); err != nil {
		return injury{}, err
	}
	if err := loadTable(table, rules); err != nil {
		return injury{}, err
	}
	return injury{heal: func(context.Context) error { return deleteTable(table) }}, nil
}
