package check

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/rules"
)

// maxColumns is the most columns that an answer can have (MySQL manual 10.4.7);
// a larger count is not an answer.
const maxColumns = 4096

// maxHead is how much of an answer is looked at: a header and a number of
// columns in three bytes. No whole answer is shorter.
const maxHead = packetHeader + 3

// sslRequestSize is the size of a login packet that stops before the user's
// name and so asks for TLS.
const sslRequestSize = packetHeader + 32

// conn is the connection that the driver gets. It moves the probe from phase to
// phase as packets go by, bounds each by a deadline, and keeps the true error
// of a failed read or write, which the driver hides behind its own.
type conn struct {
	net.Conn

	// mu guards what follows: an insert reads in its own goroutine.
	mu sync.Mutex
	// ahead is the greeting, read before the driver was there.
	ahead []byte
	// rec is the probe in whose name the connection is used; nil in between.
	rec *record
	// statement: what is written now is a statement, no longer the login.
	statement bool
	// unbounded: the statement gets no deadline, see [Prober.write].
	unbounded bool
	// tls: the client asked for TLS, so bytes can be counted but not read.
	tls bool
	// wrote: the first packet, the login or the request for TLS, is out.
	wrote bool
	// head holds the beginning of the first packet since the last write.
	head []byte
	// closed: this side has closed the connection.
	closed bool
	// err is the first error of a read or write.
	err error
	// refused is a server's error in answer to the login that the driver read
	// as something else.
	refused *mysql.MySQLError
}

// attach makes the connection work for a probe's login or, if statement, for
// its next statement.
func (c *conn) attach(r *record, statement, unbounded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rec, c.statement, c.unbounded = r, statement, unbounded
}

// detach leaves the connection to itself: no phases, no deadline.
func (c *conn) detach() {
	c.attach(nil, false, false)
	_ = c.SetDeadline(time.Time{})
}

// failure is what the server said to the login if the driver did not understand
// it, and the first error of a read or write.
func (c *conn) failure() (*mysql.MySQLError, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused, c.err
}

// usesTLS reports whether the client asked for TLS.
func (c *conn) usesTLS() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls
}

func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if len(c.ahead) == 0 && !c.statement && !c.tls && c.rec != nil {
		c.mu.Unlock()
		packet, err := c.readLogin()
		c.mu.Lock()
		c.ahead = packet
		if err != nil {
			c.fail(err)
			c.mu.Unlock()
			return 0, err
		}
	}
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		c.mu.Unlock()
		return n, nil
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.late() {
		n, err = 0, os.ErrDeadlineExceeded
	}
	if n > 0 && c.statement {
		if err := c.look(b[:n]); err != nil {
			c.fail(err)
			return 0, err
		}
		if phase := c.phase(); phase == rules.PhaseSend || phase == rules.PhaseExecute {
			c.enter(rules.PhaseResults)
		}
	}
	c.fail(err)
	return n, err
}

// readLogin reads one whole packet of the login and checks it before the driver
// sees it.
func (c *conn) readLogin() ([]byte, error) {
	packet := make([]byte, packetHeader, 256)
	if _, err := io.ReadFull(c.Conn, packet); err != nil {
		return nil, err
	}
	size := int(packet[0]) | int(packet[1])<<8 | int(packet[2])<<16
	if size > maxLoginPacket {
		return nil, fmt.Errorf("%w: an answer of %d bytes to the login", errNotMySQL, size)
	}
	packet = append(packet, make([]byte, size)...)
	body := packet[packetHeader:]
	if _, err := io.ReadFull(c.Conn, body); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late() {
		return nil, os.ErrDeadlineExceeded
	}
	c.refused = parseServerError(body)
	return packet, checkLoginPacket(body)
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.head = c.head[:0]
	switch {
	case c.statement:
		c.enter(rules.PhaseSend)
	case len(b) == sslRequestSize && !c.wrote:
		c.tls = true
	}
	c.wrote = true
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.late() {
		err = os.ErrDeadlineExceeded
	}
	c.fail(err)
	if err == nil && c.statement && c.phase() == rules.PhaseSend {
		c.enter(rules.PhaseExecute)
	}
	return n, err
}

// phase is the probe's phase; none between probes. The caller holds mu.
func (c *conn) phase() rules.Phase {
	if c.rec == nil {
		return rules.PhaseNone
	}
	phase, _ := c.rec.current()
	return phase
}

// enter begins a phase of the probe and bounds it. The caller holds mu.
func (c *conn) enter(p rules.Phase) {
	if c.rec == nil {
		return
	}
	until := c.rec.enter(p)
	if !c.unbounded {
		_ = c.SetDeadline(until)
	}
}

// late reports whether the phase's time is over: what comes then is a timeout,
// even if it comes. The caller holds mu.
func (c *conn) late() bool {
	if c.rec == nil {
		return false
	}
	_, until := c.rec.current()
	return time.Now().After(until)
}

// fail keeps the first error. What this side has closed itself, as the driver
// does when its context ends, is no error of the network. The caller holds mu.
func (c *conn) fail(err error) {
	if c.err != nil || err == nil {
		return
	}
	if c.closed {
		err = net.ErrClosed
	}
	c.err = err
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Conn.Close()
}

// look checks the beginning of the answer to a statement where it is plain
// text. The caller holds mu.
func (c *conn) look(b []byte) error {
	if c.tls || len(c.head) >= maxHead {
		return nil
	}
	c.head = append(c.head, b[:min(len(b), maxHead-len(c.head))]...)
	if len(c.head) < maxHead {
		return nil
	}
	// The first packet of a result set is its number of columns, from 0xfc on in
	// two or more bytes; the driver would allocate whatever it says.
	size := int(c.head[0]) | int(c.head[1])<<8 | int(c.head[2])<<16
	body := c.head[packetHeader:]
	switch {
	case size > 1 && (body[0] == 0xfd || body[0] == 0xfe),
		size > 2 && body[0] == 0xfc && int(body[1])|int(body[2])<<8 > maxColumns:
		return mysql.ErrMalformPkt
	}
	return nil
}
