package watch

import (
	"net"
	"net/netip"

	"failwise/check"
)

// isLocal reports whether an address is on this host: a unix socket, loopback,
// or an address of one of its interfaces. Names are not looked up, but for
// localhost.
func isLocal(a check.Address) bool {
	if a.IsUnix() || a.Host() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(a.Host())
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, o := range own {
		if p, err := netip.ParsePrefix(o.String()); err == nil && p.Addr().Unmap() == ip.Unmap() {
			return true
		}
	}
	return false
}
