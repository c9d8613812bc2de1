package check

import (
	"context"
	"strconv"
	"strings"
	"time"

	"failwise/rules"
)

// defaultQuery is the probe's statement, in the words that a user reads.
const defaultQuery = "SELECT 1"

// query is the statement of the probe as the user knows it.
func (p *Prober) query() string {
	if p.opts.Query != "" {
		return p.opts.Query
	}
	return defaultQuery
}

// readStatement is the statement as it is sent: with a time limit in itself, so
// that the server gives up what this side no longer waits for, without a second
// statement. The limit lies a second beyond the budget and is the same each
// time, so that statement digests stay few.
//
// MySQL: optimizer hint MAX_EXECUTION_TIME, milliseconds (manual 10.9.3, since
// 5.7.8). MariaDB: SET STATEMENT max_statement_time, seconds (since 10.1).
func (p *Prober) readStatement(g greeting) string {
	query := p.query()
	rest, ok := cutWord(query, "SELECT")
	if !ok || strings.Contains(query, "/*+") {
		return query
	}
	limit := roundUp(p.opts.Limits.total()) + 1
	switch {
	case g.flavour == MariaDB:
		return "SET STATEMENT max_statement_time=" + strconv.Itoa(limit) + " FOR " + query
	case g.flavour == MySQL && versionAtLeast(g.version, 5, 7, 8):
		return "SELECT /*+ MAX_EXECUTION_TIME(" + strconv.Itoa(limit*1000) + ") */" + rest
	}
	return query
}

// mayNotFit is the length, in bytes, from which on a statement is compared with
// the server's packet limit before it is sent.
const mayNotFit = 64 << 10

// fits reports a statement that is larger than the server's packet limit. The
// server answers such a one with error 1153, but ends the connection without
// reading it to the end, so that the answer is often lost.
func (s *session) fits(ctx context.Context, rec *record, statement string) *failure {
	if len(statement) < mayNotFit {
		return nil
	}
	a, err := s.query(ctx, rec, "SELECT @@max_allowed_packet")
	if err != nil {
		return s.fail(ctx, rec, err, cause{})
	}
	if len(a.rows) != 1 || len(a.rows[0]) != 1 {
		return nil
	}
	limit, err := strconv.Atoi(a.rows[0][0])
	if err != nil || len(statement) < limit {
		return nil
	}
	return &failure{
		outcome: rules.QueryTooLarge, phase: rec.stop(),
		message: "the statement is larger than the server's max_allowed_packet of " + a.rows[0][0] + " bytes: it was not sent",
	}
}

// cutWord cuts a keyword from the beginning of a statement.
func cutWord(s, word string) (string, bool) {
	s = strings.TrimLeft(s, " \t\r\n")
	if len(s) <= len(word) || !strings.EqualFold(s[:len(word)], word) {
		return "", false
	}
	switch s[len(word)] {
	case ' ', '\t', '\r', '\n', '(', '\'', '"', '@', '*', '-', '`':
		return s[len(word):], true
	}
	return "", false
}

// roundUp is a duration in whole seconds, at least 1.
func roundUp(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
