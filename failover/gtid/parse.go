package gtid

import (
	"math"
	"strconv"
	"strings"
)

// maxMySQLNumber is the greatest transaction number of MySQL, 2^63-2
// (MySQL manual, "GTID Format and Storage").
const maxMySQLNumber = math.MaxInt64 - 1

// Parse reads a set of either flavour: MySQL's text form (blanks and line
// breaks anywhere, any case, uuid with or without dashes, tags), or MariaDB's
// list of domain-server-number as [Set.String] writes it. The empty text is
// the empty set. Errors are of type [*SyntaxError].
func Parse(text string) (Set, error) {
	b := builder{}
	for part := range strings.SplitSeq(text, ",") {
		part = stripSpace(part)
		if part == "" {
			continue
		}
		var err error
		head, rest, numbered := strings.Cut(part, ":")
		switch uuid, isUUID := parseUUID(head); {
		case isUUID && numbered:
			err = b.addMySQL(part, uuid, rest)
		case isUUID: // a uuid alone is an empty set, as on the server
		case numbered:
			err = syntaxError(setKind, part, "does not start with a server uuid")
		default:
			err = b.addMariaDB(part)
		}
		if err != nil {
			return Set{}, err
		}
	}
	s := b.set()
	if n := len(s.runs); n > 0 && s.runs[0].source.UUID == "" && s.runs[n-1].source.UUID != "" {
		return Set{}, syntaxError(setKind, text, "mixes the forms of MySQL and MariaDB")
	}
	return s, nil
}

const setKind = "gtid set"

func stripSpace(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			return -1
		}
		return r
	}, s)
}

// addMySQL reads what follows the uuid: intervals, and tags, each for the
// intervals after it. A tag without intervals is empty, as on the server.
func (b builder) addMySQL(part, uuid, rest string) error {
	source := Source{UUID: uuid}
	for item := range strings.SplitSeq(rest, ":") {
		if tag, ok := parseTag(item); ok {
			source.Tag = tag
			continue
		}
		iv, empty, err := parseInterval(part, item)
		if err != nil {
			return err
		}
		if !empty {
			b[source] = append(b[source], iv)
		}
	}
	return nil
}

// parseUUID accepts 32 hexadecimal digits with dashes in the usual places or none.
func parseUUID(s string) (string, bool) {
	if len(s) == 32 {
		s = s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	}
	if len(s) != 36 {
		return "", false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash {
			if s[i] != '-' {
				return "", false
			}
		} else if !isHex(s[i]) {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// parseTag accepts a letter or underscore followed by up to 31 letters, digits
// or underscores (MySQL manual, "GTID Format and Storage").
func parseTag(s string) (string, bool) {
	if s == "" || len(s) > 32 || '0' <= s[0] && s[0] <= '9' {
		return "", false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

// parseInterval reads n or n-m; m < n is an empty interval, as on the server.
func parseInterval(part, s string) (iv Interval, empty bool, err error) {
	from, to, ranged := strings.Cut(s, "-")
	first, ok := parseNumber(from, maxMySQLNumber)
	if !ok || first == 0 {
		return iv, false, syntaxError(setKind, part, "want an interval, not "+strconv.Quote(s))
	}
	last := first
	if ranged {
		if last, ok = parseNumber(to, maxMySQLNumber); !ok {
			return iv, false, syntaxError(setKind, part, "want an interval, not "+strconv.Quote(s))
		}
	}
	return Interval{first, last}, last < first, nil
}

func parseNumber(s string, limit uint64) (uint64, bool) {
	if s == "" || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n <= limit
}

func (b builder) addMariaDB(part string) error {
	text, to, ranged := strings.Cut(part, "..")
	g, ok := parseGTID(text)
	if !ok {
		return syntaxError(setKind, part, "want uuid:interval or domain-server-number")
	}
	source, iv := Source{Domain: g.Domain, Server: g.Server}, Interval{1, g.Number}
	if ranged {
		last, ok := parseNumber(to, math.MaxUint64)
		if !ok || g.Number == 0 || last < g.Number {
			return syntaxError(setKind, part, "want domain-server-first..last")
		}
		iv = Interval{g.Number, last}
	}
	if iv.Last > 0 {
		b[source] = append(b[source], iv)
	}
	return nil
}
