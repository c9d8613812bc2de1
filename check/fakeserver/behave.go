package fakeserver

import (
	"net"
	"strconv"
	"strings"
)

// behave plays the server's behaviour, which can change between two packets.
func (s *Session) behave() error {
	b := s.server.current()
	if err := s.Wait(b.GreetingDelay); err != nil {
		return err
	}
	if b.GreetingError != nil {
		return s.Fail(b.GreetingError)
	}
	if err := s.Meet(b.Version, b.Plugin); err != nil {
		return err
	}
	b = s.server.current()
	if err := s.Wait(b.LoginDelay); err != nil {
		return err
	}
	if b.LoginError != nil {
		return s.Fail(b.LoginError)
	}
	if err := s.OK(); err != nil {
		return err
	}
	return s.Statements(func(text string) error { return s.answer(s.server.current(), text) })
}

// maxAllowedPacket is the packet limit that a server claims: 1 GiB, the largest.
const maxAllowedPacket = "1073741824"

// answer answers one statement of a probe.
func (s *Session) answer(b Behaviour, text string) error {
	if err := s.Wait(b.ExecuteDelay); err != nil {
		return err
	}
	if b.StatementError != nil {
		return s.Fail(b.StatementError)
	}
	switch {
	case strings.HasPrefix(text, "INSERT"):
		s.server.writes.Add(1)
		if err := s.Wait(b.WriteDelay); err != nil {
			return err
		}
		if b.WriteError != nil {
			return s.Fail(b.WriteError)
		}
		return s.OK()
	case strings.Contains(text, "@@max_allowed_packet"):
		return s.Rows(b.ResultsDelay, []string{"@@max_allowed_packet"}, []string{maxAllowedPacket})
	case strings.Contains(text, "super_read_only"):
		ro := b.readOnly()
		return s.Rows(b.ResultsDelay, []string{"@@global.read_only", "@@global.super_read_only"}, []string{ro, "0"})
	case strings.Contains(text, "read_only"):
		return s.Rows(b.ResultsDelay, []string{"@@global.read_only"}, []string{b.readOnly()})
	case strings.HasPrefix(text, "SHOW PROCESSLIST"):
		return s.Rows(b.ResultsDelay, []string{"Id", "Command", "State"}, s.server.processList(b.State)...)
	case strings.HasPrefix(text, "SHOW"):
		columns := []string{"Source_Host", "Source_Port"}
		if strings.Contains(text, "SLAVE") {
			columns = []string{"Master_Host", "Master_Port"}
		}
		if b.Source == "" {
			return s.Rows(b.ResultsDelay, columns)
		}
		host, port, _ := net.SplitHostPort(b.Source)
		return s.Rows(b.ResultsDelay, columns, []string{host, port})
	case strings.HasPrefix(text, "SET SESSION"):
		return s.OK()
	}
	return s.Rows(b.ResultsDelay, []string{"1"}, []string{"1"})
}

func (b Behaviour) readOnly() string {
	if b.ReadOnly == "" {
		return "0"
	}
	return b.ReadOnly
}

func (s *Server) processList(state string) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows [][]string
	for session := range s.open {
		rows = append(rows, []string{strconv.FormatUint(uint64(session.ID), 10), "Query", state})
	}
	return rows
}
