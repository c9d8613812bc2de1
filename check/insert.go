package check

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/rules"
)

// mostReserve is the longest part of the budget that is kept back for asking
// the server, in a second session, what a hung insert waits for.
const mostReserve = 500 * time.Millisecond

// hung is an insert that did not return in time. It is neither cancelled nor
// sent again: an abandoned statement still executes later, and each new one
// would add a waiting thread.
type hung struct {
	session *session
	done    chan returned
	since   time.Time
}

// returned is what a statement returned.
type returned struct{ err error }

// attemptInsert reads the node's role and writes the heartbeat where writing is
// right.
func (p *Prober) attemptInsert(ctx context.Context, rec *record) *failure {
	if f, waits := p.stillHung(ctx, rec); waits {
		return f
	}
	s, f := p.insertSession(ctx, rec)
	if f != nil {
		return f
	}
	role, reason, f := p.readRole(ctx, rec, s)
	if f != nil {
		p.dropHeld()
		return f
	}
	rec.role = role
	switch {
	case p.opts.Replica != nil && p.opts.Replica():
		reason = "the node is known as a replica"
	case role != nil && role.Replica:
		reason = "the node replicates from " + role.Source
	}
	if reason != "" {
		rec.note = "nothing written: " + reason
		rec.say(rec.note)
		rec.ran = Select
		if f := p.read(ctx, rec, s); f != nil {
			p.dropHeld()
			return f
		}
		rec.stop()
		s.conn.detach()
		return nil
	}
	if role.ReadOnly {
		// It is not tried: a user with the right to write through read_only
		// would add a row to a node that has been fenced.
		phase := rec.stop()
		s.conn.detach()
		return &failure{
			phase: phase, outcome: rules.ReadOnly,
			message: "read_only is on and the node is no replica: nothing was written",
		}
	}
	return p.write(ctx, rec, s)
}

// insertSession is the held session, or a new one whose lock waits end with the
// budget, so that an insert that this side gave up ends too.
func (p *Prober) insertSession(ctx context.Context, rec *record) (*session, *failure) {
	known := p.held != nil
	s, f := p.session(ctx, rec)
	if f != nil || known {
		return s, f
	}
	limit := strconv.Itoa(roundUp(p.opts.Limits.total()))
	_, err := s.query(ctx, rec, "SET SESSION autocommit=1, lock_wait_timeout="+limit+", innodb_lock_wait_timeout="+limit)
	if err != nil {
		f := s.fail(ctx, rec, err, cause{})
		p.dropHeld()
		return nil, f
	}
	return s, nil
}

// readRole asks the server whether it takes writes and whom it follows. reason
// is why the role stays unknown, and then nothing may be written.
func (p *Prober) readRole(ctx context.Context, rec *record, s *session) (role *Role, reason string, f *failure) {
	a, err := s.query(ctx, rec, readOnlyStatement(s.greeting))
	if err != nil {
		return nil, "", s.fail(ctx, rec, err, cause{})
	}
	role = &Role{}
	for _, row := range a.rows {
		for _, value := range row {
			role.ReadOnly = role.ReadOnly || ParseReadOnly(value)
		}
	}
	a, err = s.query(ctx, rec, replicaStatement(s.greeting))
	if err != nil {
		f := s.fail(ctx, rec, err, cause{})
		if f.number == 1227 {
			grant := "REPLICATION CLIENT"
			if s.greeting.flavour == MariaDB {
				grant = "SLAVE MONITOR"
			}
			return nil, "the replication role cannot be read (error 1227): grant " + grant + " to " + p.server.User, nil
		}
		return nil, "", f
	}
	role.readSource(&a)
	if role.Replica {
		rec.sayf("role: replica of %s, read_only %v", role.Source, role.ReadOnly)
	} else {
		rec.sayf("role: no replica, read_only %v", role.ReadOnly)
	}
	return role, "", nil
}

