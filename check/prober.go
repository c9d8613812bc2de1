package check

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Options tune a [Prober]. The zero value is a probe with the default budget
// and SELECT 1.
type Options struct {
	Limits Limits
	// Query replaces SELECT 1 in connect and select probes; any answer without
	// an error is right. Empty is SELECT 1, whose answer must be one row with 1.
	Query string
	// Watcher is the row of the heartbeat table that an insert probe writes: a
	// number that no other watcher uses.
	Watcher uint64
	// Replica says that the caller knows the node as a replica: an insert probe
	// then reads, whatever the server says of itself.
	Replica func() bool
	// Resolver looks names up; nil is the system's.
	Resolver Resolver
	// Dial opens one connection to an IP address and port or to a socket's path;
	// nil is the system's. Tests replace it.
	Dial DialFunc
}

// Resolver looks up the addresses of a name. [*net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc opens one connection, as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// ErrProber is wrapped by the errors of [NewProber].
var ErrProber = errors.New("probe cannot be set up")

// Prober probes one node in one way and keeps what must live between probes: a
// held session (select, insert), the one connection that still waits for its
// greeting, and the one insert that did not return. At most one probe runs at a
// time; a second call waits for the first.
type Prober struct {
	typ    Type
	server Server
	opts   Options

	mu sync.Mutex
	proberState
}

// NewProber returns a prober of a type for a server. It reads the TLS files
// once and opens no connection.
func NewProber(s Server, t Type, o Options) (*Prober, error) {
	return newProber(s, t, o)
}

// Type is the type of the prober's probes.
func (p *Prober) Type() Type { return p.typ }

// Server is the server that the prober looks at.
func (p *Prober) Server() Server { return p.server }

// Probe makes one probe and returns its result. It returns when the budget is
// over at the latest, whatever hangs; a deadline of ctx that comes first is the
// budget's end. If ctx is cancelled the outcome is undefined: no probe has
// ended.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.probe(ctx)
}

// Close ends the held session with COM_QUIT and drops a pending connection. An
// insert that did not return is abandoned: the server may still execute it.
func (p *Prober) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.close()
}
