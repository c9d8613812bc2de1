package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/rules"
)

// failure is how an attempt ended that did not end well.
type failure struct {
	outcome rules.Outcome
	phase   rules.Phase
	errno   syscall.Errno
	number  uint16 // the server's error
	state   string // its SQLSTATE
	message string
	// again: the failure says little, since the session was lost after a good
	// login or closed cleanly before it; one new connection decides.
	again bool
	// timedOut: the phase's time was over.
	timedOut bool
	// cancelled: the caller gave up.
	cancelled bool
}

var (
	// errWrongAnswer says that a statement returned something else than it must.
	errWrongAnswer = errors.New("the answer is not the expected one")
	// errDriver says that the driver could not cope with what the server sent.
	errDriver = errors.New("the server's answer cannot be read")
)

// guard runs a call into the driver, which panics on some malformed packets.
func guard(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errDriver, v)
		}
	}()
	return call()
}

func cancelled(phase rules.Phase) *failure {
	return &failure{phase: phase, outcome: rules.Undefined, cancelled: true, message: "the probe was cancelled"}
}

// cause is everything that is known about the failure of a session in use.
type cause struct {
	err     error             // what the driver returned
	io      error             // the connection's own first error
	refused *mysql.MySQLError // the server's answer to the login, if the driver hid it
	tlsErr  error             // what the driver logged instead of returning it
	// handshake: TLS had begun and not ended.
	handshake bool
	// doubted: the server may still refuse TLS, which it had begun: the handshake
	// has not ended, or it ended with a certificate of ours (in TLS 1.3 the
	// server judges it afterwards).
	doubted bool
	write   bool // the statement was the insert
	remote  string
}

// classify finds the outcome: a server's number first, whatever the phase, then
// the phase with the operating system's number or a typed error.
func classify(ctx context.Context, rec *record, c cause) *failure {
	phase := rec.stop()
	f := &failure{phase: phase}
	if ctx.Err() == context.Canceled {
		return cancelled(phase)
	}
	if e, ok := errors.AsType[*mysql.MySQLError](c.err); ok {
		return f.byServer(e, c.write)
	}
	if errors.Is(c.err, mysql.ErrPktTooLarge) {
		f.outcome = rules.QueryTooLarge
		f.message = "the statement is larger than the client's packet limit"
		return f
	}
	if err := firstTLS(c.err, c.tlsErr); err != nil {
		f.outcome, f.message = rules.TLSError, "tls: "+oneLine(strings.TrimPrefix(err.Error(), "tls: "))
		if errors.Is(err, mysql.ErrNoTLS) {
			f.message = "tls: required, but the server does not offer it"
		}
		return f
	}
	if errors.Is(c.io, errNotMySQL) {
		c.err, c.io = c.io, nil
	}
	if c.io != nil {
		return f.byIO(ctx, rec, c)
	}
	switch {
	case errors.Is(c.err, context.DeadlineExceeded):
		f.timeout(rec, c)
	case c.handshake:
		f.outcome, f.message = rules.TLSError, "tls: "+oneLine(c.err.Error())
	case c.refused != nil && phase <= rules.PhaseLogin:
		return f.byServer(c.refused, false)
	case clientRefuses(c.err):
		f.outcome = rules.WrongCredentials
		f.message = "the account's authentication plugin is not supported by this client, or needs TLS: " + oneLine(firstClause(c.err.Error()))
	case errors.Is(c.err, errNotMySQL), errors.Is(c.err, errDriver) && phase <= rules.PhaseLogin:
		f.outcome, f.message = rules.UnexpectedException, oneLine(c.err.Error())
	case errors.Is(c.err, errWrongAnswer):
		f.outcome, f.message = rules.QueryResultFailed, c.err.Error()
	case phase >= rules.PhaseExecute:
		f.outcome, f.message = rules.QueryResultFailed, "the answer cannot be read: "+oneLine(c.err.Error())
	default:
		f.outcome, f.message = rules.UnexpectedException, oneLine(c.err.Error())
	}
	return f
}

// byServer classifies by the server's error number.
func (f *failure) byServer(e *mysql.MySQLError, write bool) *failure {
	f.number = e.Number
	if e.SQLState != [5]byte{} {
		f.state = string(e.SQLState[:])
	}
	f.outcome = rules.ByServerError(e.Number, osErrno(e.Message), f.phase, write)
	statement := f.phase > rules.PhaseLogin
	if write && f.outcome == rules.QueryExecTimeout {
		// Login and reads worked; it is the write that took too long.
		f.outcome = rules.WriteTimeout
	}
	// A running statement that is told of the shutdown, or of offline_mode, has
	// lost its session; what follows for new sessions is the next attempt's.
	f.again = statement && (rules.LostSession(e.Number) || e.Number == 1053 || e.Number == 3032)
	f.message = fmt.Sprintf("server error %d", e.Number)
	if f.state != "" {
		f.message += " (" + f.state + ")"
	}
	f.message += ": " + oneLine(e.Message)
	return f
}

