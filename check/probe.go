package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/rules"
)

// A pending connection is waited on for this long before a fresh one is tried
// in its place, doubling each time up to the second: one reverse look-up that
// hangs must not hide that the server answers others, and a frozen server must
// not see so many abandoned handshakes that it blocks this host (error 1129 at
// max_connect_errors, 100 by default).
const (
	firstRefresh = 30 * time.Second
	lastRefresh  = 8 * time.Minute
)

// proberState is what lives between probes.
type proberState struct {
	config *mysql.Config

	held    *session
	pending *pending
	hung    *hung
	// answered: this address has once accepted a connection.
	answered bool
}

// pending is the one connection that still waits for its greeting.
type pending struct {
	*greeter
	since time.Time
	// refresh is how long it may still be waited on.
	refresh time.Duration
}

func newProber(s Server, t Type, o Options) (*Prober, error) {
	if t < Connect || t > Insert {
		return nil, fmt.Errorf("%w: %s is no probe type", ErrProber, t)
	}
	config, err := s.driverConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProber, err)
	}
	if o.Resolver == nil {
		o.Resolver = newSystemResolver()
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	}
	return &Prober{typ: t, server: s, opts: o, proberState: proberState{config: config}}, nil
}

// probe makes one attempt, and one more where the first says little.
func (p *Prober) probe(ctx context.Context) Result {
	start := time.Now()
	b := budget{limits: p.opts.Limits, end: start.Add(p.opts.Limits.total())}
	if d, ok := ctx.Deadline(); ok && d.Before(b.end) {
		b.end = d
	}
	rec := newRecord(start, b)
	rec.ran = p.typ
	f := p.attempt(ctx, rec)
	var first *failure
	if f != nil && f.again && time.Now().Before(b.end) {
		first = f
		rec.say("one new connection")
		f = p.attempt(ctx, rec)
	}
	return p.result(rec, first, f)
}

// attempt runs the probe's type once.
func (p *Prober) attempt(ctx context.Context, rec *record) *failure {
	switch p.typ {
	case Select:
		return p.attemptSelect(ctx, rec)
	case Insert:
		return p.attemptInsert(ctx, rec)
	default:
		return p.attemptConnect(ctx, rec)
	}
}

func (p *Prober) attemptConnect(ctx context.Context, rec *record) *failure {
	s, f := p.open(ctx, rec)
	if f != nil {
		return f
	}
	if f := p.read(ctx, rec, s); f != nil {
		s.drop()
		return f
	}
	rec.stop()
	s.quit()
	return nil
}

func (p *Prober) attemptSelect(ctx context.Context, rec *record) *failure {
	s, f := p.session(ctx, rec)
	if f != nil {
		return f
	}
	if f := p.read(ctx, rec, s); f != nil {
		p.dropHeld()
		return f
	}
	rec.stop()
	s.conn.detach()
	return nil
}

// session is the held session, or a new one to hold.
func (p *Prober) session(ctx context.Context, rec *record) (*session, *failure) {
	if p.held != nil {
		s := p.held
		rec.greeting, rec.remote, rec.tls = s.greeting, s.remote, s.tls
		rec.say("use the held session")
		return s, nil
	}
	s, f := p.open(ctx, rec)
	p.held = s
	return s, f
}

func (p *Prober) dropHeld() {
	if p.held != nil {
		p.held.drop()
		p.held = nil
	}
}

// open logs in anew, on the pending connection if there is one.
func (p *Prober) open(ctx context.Context, rec *record) (*session, *failure) {
	for {
		g, fresh, f := p.connection(ctx, rec)
		if f != nil {
			return nil, f
		}
		s, f := p.enterServer(ctx, rec, g)
		if f == nil || fresh || f.timedOut || f.cancelled {
			return s, f
		}
		// The connection ended, or was refused, in the name of an earlier
		// probe: what the server does to a new one is what counts.
		rec.say("the pending connection is gone: a new one")
		rec.pending = false
	}
}

