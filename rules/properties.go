package rules

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Span is a place in a file: a run of characters on one line.
type Span struct {
	// Line and Column count from 1. Columns count characters, not bytes; a byte
	// that is no valid UTF-8 is one character.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Width is the number of characters, 0 for an empty value.
	Width int `json:"width"`
}

// property is one logical line of a properties file.
type property struct {
	key, value     string
	keyAt, valueAt Span
	// dots has the columns of the key's dots.
	dots []int
}

// Comment is a comment line of a file.
type Comment struct {
	Line   int
	Column int
	// Text is the comment with its leading # or !, without trailing blanks.
	Text string
}

// char is one character of a logical line. A file is far too short for its lines
// and columns to need more than 32 bits.
type char struct {
	r         rune
	line, col int32
	escaped   bool
}

// at is the character's place, with no width.
func (c char) at() Span { return Span{Line: int(c.line), Column: int(c.col)} }

// readProperties reads Java's properties syntax (java.util.Properties.load): #
// and ! comments, "=", ":" or blanks between key and value, a backslash at the
// end of a line to go on in the next, and the escapes \t \n \r \f \uXXXX. Unlike
// Java it reads UTF-8 rather than Latin-1, and skips a byte order mark. Broken
// escapes are reported by bad and the line is left out. Each property is given to
// found in its turn.
func readProperties(src []byte, found func(property), bad func(at Span, message, hint string)) (comments []Comment, lines []string) {
	lines = splitLines(src)
	var buffer []char // one for all lines
	for i := 0; i < len(lines); i++ {
		text := strings.TrimLeft(lines[i], blanks)
		if text == "" {
			continue
		}
		if text[0] == '#' || text[0] == '!' {
			column := utf8.RuneCountInString(lines[i][:len(lines[i])-len(text)]) + 1
			comments = append(comments, Comment{Line: i + 1, Column: column, Text: strings.TrimRight(text, blanks)})
			continue
		}
		chars, used, ok := logicalLine(buffer[:0], lines[i:], i+1, bad)
		buffer = chars
		i += used - 1
		if ok {
			found(splitProperty(chars, i+1))
		}
	}
	return comments, lines
}

// blanks are the characters that separate and surround keys and values.
const blanks = " \t\f"

// splitLines splits at \n, \r and \r\n, which are not part of the lines.
func splitLines(src []byte) []string {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}

// logicalLine joins the line and those that continue it, resolves the escapes,
// and appends the characters to chars. It returns how many lines it took. number
// is the first line's.
func logicalLine(chars []char, lines []string, number int, bad func(Span, string, string)) (_ []char, used int, ok bool) {
	ok = true
	for {
		line := lines[used]
		used++
		col := 1
		rest := strings.TrimLeft(line, blanks)
		col += len(line) - len(rest)
		more := false
		for len(rest) > 0 {
			r, size := utf8.DecodeRuneInString(rest)
			if r != '\\' {
				chars = append(chars, char{r: r, line: int32(number), col: int32(col)})
				rest, col = rest[size:], col+1
				continue
			}
			if len(rest) == 1 {
				more = true
				break
			}
			r, size, good := unescape(rest)
			if !good {
				bad(Span{Line: number, Column: col, Width: min(6, utf8.RuneCountInString(rest))},
					`malformed \u escape`, `write \u and four hexadecimal digits, or \\ for a backslash`)
				ok = false
			}
			chars = append(chars, char{r: r, escaped: true, line: int32(number), col: int32(col)})
			col += utf8.RuneCountInString(rest[:size])
			rest = rest[size:]
		}
		number++
		if !more || used == len(lines) {
			return chars, used, ok
		}
	}
}

// unescape reads the escape at the start of s, which has at least two bytes, and
// returns its character and length.
func unescape(s string) (r rune, size int, ok bool) {
	switch s[1] {
	case 't':
		return '\t', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 'f':
		return '\f', 2, true
	case 'u':
		if len(s) < 6 {
			return utf8.RuneError, 2, false
		}
		for _, c := range []byte(s[2:6]) {
			digit := strings.IndexByte("0123456789abcdef", c|0x20)
			if digit < 0 || c < '0' {
				return utf8.RuneError, 2, false
			}
			r = r<<4 | rune(digit)
		}
		return r, 6, true
	}
	r, size = utf8.DecodeRuneInString(s[1:])
	return r, size + 1, true
}

// splitProperty divides a logical line at its separator. lastLine places an empty
// value that stands at the end of the line.
func splitProperty(chars []char, lastLine int) property {
	isBlank := func(c char) bool { return !c.escaped && strings.ContainsRune(blanks, c.r) }
	isSeparator := func(c char) bool { return !c.escaped && (c.r == '=' || c.r == ':') }

	end := 0
	for end < len(chars) && !isBlank(chars[end]) && !isSeparator(chars[end]) {
		end++
	}
	start := end
	for start < len(chars) && isBlank(chars[start]) {
		start++
	}
	if start < len(chars) && isSeparator(chars[start]) {
		start++
	}
	for start < len(chars) && isBlank(chars[start]) {
		start++
	}
	last := len(chars)
	for last > start && isBlank(chars[last-1]) {
		last--
	}

	p := property{}
	p.key, p.keyAt = join(chars[:end])
	p.value, p.valueAt = join(chars[start:last])
	for _, c := range chars[:end] {
		if c.r == '.' {
			p.dots = append(p.dots, int(c.col))
		}
	}
	if p.keyAt.Line == 0 && len(chars) > 0 {
		p.keyAt = chars[0].at()
	}
	if p.keyAt.Line == 0 {
		p.keyAt = Span{Line: lastLine, Column: 1}
	}
	if p.valueAt.Line == 0 {
		p.valueAt = p.keyAt
		if len(chars) > 0 {
			p.valueAt = chars[min(start, len(chars))-1].at()
			p.valueAt.Column++
		}
	}
	return p
}

// join returns the text of chars and the place of its part on the first line.
func join(chars []char) (string, Span) {
	if len(chars) == 0 {
		return "", Span{}
	}
	var b strings.Builder
	b.Grow(len(chars))
	at := chars[0].at()
	for _, c := range chars {
		b.WriteRune(c.r)
		if c.line == chars[0].line {
			at.Width = int(c.col-chars[0].col) + 1
		}
	}
	return b.String(), at
}
