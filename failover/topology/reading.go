package topology

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"failwise/failover/mysql"
)

// Reading is what one look at one configured node gave.
type Reading struct {
	Name    string     `json:"name"`
	Address string     `json:"address"`
	Host    string     `json:"host,omitempty"`
	Port    int        `json:"port,omitempty"`
	Site    string     `json:"site,omitempty"`
	Promote Preference `json:"promote"`
	// Error says why the node could not be read; Status is then empty.
	Error  string       `json:"error,omitempty"`
	Status mysql.Status `json:"status,omitzero"`
	// Locks are those that would make a promoted node hang; unknown where the
	// server cannot tell.
	Locks mysql.Fact[[]mysql.Lock] `json:"locks"`
	// PurgedPosition is what the oldest binary log of a MariaDB server no longer
	// holds, as of the last deep reading.
	PurgedPosition mysql.Fact[string] `json:"purged_position"`
	// IPs are the addresses of the node's host, and of its channels' source hosts
	// by name.
	IPs       []netip.Addr            `json:"ips,omitempty"`
	SourceIPs map[string][]netip.Addr `json:"source_ips,omitempty"`
}

// Readable tells whether the node was read.
func (r Reading) Readable() bool { return r.Error == "" }

// channels are the node's replication channels, and whether they are known.
func (r Reading) channels() ([]mysql.Channel, bool) {
	if !r.Readable() {
		return nil, false
	}
	return r.Status.Channels.Get()
}

// hasAddress tells whether host:port is how this node is configured or calls itself.
func (r Reading) hasAddress(host string, port int) bool {
	if strings.EqualFold(host, r.Host) && port == r.Port {
		return true
	}
	s := r.Status
	return r.Readable() && (s.ReportHost != "" && strings.EqualFold(host, s.ReportHost) && port == s.ReportPort ||
		s.Hostname != "" && strings.EqualFold(host, s.Hostname) && port == s.Port)
}

// hasIP tells whether one of the addresses is this node's.
func (r Reading) hasIP(ips []netip.Addr, port int) bool {
	if port != r.Port {
		return false
	}
	for _, want := range ips {
		for _, have := range r.IPs {
			if want.Unmap() == have.Unmap() {
				return true
			}
		}
	}
	return false
}

// isSource tells whether this node has the identity that a channel's source
// showed when the channel was last connected.
func (r Reading) isSource(c mysql.Channel) bool {
	if !r.Readable() {
		return false
	}
	if r.Status.ServerUUID != "" {
		return c.SourceUUID == r.Status.ServerUUID
	}
	return c.SourceServerID != 0 && c.SourceServerID == r.Status.ServerID
}

// sourceAddress is a channel's source as configured on the replica.
func sourceAddress(c mysql.Channel) string {
	return net.JoinHostPort(c.SourceHost, strconv.Itoa(c.SourcePort))
}
