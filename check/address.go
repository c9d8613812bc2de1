package check

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the port of an address that names none: MySQL's registered one.
const DefaultPort = 3306

// maxSocketPath is the longest path that fits into a sockaddr_un, in bytes
// (108 with the closing zero, unix(7)).
const maxSocketPath = 107

// unixPrefix begins the address of a unix socket.
const unixPrefix = "unix:"

// ErrAddress is wrapped by every error of [ParseAddress].
var ErrAddress = errors.New("not a server address")

// Address is where a server listens: a name or an IP address with a port, or
// the path of a unix socket. It is comparable; the zero value is no address.
type Address struct {
	host string // lower-case name or canonical IP; empty for a unix socket
	port uint16
	path string
}

// ParseAddress reads NAME, NAME:PORT, IPv4, IPv4:PORT, IPv6, [IPv6], [IPv6]:PORT
// or unix:/path. An address without a port gets defaultPort; 0 means
// [DefaultPort]. It is the inverse of [Address.String].
func ParseAddress(s string, defaultPort uint16) (Address, error) {
	if defaultPort == 0 {
		defaultPort = DefaultPort
	}
	fail := func(reason string) (Address, error) {
		return Address{}, fmt.Errorf("%w: %q: %s; write NAME, NAME:PORT, [IPv6]:PORT or unix:/path", ErrAddress, s, reason)
	}
	if len(s) >= len(unixPrefix) && strings.EqualFold(s[:len(unixPrefix)], unixPrefix) {
		path := s[len(unixPrefix):]
		switch {
		case !strings.HasPrefix(path, "/"):
			return fail("the socket's path is not absolute")
		case len(path) > maxSocketPath:
			return fail(fmt.Sprintf("the socket's path is longer than %d bytes", maxSocketPath))
		case strings.ContainsAny(path, "\x00\n\r"):
			return fail("the socket's path holds a control character")
		}
		return Address{path: path}, nil
	}
	if ip, ok := parseIP(s); ok {
		return Address{host: ip.String(), port: defaultPort}, nil
	}
	host, port := s, defaultPort
	bracketed := strings.HasPrefix(s, "[")
	if bracketed && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
	} else if strings.Contains(s, ":") {
		h, p, err := net.SplitHostPort(s)
		if err != nil {
			return fail("host and port cannot be told apart")
		}
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return fail("the port is not a number from 1 to 65535")
		}
		host, port = h, uint16(n)
	}
	if ip, ok := parseIP(host); ok {
		if bracketed && !ip.Is6() {
			return fail("only an IPv6 address stands in brackets")
		}
		return Address{host: ip.String(), port: port}, nil
	}
	if bracketed {
		return fail("what stands in brackets is not an IPv6 address")
	}
	if reason := badName(host); reason != "" {
		return fail(reason)
	}
	return Address{host: strings.ToLower(host), port: port}, nil
}

// parseIP reads an IP address whose zone, if any, can be a network interface.
func parseIP(s string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(s)
	if err != nil || strings.ContainsFunc(ip.Zone(), func(r rune) bool { return !isNameByte(r) && r != '.' }) {
		return netip.Addr{}, false
	}
	return ip, true
}

// isNameByte reports whether a part of a host name may hold r.
func isNameByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// badName returns why s is no host name (RFC 1123, with the underscore that
// many private zones use), or "".
func badName(s string) string {
	name := strings.TrimSuffix(s, ".")
	if name == "" {
		return "the host is missing"
	}
	if strings.EqualFold(name, "unix") {
		return "unix stands for a socket, whose path must follow"
	}
	if len(name) > 253 {
		return "the host name is longer than 253 bytes"
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return "a part of the host name is empty or longer than 63 bytes"
		}
		for _, c := range label {
			if !isNameByte(c) {
				return fmt.Sprintf("%q cannot stand in a host name", c)
			}
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return "a part of the host name begins or ends with a dash"
		}
		last = label
	}
	if strings.Contains(name, ".") && strings.Trim(last, "0123456789") == "" {
		return "it is neither an IPv4 address nor a host name"
	}
	return ""
}

// IsZero reports whether a is no address at all.
func (a Address) IsZero() bool { return a == Address{} }

// IsUnix reports whether a is the path of a unix socket.
func (a Address) IsUnix() bool { return a.path != "" }

// Host is the lower-case name or the IP address without brackets; empty for a
// unix socket.
func (a Address) Host() string { return a.host }

// Port is the TCP port, 1 to 65535; 0 for a unix socket.
func (a Address) Port() uint16 { return a.port }

// Path is the path of the unix socket; empty for TCP.
func (a Address) Path() string { return a.path }

// IP returns the address if a holds a literal one.
func (a Address) IP() (netip.Addr, bool) {
	return parseIP(a.host)
}

// IsLocal reports whether a surely lies on this host: a unix socket, a loopback
// address, or the name localhost. Other names and addresses of this host are
// not recognised here.
func (a Address) IsLocal() bool {
	if a.IsUnix() || a.host == "localhost" || strings.HasSuffix(a.host, ".localhost") {
		return true
	}
	ip, ok := a.IP()
	return ok && ip.Unmap().IsLoopback()
}

// WithPort returns a with another port. A unix socket has none and is returned
// as it is.
func (a Address) WithPort(port uint16) Address {
	if !a.IsUnix() {
		a.port = port
	}
	return a
}

// Network is the network to dial: "tcp" or "unix".
func (a Address) Network() string {
	if a.IsUnix() {
		return "unix"
	}
	return "tcp"
}

// DialString is what a dialer takes beside [Address.Network]: host:port with
// brackets where needed, or the path.
func (a Address) DialString() string {
	if a.IsUnix() {
		return a.path
	}
	return net.JoinHostPort(a.host, strconv.Itoa(int(a.port)))
}

// String is the canonical spelling: host:port, [IPv6]:port or unix:/path; empty
// for the zero value.
func (a Address) String() string {
	switch {
	case a.IsZero():
		return ""
	case a.IsUnix():
		return unixPrefix + a.path
	}
	return a.DialString()
}

// MarshalText makes an address a string in JSON and YAML.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an address; one without a port gets [DefaultPort].
func (a *Address) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = Address{}
		return nil
	}
	parsed, err := ParseAddress(string(text), DefaultPort)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}
