package check

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// errNotMySQL says that what answers speaks another protocol.
var errNotMySQL = errors.New("the answer is not a mysql greeting")

// maxGreeting is the longest greeting, or error in its place, that is read, in
// bytes; real ones are about 100 and 500.
const maxGreeting = 8 << 10

// packetHeader is the length of a packet's header, in bytes: three for the
// length and one for the sequence number.
const packetHeader = 4

// clientMySQL is the capability bit that MySQL always sets and MariaDB clears
// since 10.2 (it was CLIENT_LONG_PASSWORD).
const clientMySQL = 1

// greeting is the initial handshake packet (Protocol::HandshakeV10).
type greeting struct {
	version string
	flavour Flavour
	id      uint32 // the session's number in SHOW PROCESSLIST
}

// greeter is a connection whose greeting has not been read to its end. It can
// outlive the probe that opened it.
type greeter struct {
	net.Conn
	remote string
	buf    []byte // header and body as far as they came
}

// read reads the greeting until the connection's deadline. What has come stays
// in buf if it fails. A server's error in place of a greeting is a
// *mysql.MySQLError.
func (g *greeter) read() (greeting, error) {
	for {
		need := packetHeader
		if len(g.buf) >= packetHeader {
			size := int(g.buf[0]) | int(g.buf[1])<<8 | int(g.buf[2])<<16
			if size == 0 || size > maxGreeting {
				return greeting{}, fmt.Errorf("%w: it begins with %q", errNotMySQL, g.buf[:packetHeader])
			}
			need += size
		}
		if len(g.buf) == need && need > packetHeader {
			return parseGreeting(g.buf[packetHeader:])
		}
		start := len(g.buf)
		g.buf = append(g.buf, make([]byte, need-start)...)
		n, err := g.Read(g.buf[start:])
		g.buf = g.buf[:start+n]
		if err != nil && n == 0 {
			return greeting{}, err
		}
	}
}

// parseGreeting reads the body of the first packet. It accepts only what the
// driver can read too.
func parseGreeting(body []byte) (greeting, error) {
	if body[0] == 0xff {
		err := parseServerError(body)
		if err == nil {
			return greeting{}, fmt.Errorf("%w: an error without a number", errNotMySQL)
		}
		return greeting{}, err
	}
	if body[0] != 10 {
		return greeting{}, fmt.Errorf("%w: protocol version %d", errNotMySQL, body[0])
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return greeting{}, fmt.Errorf("%w: the version has no end", errNotMySQL)
	}
	// Connection id 4, scramble 8, filler 1, capabilities 2; then charset 1,
	// status 2, capabilities 2, scramble length 1, reserved 10, scramble 13.
	rest := body[1+end+1:]
	if len(rest) < 15 || len(rest) > 15 && len(rest) < 15+16+13 {
		return greeting{}, fmt.Errorf("%w: it is cut short", errNotMySQL)
	}
	g := greeting{version: string(body[1 : 1+end]), id: binary.LittleEndian.Uint32(rest), flavour: MySQL}
	capabilities := binary.LittleEndian.Uint16(rest[13:])
	if capabilities&clientMySQL == 0 || strings.Contains(g.version, "MariaDB") {
		g.flavour = MariaDB
		// A prefix for the replication code of old clients, which took the
		// first number for MySQL's.
		g.version = strings.TrimPrefix(g.version, "5.5.5-")
	}
	return g, nil
}

// parseServerError reads an ERR packet's body; nil if it is none. Before the
// login an error carries no SQLSTATE.
func parseServerError(body []byte) *mysql.MySQLError {
	if len(body) < 3 || body[0] != 0xff {
		return nil
	}
	e := &mysql.MySQLError{Number: binary.LittleEndian.Uint16(body[1:])}
	text := body[3:]
	if len(text) >= 6 && text[0] == '#' {
		copy(e.SQLState[:], text[1:6])
		text = text[6:]
	}
	e.Message = string(text)
	return e
}
