package topology

import (
	"net/netip"

	"failwise/failover/mysql"
)

// sourceOf finds the configured node that a channel follows: by identity while
// the channel is connected, else by its address, by the address its host name
// resolves to, and at last by the identity of the last connection. It is -1 for
// a source that is not configured.
func sourceOf(readings []Reading, follower Reading, c mysql.Channel, memory Memory) int {
	connected := c.IO == mysql.ThreadYes || c.IO == mysql.ThreadPreparing
	matchers := []func(Reading) bool{
		func(r Reading) bool { return connected && r.isSource(c) },
		func(r Reading) bool { return r.hasAddress(c.SourceHost, c.SourcePort) },
		func(r Reading) bool { return r.hasIP(sourceIPs(follower, c), c.SourcePort) },
		func(r Reading) bool { return r.isSource(c) },
		func(r Reading) bool { return !r.Readable() && memory.isSource(r.Name, c) },
	}
	for _, matches := range matchers {
		found := -1
		for i, r := range readings {
			if r.Name == follower.Name || !matches(r) {
				continue
			}
			if found >= 0 {
				found = -1 // two nodes with one identity: no proof
				break
			}
			found = i
		}
		if found >= 0 {
			return found
		}
	}
	return -1
}

func sourceIPs(follower Reading, c mysql.Channel) []netip.Addr {
	if ip, err := netip.ParseAddr(c.SourceHost); err == nil {
		return []netip.Addr{ip}
	}
	return follower.SourceIPs[c.SourceHost]
}
