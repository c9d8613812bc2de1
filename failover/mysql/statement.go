package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// row is one row of an answer: values as text, NULL as unknown.
type row struct {
	columns map[string]int
	values  []Fact[string]
}

// get is a column's value by name; a missing column is unknown, as NULL is.
func (r row) get(column string) Fact[string] {
	i, ok := r.columns[column]
	if !ok {
		return Fact[string]{}
	}
	return r.values[i]
}

func (r row) text(column string) string { return r.get(column).Or("") }

func (r row) number(column string) Fact[uint64] {
	n, err := strconv.ParseUint(r.text(column), 10, 64)
	if err != nil {
		return Fact[uint64]{}
	}
	return Known(n)
}

// duration is a column in seconds, fractions allowed; NULL and nonsense are unknown.
func (r row) duration(column string) Fact[time.Duration] {
	f, err := strconv.ParseFloat(r.text(column), 64)
	if err != nil {
		return Fact[time.Duration]{}
	}
	return Known(time.Duration(f * float64(time.Second)))
}

// query runs any statement on the connection and reads the whole answer.
func (c *connection) query(ctx context.Context, sql string) ([]row, error) {
	queryer, ok := c.raw.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver cannot run plain statements")
	}
	answer, err := queryer.QueryContext(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	names := answer.Columns()
	columns := make(map[string]int, len(names))
	for i, n := range names {
		columns[n] = i
	}
	var rows []row
	raw := make([]driver.Value, len(names))
	for {
		switch err := answer.Next(raw); {
		case err == io.EOF: //nolint:errorlint // driver.Rows demands io.EOF itself
			return rows, answer.Close()
		case err != nil:
			_ = answer.Close()
			return nil, err
		}
		r := row{columns: columns, values: make([]Fact[string], len(raw))}
		for i, v := range raw {
			r.values[i] = asText(v)
		}
		rows = append(rows, r)
	}
}

func asText(v driver.Value) Fact[string] {
	switch v := v.(type) {
	case nil:
		return Fact[string]{}
	case []byte:
		return Known(string(v))
	case string:
		return Known(v)
	default:
		return Known(fmt.Sprint(v))
	}
}

// run sends one statement and waits for its answer within ctx. When ctx ends
// first the statement stays pending and the error is [ErrPending]. secret is a
// password inside the statement, or empty.
func (s *Session) run(ctx context.Context, op, sql, secret string) ([]row, error) {
	return s.runWith(ctx, op, secret, func(*connection) (string, error) { return sql, nil })
}

// runWith is run for a statement whose spelling depends on the server.
func (s *Session) runWith(ctx context.Context, op, secret string, spell func(*connection) (string, error)) ([]row, error) {
	release, err := s.take(ctx, op)
	if err != nil {
		return nil, err
	}
	defer release()
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	sql, err := spell(c)
	if err != nil {
		return nil, s.fail(op, err, secret)
	}
	p, err := s.send(c, op, sql)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, s.fail(op, ErrPending, "")
	}
	s.settle(p)
	if p.err != nil {
		return nil, s.fail(op, p.err, secret)
	}
	return p.rows, nil
}

// send starts a statement on its own goroutine, which ends with the answer or
// with the connection.
func (s *Session) send(c *connection, op, sql string) (*statement, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &statement{op: op, sent: time.Now(), reads: reads(sql), cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		cancel()
		return nil, s.fail(op, ErrClosed, "")
	}
	s.pending = p
	s.mu.Unlock()
	c.used = p.sent
	go func() {
		defer close(p.done)
		defer cancel()
		p.rows, p.err = c.query(ctx, sql)
	}()
	return p, nil
}

// reads tells whether a statement of ours only reads.
func reads(sql string) bool {
	verb, _, _ := strings.Cut(sql, " ")
	return verb == "SELECT" || verb == "SHOW"
}

// Pending names the statement that the session still waits for, and since when.
func (s *Session) Pending() (op string, since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		return "", time.Time{}, false
	}
	select {
	case <-s.pending.done:
		return "", time.Time{}, false
	default:
		return s.pending.op, s.pending.sent, true
	}
}

// Settle waits within ctx for the pending statement, if there is one, and gives
// its own result; [ErrPending] when it still runs.
func (s *Session) Settle(ctx context.Context) error {
	s.mu.Lock()
	p := s.pending
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return s.fail(p.op, ErrPending, "")
	}
	s.settle(p)
	if p.err != nil {
		return s.fail(p.op, p.err, "")
	}
	return nil
}

// Cancel ends the pending statement with KILL QUERY from a second connection,
// and waits within ctx for its answer. It gives the statement's own result: nil
// when it finished first, error 1317 when it was interrupted, [ErrPending] when
// the server does not let go of it (a stop of an SQL thread cannot be ended
// this way). Without a pending statement it does nothing.
//
// Never cancel a write that waits for a semi-sync acknowledgement: MariaDB
// answers such a KILL QUERY with success although no replica has the row.
func (s *Session) Cancel(ctx context.Context) error {
	if _, _, pending := s.Pending(); pending {
		if id := s.ConnectionID(); id != 0 {
			killer := s.Sibling()
			_, err := killer.run(ctx, "end our pending statement", "KILL QUERY "+strconv.FormatUint(id, 10), "")
			closeErr := killer.Close()
			const noSuchThread = 1094 // it has just ended
			if err = errors.Join(err, closeErr); err != nil && Number(err) != noSuchThread {
				return err
			}
		}
	}
	return s.Settle(ctx)
}
