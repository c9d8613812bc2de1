package check

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"failwise/rules"
)

// dial resolves the node's name and tries its addresses in turn. All share the
// connect phase's time in equal parts of what is left, so that one that drops
// everything does not starve the next.
func (p *Prober) dial(ctx context.Context, rec *record) (net.Conn, string, *failure) {
	targets, f := p.targets(ctx, rec)
	if f != nil {
		rec.stop()
		rec.say(f.message)
		return nil, "", f
	}
	end := rec.enter(rules.PhaseConnect)
	var worst *failure
	for i, target := range targets {
		began := time.Now()
		left := end.Sub(began)
		limit := began.Add(left / time.Duration(len(targets)-i))
		rec.say("connect to " + target)
		dctx, cancel := context.WithDeadline(ctx, limit)
		c, err := p.opts.Dial(dctx, p.server.Address.Network(), target)
		cancel()
		if err == nil && time.Now().After(end) {
			_ = c.Close()
			err = context.DeadlineExceeded
		}
		attempt := Attempt{Remote: target, Outcome: rules.OK, Elapsed: time.Since(began)}
		if err == nil {
			p.answered = true
			rec.attempts = append(rec.attempts, attempt)
			return c, target, nil
		}
		f := p.connectFailure(ctx, target, err, attempt.Elapsed)
		attempt.Outcome, attempt.Errno = f.outcome, f.errno
		rec.attempts = append(rec.attempts, attempt)
		rec.say(f.message)
		if worst == nil || telling(f.outcome) > telling(worst.outcome) {
			worst = f
		}
		if f.cancelled {
			worst = f
			break
		}
	}
	rec.stop()
	return nil, "", worst
}

// telling orders the failures of a name's several addresses: refused says more
// than a timeout, a timeout more than a missing route.
func telling(o rules.Outcome) int {
	switch o {
	case rules.SocketIOError:
		return 3
	case rules.SocketConnectTimeout:
		return 2
	case rules.NoRouteToHost:
		return 1
	default:
		return 0
	}
}

// connectFailure classifies a failed attempt to connect.
func (p *Prober) connectFailure(ctx context.Context, target string, err error, took time.Duration) *failure {
	f := &failure{phase: rules.PhaseConnect, errno: errnoOf(err)}
	switch {
	case ctx.Err() == context.Canceled:
		return cancelled(rules.PhaseConnect)
	case f.errno != 0 && p.server.Address.IsUnix():
		f.outcome = rules.ByUnixSocketError(f.errno, p.answered)
	case f.errno != 0:
		f.outcome, _ = rules.ByOSError(f.errno, rules.PhaseConnect)
	case isTimeout(err):
		f.outcome = rules.SocketConnectTimeout
		f.message = "no connection to " + target + " within " + round(took)
		return f
	default:
		f.outcome = rules.UnexpectedException
		f.message = "connect to " + target + ": " + oneLine(err.Error())
		return f
	}
	f.message = "connect to " + target + ": " + f.errno.Error() + " (" + errnoName(f.errno) + ")"
	return f
}

// targets are the addresses to dial, in the resolver's order, each once.
func (p *Prober) targets(ctx context.Context, rec *record) ([]string, *failure) {
	a := p.server.Address
	if _, literal := a.IP(); a.IsUnix() || literal {
		return []string{a.DialString()}, nil
	}
	end := rec.enter(rules.PhaseResolve)
	rec.say("resolve " + a.Host())
	if errno := noFreeFile(); errno != 0 {
		return nil, resolveFailure(ctx, a.Host(), nil, errno, 0)
	}
	dctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var seen dialErrors
	began := time.Now()
	ips, err := p.opts.Resolver.LookupNetIP(context.WithValue(dctx, dialErrorsKey{}, &seen), "ip", a.Host())
	if err == nil && time.Now().After(end) {
		err = context.DeadlineExceeded
	}
	if err != nil || len(ips) == 0 {
		return nil, resolveFailure(ctx, a.Host(), err, seen.errno(), time.Since(began))
	}
	var targets []string
	for _, ip := range ips {
		target := net.JoinHostPort(ip.Unmap().String(), strconv.Itoa(int(a.Port())))
		if !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	return targets, nil
}

// resolveFailure classifies a failed look-up. errno is why the name server could
// not be asked: without a free file the name's fate is unknown.
func resolveFailure(ctx context.Context, host string, err error, errno syscall.Errno, took time.Duration) *failure {
	f := &failure{phase: rules.PhaseResolve, outcome: rules.UnknownHost}
	switch {
	case ctx.Err() == context.Canceled:
		return cancelled(rules.PhaseResolve)
	case errno != 0:
		if o, _ := rules.ByOSError(errno, rules.PhaseResolve); o == rules.OpenFileLimitError {
			f.outcome, f.errno = o, errno
			f.message = "resolve " + host + ": " + errno.Error() + " (" + errnoName(errno) + ")"
			return f
		}
	}
	switch {
	case err != nil && isTimeout(err):
		f.message = "no answer about the name " + host + " within " + round(took)
	default:
		f.message = "the name " + host + " does not resolve"
	}
	return f
}

// noFreeFile returns why no file can be opened; 0 if one can. Without a free
// file some resolvers wait for the answer to a question they never asked.
func noFreeFile() syscall.Errno {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return errnoOf(err)
	}
	_ = f.Close()
	return 0
}

// dialErrors collects the errors of the resolver's own connections: its error
// keeps only their text.
type dialErrors struct {
	mu    sync.Mutex
	first syscall.Errno
}

type dialErrorsKey struct{}

func (d *dialErrors) errno() syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.first
}

// systemResolver is the system's resolver, which also tells why it could not ask.
type systemResolver struct{ net.Resolver }

// LookupNetIP implements [Resolver].
func (r *systemResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r.Resolver.LookupNetIP(ctx, network, host)
}

func newSystemResolver() *systemResolver {
	r := &systemResolver{}
	r.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if seen, ok := ctx.Value(dialErrorsKey{}).(*dialErrors); ok && err != nil {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if seen.first == 0 {
				seen.first = errnoOf(err)
			}
		}
		return c, err
	}
	return r
}
