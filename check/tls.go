package check

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TLSMode says how much a connection asks of TLS. The words and their meaning
// are those of the mysql client's --ssl-mode (MySQL manual 6.3.1, command
// options for encrypted connections).
type TLSMode uint8

// The modes. TLSAuto, the zero value, is PREFERRED, or VERIFY_CA where a CA
// file is given.
const (
	TLSAuto           TLSMode = iota
	TLSDisabled               // never TLS
	TLSPreferred              // TLS if the server offers it, no verification
	TLSRequired               // TLS or no connection, no verification
	TLSVerifyCA               // and the certificate's chain must end in a trusted CA
	TLSVerifyIdentity         // and the certificate must be for the server's name
)

var tlsModeNames = [...]string{"", "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"}

// String is the mysql client's spelling; "" for [TLSAuto].
func (m TLSMode) String() string {
	if int(m) < len(tlsModeNames) {
		return tlsModeNames[m]
	}
	return fmt.Sprintf("tlsmode(%d)", uint8(m))
}

// ParseTLSMode is the inverse of [TLSMode.String]; case does not matter.
func ParseTLSMode(s string) (TLSMode, error) {
	for i, n := range tlsModeNames {
		if strings.EqualFold(n, s) {
			return TLSMode(i), nil
		}
	}
	return TLSAuto, fmt.Errorf("unknown ssl-mode %q: use DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY", s)
}

// ErrTLSFiles is wrapped by errors about CA, certificate and key files.
var ErrTLSFiles = errors.New("tls files")

// TLSOptions are the mysql client's --ssl-* options.
type TLSOptions struct {
	Mode TLSMode
	// CA is the file with the trusted authorities, PEM; empty means the
	// system's.
	CA string
	// Cert and Key are the client's own certificate and key files, PEM; both or
	// none.
	Cert, Key string
	// ServerName is the name that VERIFY_IDENTITY looks for; empty means the
	// host of the address.
	ServerName string
}

// Effective is the mode after [TLSAuto] is resolved.
func (o TLSOptions) Effective() TLSMode {
	switch {
	case o.Mode != TLSAuto:
		return o.Mode
	case o.CA != "":
		return TLSVerifyCA
	}
	return TLSPreferred
}

// config builds the client side for a server at host; nil for DISABLED. It
// reads the files.
func (o TLSOptions) config(host string) (*tls.Config, error) {
	mode := o.Effective()
	if mode == TLSDisabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if o.ServerName != "" {
		c.ServerName = o.ServerName
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: read ssl-ca: %w", ErrTLSFiles, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ssl-ca %s holds no PEM certificate", ErrTLSFiles, o.CA)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, fmt.Errorf("%w: ssl-cert and ssl-key must be given together", ErrTLSFiles)
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: load ssl-cert %s: %w", ErrTLSFiles, o.Cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	switch mode {
	case TLSPreferred, TLSRequired:
		c.InsecureSkipVerify = true
	case TLSVerifyCA:
		c.InsecureSkipVerify = true
		roots := c.RootCAs
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, roots) }
	case TLSVerifyIdentity:
		if c.ServerName == "" {
			return nil, fmt.Errorf("%w: VERIFY_IDENTITY needs a server name and a unix socket has none", ErrTLSFiles)
		}
	default:
		return nil, fmt.Errorf("%w: unknown ssl-mode %s", ErrTLSFiles, mode)
	}
	return c, nil
}

// verifyChain checks everything about the peer's certificate but its name.
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, cert := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	_, err := s.PeerCertificates[0].Verify(opts)
	return err
}
