package fakeserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The commands that a session understands.
const (
	ComQuit  = 1
	ComQuery = 3
	ComPing  = 14
)

// Capability bits of the greeting: long password, protocol 41, transactions,
// secure connection, plugin auth, connect attributes, length-encoded auth data.
const capabilities = 1 | 1<<9 | 1<<13 | 1<<15 | 1<<19 | 1<<20 | 1<<21

// CapabilitySSL is the bit by which a greeting offers TLS.
const CapabilitySSL = 1 << 11

// errEnd ends a connection in the ordinary way.
var errEnd = errors.New("end of session")

// Session is the server's side of one connection.
type Session struct {
	Conn net.Conn
	// ID is the number in the greeting.
	ID     uint32
	server *Server
	reset  func(bool)
	seq    byte
}

// Wait lets time pass; it ends early, with an error, when the server closes.
func (s *Session) Wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if d == Never {
		<-s.server.done
		return errEnd
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.server.done:
		return errEnd
	}
}

// Reset ends the connection as a reset, not as a clean close.
func (s *Session) Reset() error {
	s.reset(true)
	_ = s.Conn.Close()
	return errEnd
}

// Greeting is a well-formed initial packet's body.
func Greeting(version string, id uint32, plugin string, extra uint32) []byte {
	caps := uint32(capabilities) | extra
	if strings.Contains(version, "MariaDB") {
		caps &^= 1
	}
	var b bytes.Buffer
	b.WriteByte(10)
	b.WriteString(version)
	b.WriteByte(0)
	_ = binary.Write(&b, binary.LittleEndian, id)
	b.WriteString("01234567")
	b.WriteByte(0)
	_ = binary.Write(&b, binary.LittleEndian, uint16(caps))
	b.WriteByte(45)
	_ = binary.Write(&b, binary.LittleEndian, uint16(2))
	_ = binary.Write(&b, binary.LittleEndian, uint16(caps>>16))
	b.WriteByte(21)
	b.Write(make([]byte, 10))
	b.WriteString("890123456789")
	b.WriteByte(0)
	b.WriteString(plugin)
	b.WriteByte(0)
	return b.Bytes()
}

// Greet sends a greeting.
func (s *Session) Greet(version, plugin string) error {
	if version == "" {
		version = "8.4.3"
	}
	if plugin == "" {
		plugin = "mysql_native_password"
	}
	return s.Send(Greeting(version, s.ID, plugin, 0))
}

// Send writes one packet with the next sequence number.
func (s *Session) Send(body []byte) error {
	p := make([]byte, 4, 4+len(body))
	p[0], p[1], p[2], p[3] = byte(len(body)), byte(len(body)>>8), byte(len(body)>>16), s.seq
	s.seq++
	_, err := s.Conn.Write(append(p, body...))
	return err
}

// Receive reads one packet's body.
func (s *Session) Receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.Conn, head[:]); err != nil {
		return nil, err
	}
	s.seq = head[3] + 1
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(s.Conn, body)
	return body, err
}

// OK answers a login or a statement without rows.
func (s *Session) OK() error { return s.Send([]byte{0, 0, 0, 2, 0, 0, 0}) }

// Fail answers with an error.
func (s *Session) Fail(e *Error) error {
	b := []byte{0xff, byte(e.Number), byte(e.Number >> 8)}
	if e.State != "" {
		b = append(append(b, '#'), e.State...)
	}
	return s.Send(append(b, e.Message...))
}

// Meet greets and reads the login, which the caller answers.
func (s *Session) Meet(version, plugin string) error {
	if err := s.Greet(version, plugin); err != nil {
		return err
	}
	_, err := s.Receive()
	return err
}

// Login greets, reads the login and accepts it.
func (s *Session) Login() error {
	if err := s.Meet("", ""); err != nil {
		return err
	}
	return s.OK()
}

// Statements answers each statement with answer and every other command with OK, until
// the session ends.
func (s *Session) Statements(answer func(text string) error) error {
	for {
		command, text, err := s.Command()
		if err != nil {
			return err
		}
		if command == ComQuery {
			err = answer(text)
		} else {
			err = s.OK()
		}
		if err != nil {
			return err
		}
	}
}

// Command reads a command and its argument. COM_QUIT is an error.
func (s *Session) Command() (byte, string, error) {
	b, err := s.Receive()
	if err != nil {
		return 0, "", err
	}
	if len(b) == 0 {
		return 0, "", fmt.Errorf("empty command")
	}
	if b[0] == ComQuit {
		s.server.quits.Add(1)
		return ComQuit, "", errEnd
	}
	s.server.statements.Add(1)
	return b[0], string(b[1:]), nil
}

// Rows answers with a result set of text columns, waiting before the rows.
func (s *Session) Rows(wait time.Duration, columns []string, rows ...[]string) error {
	if err := s.Columns(columns); err != nil {
		return err
	}
	if err := s.Wait(wait); err != nil {
		return err
	}
	for _, row := range rows {
		var b []byte
		for _, v := range row {
			b = append(b, byte(len(v)))
			b = append(b, v...)
		}
		if err := s.Send(b); err != nil {
			return err
		}
	}
	return s.EOF()
}

// Columns sends the head of a result set.
func (s *Session) Columns(names []string) error {
	if err := s.Send([]byte{byte(len(names))}); err != nil {
		return err
	}
	for _, name := range names {
		b := append([]byte{3}, "def"...)
		b = append(b, 0, 0, 0, byte(len(name)))
		b = append(b, name...)
		b = append(b, 0, 12, 45, 0, 0xff, 0, 0, 0, 253, 0, 0, 0, 0, 0)
		if err := s.Send(b); err != nil {
			return err
		}
	}
	return s.EOF()
}

// EOF ends the columns or the rows.
func (s *Session) EOF() error { return s.Send([]byte{0xfe, 0, 0, 2, 0}) }
