package gtid

import (
	"cmp"
	"fmt"
	"strconv"
)

// Source is who numbered a transaction. On MySQL it is a server's uuid and an
// optional tag (MySQL 8.3 and later); on MariaDB, where UUID is empty, a
// replication domain and a server id.
type Source struct {
	UUID   string // 36 lower-case characters, or empty on MariaDB
	Tag    string // lower case, at most 32 characters; empty for an untagged transaction
	Domain uint32
	Server uint32
}

// String gives the spelling of the server: uuid, uuid:tag, or domain-server.
func (s Source) String() string {
	switch {
	case s.UUID == "":
		return strconv.FormatUint(uint64(s.Domain), 10) + "-" + strconv.FormatUint(uint64(s.Server), 10)
	case s.Tag == "":
		return s.UUID
	default:
		return s.UUID + ":" + s.Tag
	}
}

// compare orders sources as the servers print them: MariaDB's by domain and
// server id before MySQL's by uuid and tag.
func (s Source) compare(o Source) int {
	return cmp.Or(
		cmp.Compare(s.UUID, o.UUID),
		cmp.Compare(s.Tag, o.Tag),
		cmp.Compare(s.Domain, o.Domain),
		cmp.Compare(s.Server, o.Server),
	)
}

// SyntaxError tells that a text is no GTID set, position or state.
type SyntaxError struct {
	Kind string // "gtid set", "gtid position", "gtid binlog state"
	Text string // the offending part, shortened
	Why  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %q: %s", e.Kind, e.Text, e.Why)
}

func syntaxError(kind, text, why string) error {
	const longest = 80
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return &SyntaxError{Kind: kind, Text: text, Why: why}
}
