package check

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
)

// programName is the connection attribute under which every session of ours
// shows in performance_schema.session_connect_attrs.
const programName = "program_name:failwise"

// Server is what is needed to log in to one node.
type Server struct {
	// Name is how the user calls the node; empty means the address.
	Name    string
	Address Address
	User    string
	Secret  Secret
	TLS     TLSOptions
	// AdminPort is MySQL's admin_port or MariaDB's extra_port, which takes
	// sessions when the normal port has no free one; 0 is none. MySQL lets in
	// only users with SERVICE_CONNECTION_ADMIN (else error 1227).
	AdminPort uint16
	// Database is the session's default database; empty is none.
	Database string
}

// Label is the node's name, or its address where it has none.
func (s Server) Label() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Address.String()
}

// Admin returns the same server at its admin port, and false if it has none.
func (s Server) Admin() (Server, bool) {
	if s.AdminPort == 0 || s.Address.IsUnix() {
		return s, false
	}
	s.Address = s.Address.WithPort(s.AdminPort)
	return s, true
}

// DriverConfig returns a configuration for [mysql.NewConnector], for sessions
// other than probes. It dials every address of a name in turn, names itself
// failwise, logs nothing and has no time limits of its own: the caller bounds
// each call by its context. It reads the TLS files; errors wrap [ErrTLSFiles].
func (s Server) DriverConfig() (*mysql.Config, error) {
	c, err := s.driverConfig()
	if err != nil {
		return nil, err
	}
	c.DialFunc = (&net.Dialer{KeepAliveConfig: patientKeepAlive}).DialContext
	// The driver drops TLS from its shared configuration when it falls back to
	// plain text; with a hook each connection gets a copy of its own.
	hook := func(context.Context, *mysql.Config) error { return nil }
	if err := c.Apply(mysql.BeforeConnect(hook)); err != nil {
		return nil, err
	}
	return c, nil
}

// keepAlive finds out within some seconds that the peer's host has rebooted or
// gone, even while nothing is sent. The kernel of a frozen server still answers.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}

// patientKeepAlive is the same for sessions that do work: a short outage must
// not end a statement that changes something.
var patientKeepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// driverConfig is the common part of probes and other sessions; DialFunc is the
// caller's.
func (s Server) driverConfig() (*mysql.Config, error) {
	if s.Address.IsZero() {
		return nil, fmt.Errorf("%w: the server has no address", ErrAddress)
	}
	tlsConfig, err := s.TLS.config(s.Address.Host())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Label(), err)
	}
	c := mysql.NewConfig()
	c.User = s.User
	c.Passwd = s.Secret.Reveal()
	c.Net = s.Address.Network()
	c.Addr = s.Address.DialString()
	c.DBName = s.Database
	c.ConnectionAttributes = programName
	c.Logger = &mysql.NopLogger{}
	c.TLS = tlsConfig
	c.AllowFallbackToPlaintext = s.TLS.Effective() == TLSPreferred
	return c, nil
}