// byIO classifies by what happened to the connection.
func (f *failure) byIO(ctx context.Context, rec *record, c cause) *failure {
	f.errno = errnoOf(c.io)
	switch {
	case f.errno != 0:
		var lost bool
		f.outcome, lost = rules.ByOSError(f.errno, f.phase)
		if f.outcome == rules.UnexpectedException {
			f.outcome = rules.SocketNoIO
		}
		// Any end of the connection after a good login says little.
		f.again = lost || f.phase > rules.PhaseLogin
		if c.doubted && f.outcome == rules.SocketIOError {
			// A server that refuses a certificate resets the connection, and the
			// reset often overtakes the alert. One that died refuses the next.
			f.outcome, f.again = rules.TLSError, true
		}
		f.message = fmt.Sprintf("%s: %s (%s)", doing(f.phase, c.remote), f.errno.Error(), errnoName(f.errno))
	case isTimeout(c.io), errors.Is(c.io, net.ErrClosed) && ctx.Err() != nil:
		f.timeout(rec, c)
	case errors.Is(c.io, io.EOF), errors.Is(c.io, io.ErrUnexpectedEOF):
		f.again = true
		f.outcome = rules.MySQLPrematureEOF
		f.message = doing(f.phase, c.remote) + ": the connection was closed"
		if f.phase > rules.PhaseLogin {
			f.outcome = rules.SocketNoIO
		}
	case errors.Is(c.io, mysql.ErrMalformPkt):
		f.outcome = rules.QueryResultFailed
		f.message = "the answer cannot be read: malformed packet"
	default:
		f.outcome = rules.SocketNoIO
		f.message = doing(f.phase, c.remote) + ": " + oneLine(c.io.Error())
	}
	return f
}

// timeout makes f the timeout of its phase.
func (f *failure) timeout(rec *record, c cause) {
	f.timedOut, f.outcome = true, rules.TimeoutOf(f.phase, c.write)
	took := rec.times[f.phase]
	switch f.phase {
	case rules.PhaseGreeting:
		f.message = fmt.Sprintf("%s accepted the connection but sent no greeting within %s", c.remote, round(took))
	case rules.PhaseLogin:
		f.message = fmt.Sprintf("%s did not answer the login within %s", c.remote, round(took))
	case rules.PhaseSend:
		f.message = fmt.Sprintf("the statement could not be sent to %s within %s", c.remote, round(took))
	case rules.PhaseExecute:
		f.message = fmt.Sprintf("no answer to the statement from %s within %s", c.remote, round(took))
	default:
		f.message = fmt.Sprintf("the answer from %s was not complete within %s", c.remote, round(took))
	}
}

// clientRefuses reports whether the driver itself will not log in this way.
func clientRefuses(err error) bool {
	for _, e := range []error{mysql.ErrUnknownPlugin, mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// firstTLS returns the first of the errors that only TLS produces.
func firstTLS(errs ...error) error {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if errors.Is(err, mysql.ErrNoTLS) {
			return err
		}
		// An alert has no exported type of its own here.
		if e, ok := errors.AsType[*net.OpError](err); ok && (e.Op == "remote error" || e.Op == "local error") {
			return err
		}
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
			return err
		}
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return err
		}
		if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
			return err
		}
		if _, ok := errors.AsType[x509.HostnameError](err); ok {
			return err
		}
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return err
		}
	}
	return nil
}

// doing says what was tried in a phase.
func doing(p rules.Phase, remote string) string {
	switch p {
	case rules.PhaseGreeting:
		return "wait for the greeting of " + remote
	case rules.PhaseLogin:
		return "log in to " + remote
	case rules.PhaseSend:
		return "send the statement to " + remote
	case rules.PhaseExecute:
		return "wait for the answer of " + remote
	default:
		return "read the answer of " + remote
	}
}

// round makes a duration short enough to read.
func round(d time.Duration) string {
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// firstClause cuts the advice that the driver adds to its errors.
func firstClause(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	return s
}

// oneLine makes a foreign text fit into a message: one line, no control
// characters, of bounded length.
func oneLine(s string) string {
	const most = 300
	cut := len(s) > most
	if cut {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if cut {
		s += "…"
	}
	return s
}
