package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// startLimit is how long a server may take from its start to its first answer.
// It is ample: the machine may be busy with other things.
const startLimit = 90 * time.Second

// Node is one server of a cluster. Its name, address and directory never change;
// its pid does with every start.
type Node struct {
	cluster   *Cluster
	index     int
	host      string
	port      int
	adminPort int
	dir       string
	dataDir   string
	mount     string // where the data directory's own file system is mounted; empty without one
	image     string // the file behind mount

	root *sql.DB // over the socket

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has been waited for
	started bool          // ever
}

// Name returns "db1" for node 0, "db2" for node 1, and so on.
func (n *Node) Name() string { return "db" + strconv.Itoa(n.index+1) }

// Index returns the node's place in Cluster.Nodes.
func (n *Node) Index() int { return n.index }

// Host returns the node's loopback address, "127.0.0.11" for node 0.
func (n *Node) Host() string { return n.host }

// Port returns the node's port.
func (n *Node) Port() int { return n.port }

// Address returns host:port.
func (n *Node) Address() string { return net.JoinHostPort(n.host, strconv.Itoa(n.port)) }

// AdminAddress returns host:port of MySQL's admin_port or MariaDB's extra_port;
// the server listens on it with Options.AdminPort only.
func (n *Node) AdminAddress() string { return net.JoinHostPort(n.host, strconv.Itoa(n.adminPort)) }

// ServerID returns the node's server_id, which no two running sandboxes share.
func (n *Node) ServerID() uint32 { return uint32(1000 + n.cluster.slot.number*portsPerSlot + n.index) }

// Dir returns the node's own directory, with error.log, my.cnf and the socket.
func (n *Node) Dir() string { return n.dir }

// DataDir returns the server's data directory.
func (n *Node) DataDir() string { return n.dataDir }

// Socket returns the path of the server's unix socket.
func (n *Node) Socket() string { return filepath.Join(n.dir, "sock") }

// Pid returns the pid of the running server, 0 when none runs.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return 0
	}
	select {
	case <-n.exited:
		return 0
	default:
		return n.cmd.Process.Pid
	}
}

// gone returns the channel that is closed when the last started server has ended.
func (n *Node) gone() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.exited
}

// ErrorLog returns the last lines of the server's error log.
func (n *Node) ErrorLog(lines int) string {
	data, err := os.ReadFile(filepath.Join(n.dir, "error.log"))
	if err != nil {
		return err.Error()
	}
	return lastLines(string(data), lines)
}

// Root returns connections of root over the socket. They pass every fault of the
// network and, but for one session, a full server. Close is not the caller's.
func (n *Node) Root() *sql.DB { return n.root }

// Config returns the driver's configuration for a TCP connection of an account.
// It has no time limits: those are the caller's.
func (n *Node) Config(a Account) *mysql.Config {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", n.Address()
	config.User, config.Passwd = a.User, a.Password
	config.Logger = silence{}
	return config
}

// silence is the driver's log: every error it could tell is returned as well.
type silence struct{}

func (silence) Print(...any) {}

// openRoot prepares the pool behind Root.
func (n *Node) openRoot() error {
	config := n.Config(n.cluster.accounts.Root)
	config.Net, config.Addr = "unix", n.Socket()
	config.InterpolateParams = true
	config.MultiStatements = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	n.root = sql.OpenDB(connector)
	n.root.SetMaxIdleConns(2)
	n.root.SetConnMaxIdleTime(10 * time.Second)
	return nil
}

