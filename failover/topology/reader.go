package topology

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"failwise/failover/mysql"
)

// Reader keeps one management session per configured node. It is safe for
// concurrent use; readings that overlap share the sessions and wait for each
// other.
type Reader struct {
	limit    time.Duration
	sessions []*mysql.Session
	members  []Member

	mu     sync.Mutex
	purged []mysql.Fact[string] // by member, as of its last deep reading
}

// NewReader makes a reader whose every look at one node may take limit. It
// connects at the first reading.
func NewReader(members []Member, limit time.Duration) *Reader {
	r := &Reader{limit: limit, members: members, purged: make([]mysql.Fact[string], len(members))}
	for _, m := range members {
		m.Server.Name = m.name()
		r.sessions = append(r.sessions, mysql.NewSession(m.Server))
	}
	return r
}

// Session is the management session of a node, nil for an unknown name.
func (r *Reader) Session(name string) *mysql.Session {
	for i, m := range r.members {
		if m.name() == name {
			return r.sessions[i]
		}
	}
	return nil
}

// Members are the configured nodes.
func (r *Reader) Members() []Member { return r.members }

// Close ends the sessions.
func (r *Reader) Close() error {
	errs := make([]error, len(r.sessions))
	for i, s := range r.sessions {
		errs[i] = s.Close()
	}
	return errors.Join(errs...)
}

// Read reads all nodes at once, in configured order. It returns when all have
// answered or their limits are over.
func (r *Reader) Read(ctx context.Context) []Reading { return r.ReadEach(ctx, false, nil) }

// ReadDeep also asks MariaDB's servers which of their binary logs are purged.
// That reads files, so it is for servers thought to be healthy; later calls of
// Read repeat the answer.
func (r *Reader) ReadDeep(ctx context.Context) []Reading { return r.ReadEach(ctx, true, nil) }

// ReadEach is Read or ReadDeep, and gives each reading to each as soon as it is
// there: from several goroutines, while a node that hangs is still waited for.
func (r *Reader) ReadEach(ctx context.Context, deep bool, each func(Reading)) []Reading {
	readings := make([]Reading, len(r.members))
	var all sync.WaitGroup
	for i := range r.members {
		all.Go(func() {
			readings[i] = r.readOne(ctx, i, deep)
			if each != nil {
				each(readings[i])
			}
		})
	}
	all.Wait()
	return readings
}

func (r *Reader) readOne(ctx context.Context, i int, deep bool) Reading {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	m := r.members[i]
	reading := Reading{
		Name: m.name(), Address: m.Server.Address.String(), Site: m.Site, Promote: m.Promote,
		Host: m.Server.Address.Host(), Port: int(m.Server.Address.Port()),
	}
	var ips []netip.Addr
	var resolving sync.WaitGroup
	resolving.Go(func() { ips = lookup(ctx, reading.Host) })
	r.ask(ctx, i, deep, &reading)
	resolving.Wait()
	reading.IPs = ips
	return reading
}

// ask fills in what the server itself says.
func (r *Reader) ask(ctx context.Context, i int, deep bool, reading *Reading) {
	session := r.sessions[i]
	var err error
	if reading.Status, err = session.Status(ctx); err != nil {
		reading.Error = err.Error()
		return
	}
	channels, _ := reading.Status.Channels.Get()
	for _, c := range channels {
		if found := lookup(ctx, c.SourceHost); found != nil {
			if reading.SourceIPs == nil {
				reading.SourceIPs = map[string][]netip.Addr{}
			}
			reading.SourceIPs[c.SourceHost] = found
		}
	}
	if len(channels) == 0 {
		return // not a replica: nothing more decides about it
	}
	if locks, known, err := session.Locks(ctx); err != nil {
		reading.Status.Unknown = append(reading.Status.Unknown, "locks: "+err.Error())
	} else if known {
		reading.Locks = mysql.Known(locks)
	}
	reading.PurgedPosition = r.purgedPosition(ctx, i, deep && reading.Status.Version.Flavour == mysql.MariaDB, &reading.Status)
}

func (r *Reader) purgedPosition(ctx context.Context, i int, ask bool, status *mysql.Status) mysql.Fact[string] {
	var found mysql.Fact[string]
	if ask {
		position, err := r.sessions[i].PurgedPosition(ctx)
		if err != nil {
			status.Unknown = append(status.Unknown, "purged binary logs: "+err.Error())
		} else {
			found = mysql.Known(position)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found.IsKnown() {
		r.purged[i] = found
	}
	return r.purged[i]
}

// lookup resolves a host name; nil for an address, which needs none, unless it
// is one that can be written in several ways.
func lookup(ctx context.Context, host string) []netip.Addr {
	if host == "" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil // the name alone then has to match
	}
	return ips
}