// write sends the upsert and waits for it, but no longer than the budget less
// the reserve.
func (p *Prober) write(ctx context.Context, rec *record, s *session) *failure {
	total := p.opts.Limits.total()
	wait := time.Until(rec.budget.end) - min(total/10, mostReserve)
	if limit := p.opts.Limits.Execute; limit > 0 {
		wait = min(wait, limit)
	}
	statement := HeartbeatUpsert(p.opts.Watcher)
	rec.say("send " + statement)
	_ = s.conn.SetDeadline(time.Time{})
	s.conn.attach(rec, true, true)
	h := &hung{session: s, done: make(chan returned, 1), since: time.Now()}
	go func() {
		h.done <- returned{guard(func() error {
			// No context: its end would close the session under the statement.
			_, err := s.sql.ExecContext(context.Background(), statement, nil)
			return err
		})}
	}()
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case ret := <-h.done:
		if ret.err == nil {
			rec.stop()
			rec.say("written")
			s.conn.detach()
			return nil
		}
		f := s.fail(ctx, rec, ret.err, cause{write: true})
		p.explainWrite(rec, f)
		if f.number == 0 || f.again {
			p.dropHeld()
		} else {
			s.conn.detach()
		}
		return f
	case <-timer.C:
	case <-ctx.Done():
	}
	phase := rec.stop()
	s.conn.detach()
	p.held, p.hung = nil, h
	if ctx.Err() == context.Canceled {
		return cancelled(phase)
	}
	f := &failure{phase: phase, outcome: rules.WriteTimeout, timedOut: true}
	_ = p.askState(ctx, rec, h)
	f.message = p.hungMessage(rec, h)
	rec.say(f.message)
	return f
}

// explainWrite adds the next step to errors of the write that come from setting
// the probe up.
func (p *Prober) explainWrite(rec *record, f *failure) {
	switch f.number {
	case 1044, 1142, 1143:
		rec.note = "grant SELECT, INSERT, UPDATE on " + HeartbeatTable + " to " + p.server.User
	case 1049, 1146:
		rec.note = "the heartbeat table is missing: run what failwise doctor prints"
	}
}

// stillHung looks after an insert of an earlier probe. While it has not
// returned, no other is sent; a second session says what it waits for, and if
// that session finds the server itself gone, this is the outcome.
func (p *Prober) stillHung(ctx context.Context, rec *record) (f *failure, waits bool) {
	h := p.hung
	if h == nil {
		return nil, false
	}
	select {
	case ret := <-h.done:
		p.hung = nil
		rec.sayf("the insert of an earlier probe returned after %s", round(time.Since(h.since)))
		if !usable(ret.err) {
			h.session.drop()
			return nil, false
		}
		p.held = h.session
		return nil, false
	default:
	}
	rec.greeting, rec.remote, rec.tls = h.session.greeting, h.session.remote, h.session.tls
	if f := p.askState(ctx, rec, h); f != nil {
		if f.cancelled || !f.outcome.Alive() {
			return f, true
		}
		rec.note = "what the write waits for is not known: " + f.message
	}
	f = &failure{phase: rules.PhaseExecute, outcome: rules.WriteTimeout, timedOut: true}
	f.message = p.hungMessage(rec, h)
	rec.say(f.message)
	return f, true
}

// usable reports whether a session can go on after a statement of it returned.
func usable(err error) bool {
	if err == nil {
		return true
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && !rules.LostSession(e.Number)
}

func (p *Prober) hungMessage(rec *record, h *hung) string {
	m := fmt.Sprintf("login and reads work, but the write has not returned for %s", round(time.Since(h.since)))
	if rec.state != "" {
		m += `: "` + rec.state + `"`
	}
	return m
}

// askState looks a hung session up in the process list, in a short session of
// its own. A user sees his own sessions without any grant.
func (p *Prober) askState(ctx context.Context, rec *record, h *hung) *failure {
	rec.say("ask a second session what the write waits for")
	side := newRecord(time.Now(), budget{limits: p.opts.Limits, end: rec.budget.end})
	defer func() {
		for _, e := range side.trace {
			rec.trace = append(rec.trace, Event{At: e.At + side.start.Sub(rec.start), Text: "second session: " + e.Text})
		}
	}()
	s, f := p.open(ctx, side)
	if f != nil {
		return f
	}
	a, err := s.query(ctx, side, "SHOW PROCESSLIST")
	if err != nil {
		f := s.fail(ctx, side, err, cause{})
		s.drop()
		return f
	}
	s.quit()
	id := strconv.FormatUint(uint64(h.session.greeting.id), 10)
	for _, row := range a.rows {
		if a.get(row, "Id") == id {
			rec.state = oneLine(a.get(row, "State"))
		}
	}
	return nil
}
