package mysql

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"failwise/check"
)

// A hung server accepts a connection and never says a word. A login ends all the
// same, for a caller without a time limit too.
func TestLoginToASilentServerEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	address, err := check.ParseAddress(l.Addr().String(), 3306)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSession(check.Server{Name: "db1", Address: address, User: "u"})
	t.Cleanup(func() { _ = s.Close() })
	if v, known := s.KnownVersion(); known {
		t.Errorf("version %s of a server that was never reached", v)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Version(context.Background())
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * loginLimit):
		t.Fatalf("no end after %s", 10*loginLimit)
	}
}
