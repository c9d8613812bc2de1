package replay

import (
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line of a timeline, in bytes.
const maxLine = 1 << 20

var errLongLine = errors.New("the line is longer than 1 MiB")

// lines cuts a stream into lines without copying them.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int
	err        error
	// number is that of the line last returned, from 1; bytes counts what was
	// read.
	number int
	bytes  int64
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, 256<<10)} }

// next returns the next line without its end; it is valid until the next call.
// After the last one the error is io.EOF. errLongLine skips the line.
func (l *lines) next() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			l.number++
			return trimCR(line), nil
		}
		scanned = l.end - l.start
		if l.err != nil {
			if scanned == 0 {
				return nil, l.err
			}
			if !errors.Is(l.err, io.EOF) {
				return nil, l.err
			}
			line := l.buf[l.start:l.end]
			l.start = l.end
			l.number++
			return trimCR(line), nil
		}
		if scanned > maxLine {
			return nil, l.skipLine()
		}
		l.fill()
	}
}

// fill reads more.
func (l *lines) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.bytes += int64(n)
	l.err = err
}

// skipLine drops the rest of a line that is too long.
func (l *lines) skipLine() error {
	l.number++
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			return errLongLine
		}
		l.start = l.end
		if l.err != nil {
			return errLongLine
		}
		l.fill()
	}
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}
