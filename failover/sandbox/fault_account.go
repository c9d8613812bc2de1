package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// BlockedSource is the address the fault blocked-host blocks. The servers never
// block 127.0.0.1, where connections without a chosen source come from.
const BlockedSource = "127.0.0.28"

// accountFaults change what a login of the monitoring account meets. Nothing of
// it is replicated.
func accountFaults() []Fault {
	return []Fault{
		{
			Name: "wrong-password", Doc: "the monitoring account's password is changed: 1045",
			start: changeMonitor("IDENTIFIED BY 'changed'"),
		},
		{
			Name: "expired-account", Doc: "the monitoring account's password is expired: 1820 on MariaDB, 1862 on MySQL",
			start: changeMonitor("PASSWORD EXPIRE"),
		},
		{
			Name: "locked-account", Doc: "the monitoring account is locked: 4151 on MariaDB, 3118 on MySQL",
			start: changeMonitor("ACCOUNT LOCK"),
		},
		{
			Name: "blocked-host", Doc: "connections from " + BlockedSource + " are refused with 1129 after broken handshakes",
			start: blockHost,
		},
	}
}

// changeMonitor alters fw_monitor on one node, and puts it back.
func changeMonitor(change string) func(context.Context, *Node) (injury, error) {
	return func(ctx context.Context, n *Node) (injury, error) {
		if err := n.execLocally(ctx, "ALTER USER 'fw_monitor'@'%' "+change); err != nil {
			return injury{}, err
		}
		return injury{heal: func(ctx context.Context) error {
			return n.execLocally(ctx,
				fmt.Sprintf("ALTER USER 'fw_monitor'@'%%' IDENTIFIED BY '%s'", n.cluster.accounts.Monitor.Password),
				"ALTER USER 'fw_monitor'@'%' ACCOUNT UNLOCK")
		}}, nil
	}
}

// execLocally executes statements as root that leave no trace in the binary log,
// through read_only if need be.
func (n *Node) execLocally(ctx context.Context, statements ...string) error {
	return n.writable(ctx, func() error {
		conn, err := n.root.Conn(ctx)
		if err != nil {
			return err
		}
		for _, statement := range append([]string{"SET SESSION sql_log_bin=0"}, statements...) {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return errors.Join(err, discard(conn))
			}
		}
		return discard(conn)
	})
}

// writable does something while MySQL's super_read_only, which stops even root, is off.
func (n *Node) writable(ctx context.Context, do func() error) error {
	if n.cluster.Flavour() == MariaDB {
		return do()
	}
	var on bool
	if err := n.root.QueryRowContext(ctx, "SELECT @@global.super_read_only").Scan(&on); err != nil {
		return err
	}
	if !on {
		return do()
	}
	if _, err := n.root.ExecContext(ctx, "SET GLOBAL super_read_only=OFF"); err != nil {
		return err
	}
	err := do()
	_, again := n.root.ExecContext(ctx, "SET GLOBAL super_read_only=ON")
	return errors.Join(err, again)
}

// blockHost breaks handshakes until the server has had enough of the source.
func blockHost(ctx context.Context, n *Node) (injury, error) {
	var before int
	if err := n.root.QueryRowContext(ctx, "SELECT @@global.max_connect_errors").Scan(&before); err != nil {
		return injury{}, err
	}
	if _, err := n.root.ExecContext(ctx, "SET GLOBAL max_connect_errors=1"); err != nil {
		return injury{}, err
	}
	heal := func(ctx context.Context) error {
		forget := "FLUSH HOSTS"
		if n.cluster.Flavour() == MySQL {
			forget = "TRUNCATE TABLE performance_schema.host_cache"
		}
		return errors.Join(
			n.Exec(ctx, fmt.Sprintf("SET GLOBAL max_connect_errors=%d", before)),
			n.Exec(ctx, forget))
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(BlockedSource)}, Timeout: 5 * time.Second}
	for range 20 {
		greeting, err := breakHandshake(ctx, dialer, n.Address())
		if err != nil {
			return injury{}, errors.Join(err, heal(ctx))
		}
		if blocked(greeting) {
			return injury{heal: heal}, nil
		}
	}
	return injury{}, errors.Join(errors.New("the server does not block a host that breaks 20 handshakes"), heal(ctx))
}

// breakHandshake reads a greeting and leaves.
func breakHandshake(ctx context.Context, dialer net.Dialer, address string) (string, error) {
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // broken on purpose
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	buffer := make([]byte, 512)
	read, err := conn.Read(buffer)
	return string(buffer[:read]), err
}

// blocked tells whether a server's first packet is error 1129: a header of four
// bytes, 0xff, and the number with the low byte first.
func blocked(greeting string) bool {
	return len(greeting) > 7 && strings.HasPrefix(greeting[4:], "\xff\x69\x04")
}