// prepare makes the node's directories and files.
func (n *Node) prepare(template string) error {
	c := n.cluster
	for _, dir := range []string{n.dir, filepath.Join(n.dir, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := c.serverUser.own(dir); err != nil {
			return err
		}
	}
	if n.mount != "" {
		if err := c.slot.update(func(r *record) { r.Mounts = append(r.Mounts, n.mount) }); err != nil {
			return err
		}
		if err := loopDisk(n.image, n.mount, c.options.LoopBytes); err != nil {
			return err
		}
	}
	if err := copyTree(template, n.dataDir, c.serverUser, n.mount == ""); err != nil {
		return fmt.Errorf("copy the data directory: %w", err)
	}
	if c.authority != nil {
		if err := c.authority.Issue(n.Name(), time.Now().Add(longLife), n.host, n.Domain()); err != nil {
			return err
		}
	}
	cnf := filepath.Join(n.dir, "my.cnf")
	if err := os.WriteFile(cnf, []byte(n.settings()), 0o600); err != nil {
		return err
	}
	if err := c.serverUser.own(cnf); err != nil {
		return err
	}
	return n.openRoot()
}

// Start starts the server and returns when it answers. On a node whose server
// runs it fails.
func (n *Node) Start(ctx context.Context) error {
	if n.Pid() != 0 {
		return fmt.Errorf("start %s: its server is running with pid %d", n.Name(), n.Pid())
	}
	args := []string{"--defaults-file=" + filepath.Join(n.dir, "my.cnf")}
	first := filepath.Join(n.dir, "first.sql")
	if !n.started {
		lines := n.cluster.accounts.provision(n.cluster.options.Flavour, n.cluster.options.AdminPort)
		text := ""
		for _, line := range lines {
			text += line + ";\n"
		}
		if err := os.WriteFile(first, []byte(text), 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(first) }() // goes with the directory at the latest
		if err := n.cluster.serverUser.own(first); err != nil {
			return err
		}
		args = append(args, "--init-file="+first, "--read-only=OFF")
		if n.cluster.options.Flavour == MySQL {
			args = append(args, "--super-read-only=OFF") // not even the init file passes it
		}
	}
	if err := n.launch(args); err != nil {
		return fmt.Errorf("start %s: %w", n.Name(), err)
	}
	if err := n.awaitReady(ctx); err != nil {
		return fmt.Errorf("start %s: %w", n.Name(), err)
	}
	n.started = true
	return nil
}

func (n *Node) launch(args []string) error {
	c := n.cluster
	// The shell goes before, since the right to read any file begins at an exec:
	// the folder and the program may lie where the servers' user cannot look.
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", `cd "$0" && exec "$@"`, n.dir, c.binary.Path}, args...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = c.serverUser.attributes()
	// What a server says before it opens its log.
	log, err := os.OpenFile(filepath.Join(n.dir, "error.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	if err := c.serverUser.own(log.Name()); err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := c.launcher.start(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in the error log
		close(exited)
	}()
	n.mu.Lock()
	n.cmd, n.exited = cmd, exited
	n.mu.Unlock()
	return c.slot.update(func(r *record) {
		r.Processes = append(r.Processes, identify(cmd.Process.Pid))
	})
}

// awaitReady returns when root can log in.
func (n *Node) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %s", startLimit))
	defer cancel()
	for {
		err := n.root.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-n.gone():
			return fmt.Errorf("the server ended at once: %s", n.ErrorLog(6))
		case <-ctx.Done():
			return fmt.Errorf("%w (%w): %s", context.Cause(ctx), err, n.ErrorLog(3))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Signal sends a signal to the running server.
func (n *Node) Signal(sig syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return fmt.Errorf("signal %s: its server was never started", n.Name())
	}
	return n.cmd.Process.Signal(sig)
}

// Kill ends the server with SIGKILL and returns when it is gone. The kernel ends
// no process that waits for a frozen disk: then it gives up with ctx.
func (n *Node) Kill(ctx context.Context) error { return n.end(ctx, syscall.SIGKILL) }

// Stop shuts the server down cleanly, with SIGTERM, and returns when it is gone.
func (n *Node) Stop(ctx context.Context) error { return n.end(ctx, syscall.SIGTERM) }

func (n *Node) end(ctx context.Context, sig syscall.Signal) error {
	if n.Pid() == 0 {
		return nil
	}
	if err := n.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", n.Name(), err)
	}
	select {
	case <-n.gone():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end %s: pid %d is still there: %w", n.Name(), n.Pid(), ctx.Err())
	}
}
