package watch

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/check"
)

// tripwire keeps one idle session to a server and calls tripped when the peer
// closes or resets it: the kernel says that a process died long before the next
// probe is due. A session that was killed or idled out trips it too, which costs
// one probe.
type tripwire struct {
	server  check.Server
	tripped func()
	retry   time.Duration
}

// run holds the wire until ctx ends. A server that cannot be reached is tried
// again after retry; that it cannot is the probes' finding, not the wire's.
func (t *tripwire) run(ctx context.Context) {
	for ctx.Err() == nil {
		if t.hold(ctx) {
			t.tripped()
		}
		select {
		case <-ctx.Done():
		case <-time.After(t.retry):
		}
	}
}

// hold logs in and waits for the end of the session. It returns true when a
// session that stood was ended by the peer.
func (t *tripwire) hold(ctx context.Context) bool {
	cfg, err := t.server.DriverConfig()
	if err != nil {
		return false
	}
	var mu sync.Mutex
	var raw net.Conn
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		mu.Lock()
		raw = c
		mu.Unlock()
		return c, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return false
	}
	limit, cancel := context.WithTimeout(ctx, t.retry+5*time.Second)
	defer cancel()
	conn, err := connector.Connect(limit)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	mu.Lock()
	wire := raw
	mu.Unlock()
	if wire == nil {
		return false
	}
	// The driver does not read while a session is idle, so a read of the
	// connection below it sees the end of the session and nothing else.
	stop := context.AfterFunc(ctx, func() { _ = wire.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, _ = wire.Read(make([]byte, 64))
	return ctx.Err() == nil
}