// connection is the pending connection, unless it has been waited on for too
// long, or a fresh one.
func (p *Prober) connection(ctx context.Context, rec *record) (g *pending, fresh bool, f *failure) {
	refresh := firstRefresh
	if old := p.pending; old != nil {
		p.pending = nil
		if time.Since(old.since) < old.refresh {
			rec.pending, rec.remote = true, old.remote
			rec.say("wait on the pending connection to " + old.remote)
			return old, false, nil
		}
		rec.say("give up the pending connection")
		_ = old.Close()
		refresh = min(2*old.refresh, lastRefresh)
	}
	c, remote, f := p.dial(ctx, rec)
	if f != nil {
		return nil, true, f
	}
	rec.remote = remote
	g = &pending{greeter: &greeter{Conn: c, remote: remote}, since: time.Now(), refresh: refresh}
	return g, true, nil
}

// enterServer waits for the greeting and logs in. A connection without a
// greeting stays pending for the next probe.
func (p *Prober) enterServer(ctx context.Context, rec *record, g *pending) (*session, *failure) {
	until := rec.enter(rules.PhaseGreeting)
	_ = g.SetDeadline(until)
	stop := context.AfterFunc(ctx, func() { _ = g.SetDeadline(time.Unix(1, 0)) })
	greet, err := g.read()
	stop()
	if err == nil && time.Now().After(until) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		rec.greeting = greet
		rec.sayf("greeting: %s, session %d", greet.version, greet.id)
		return p.login(ctx, rec, g.greeter, greet)
	}
	c := cause{err: err, remote: g.remote}
	if !errors.Is(err, errNotMySQL) {
		c.io = err
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		c.err, c.io = e, nil
	}
	f := classify(ctx, rec, c)
	rec.say(f.message)
	if f.timedOut || f.cancelled {
		p.pending = g
	} else {
		_ = g.Close()
	}
	return nil, f
}

// read sends the probe's statement and judges its answer.
func (p *Prober) read(ctx context.Context, rec *record, s *session) *failure {
	statement := p.readStatement(s.greeting)
	if f := s.fits(ctx, rec, statement); f != nil {
		return f
	}
	a, err := s.query(ctx, rec, statement)
	if err == nil && p.query() == defaultQuery && (a.count != 1 || len(a.rows[0]) != 1 || a.rows[0][0] != "1") {
		err = fmt.Errorf("%w: %s must give one row with 1", errWrongAnswer, defaultQuery)
	}
	if err != nil {
		return s.fail(ctx, rec, err, cause{})
	}
	rec.sayf("answer complete, rows: %d", a.count)
	return nil
}

// close ends everything that lives between probes.
func (p *Prober) close() error {
	if p.held != nil {
		p.held.quit()
		p.held = nil
	}
	if p.pending != nil {
		_ = p.pending.Close()
		p.pending = nil
	}
	if p.hung != nil {
		// The connection first: the statement's own goroutine is in the driver.
		_ = p.hung.session.conn.Close()
		<-p.hung.done
		p.hung.session.drop()
		p.hung = nil
	}
	return nil
}

// result puts the record and the failure, if any, together.
func (p *Prober) result(rec *record, first, f *failure) Result {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	r := Result{
		Node: p.server.Label(), Address: p.server.Address, Type: p.typ, Ran: rec.ran,
		Outcome: rules.OK, Phase: rec.phase, Start: rec.start, Elapsed: time.Since(rec.start), Times: rec.times,
		ServerVersion: rec.greeting.version, Flavour: rec.greeting.flavour, Remote: rec.remote,
		Attempts: rec.attempts, TLS: rec.tls, Pending: rec.pending, Role: rec.role,
		SessionState: rec.state, Note: rec.note, Trace: rec.trace,
	}
	r.Times[rules.PhaseNone] = 0
	if first != nil {
		r.Retry = &Failure{
			Outcome: first.outcome, Phase: first.phase, Errno: first.errno, ServerErrno: first.number, Message: first.message,
		}
	}
	if f != nil {
		r.Outcome, r.Phase, r.Errno = f.outcome, f.phase, f.errno
		r.ServerErrno, r.SQLState, r.Message = f.number, f.state, f.message
		return r
	}
	what := p.query()
	switch {
	case rec.ran == Insert:
		what = "the write"
	case what != defaultQuery:
		what = "the query"
	}
	how := "connect, login and "
	if r.Times[rules.PhaseLogin] == 0 {
		how = ""
	}
	r.Message = how + what + " in " + round(r.Elapsed)
	return r
}
