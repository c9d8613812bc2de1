package sandbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sessionFaults are held by sessions of this process.
func sessionFaults() []Fault {
	return []Fault{
		{
			Name: "full", Doc: "every connection the server allows is taken, new ones get 1040",
			start: takeAllConnections,
		},
		{
			Name: "locked", Doc: "FLUSH TABLES WITH READ LOCK is held: reads work, writes hang",
			start: func(ctx context.Context, n *Node) (injury, error) {
				return holdLock(ctx, n, "FLUSH TABLES WITH READ LOCK")
			},
		},
		{
			Name: "locked-heartbeat", Doc: "the heartbeat table's metadata lock is held: only its writes and reads hang",
			start: func(ctx context.Context, n *Node) (injury, error) {
				return holdLock(ctx, n, "LOCK TABLES failwise.heartbeat WRITE")
			},
		},
	}
}

// holdLock keeps one session of root with what a statement locks.
func holdLock(ctx context.Context, n *Node, statement string) (injury, error) {
	conn, err := n.root.Conn(ctx)
	if err != nil {
		return injury{}, err
	}
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		return injury{}, errors.Join(err, discard(conn))
	}
	return injury{
		heal: func(ctx context.Context) error {
			_, err := conn.ExecContext(ctx, "UNLOCK TABLES")
			return errors.Join(err, discard(conn))
		},
		abandon: func() { _ = discard(conn) },
	}, nil
}

// discard closes a session instead of giving it back to its pool.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// retakeEvery is how soon a connection that somebody else has given back is taken too.
const retakeEvery = 50 * time.Millisecond

// takeAllConnections opens sessions of the application until the server refuses one, and
// takes what becomes free afterwards.
func takeAllConnections(ctx context.Context, n *Node) (injury, error) {
	connector, err := mysql.NewConnector(n.Config(n.cluster.accounts.App))
	if err != nil {
		return injury{}, err
	}
	pool := sql.OpenDB(connector)
	var held []*sql.Conn
	// take goes on until it is refused, or has more than there can be.
	take := func(ctx context.Context) error {
		for range n.cluster.options.MaxConnections + 1 {
			conn, err := pool.Conn(ctx)
			if err != nil {
				return err
			}
			held = append(held, conn)
		}
		return errors.New("the server takes more connections than max_connections")
	}
	taking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var going sync.WaitGroup
	var once sync.Once
	release := func() {
		once.Do(func() {
			stop()
			going.Wait()
			for _, conn := range held {
				_ = discard(conn) // a session that does not close has ended already
			}
			_ = pool.Close() // nothing is left in it
		})
	}
	err = take(ctx)
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1040 {
		release()
		return injury{}, err
	}
	going.Go(func() {
		for taking.Err() == nil {
			sleep(taking, retakeEvery)
			_ = take(taking) // until it is refused again
		}
	})
	return injury{heal: func(context.Context) error { release(); return nil }, abandon: release}, nil
}
