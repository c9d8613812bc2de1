package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Lives of certificates. The short one is what a server must be given at least: it
// loads none that has expired already (MySQL error 3888).
const (
	longLife  = 24 * time.Hour
	shortLife = 2 * time.Second
)

// tlsFaults are done with the certificates of Options.TLS.
func tlsFaults() []Fault {
	return []Fault{{
		Name: "tls-expired", Doc: "the server's certificate has expired: logins that verify it fail", Needs: NeedTLS,
		start: expire,
	}}
}

func expire(ctx context.Context, n *Node) (injury, error) {
	heal := func(ctx context.Context) error { return n.certify(ctx, time.Now().Add(longLife)) }
	// A certificate's end is a whole second.
	end := time.Now().Add(shortLife).Truncate(time.Second).Add(time.Second)
	if err := n.certify(ctx, end); err != nil {
		return injury{}, err
	}
	sleep(ctx, time.Until(end.Add(10*time.Millisecond)))
	if err := ctx.Err(); err != nil {
		return injury{}, errors.Join(err, heal(context.WithoutCancel(ctx)))
	}
	return injury{heal: heal}, nil
}

// certify gives the running server a new certificate.
func (n *Node) certify(ctx context.Context, end time.Time) error {
	if err := n.cluster.authority.Issue(n.Name(), end, n.host, n.Domain()); err != nil {
		return err
	}
	reload := "FLUSH LOCAL SSL" // not into the binary log
	if n.cluster.Flavour() == MySQL {
		reload = "ALTER INSTANCE RELOAD TLS"
	}
	// Who fences a server that has just come back ends our sessions too.
	return await(ctx, func() (bool, error) {
		err := n.Exec(ctx, reload)
		if errors.Is(err, mysql.ErrInvalidConn) {
			return false, nil
		}
		return err == nil, err
	})
}
