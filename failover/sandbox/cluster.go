package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// dirPrefix begins the name of every cluster's directory; a sweep removes no other.
const dirPrefix = "failwise-"

// socketLimit is what the kernel allows for the path of a unix socket (sun_path, 108 with its end).
const socketLimit = 107

// Cluster is a running sandbox. Its methods are safe for concurrent use.
type Cluster struct {
	options    Options
	binary     Binary
	accounts   Accounts
	serverUser runAs
	dir        string
	slot       *slot
	launcher   *launcher
	nodes      []*Node
	authority  *Authority // nil without Options.TLS
	names      *names     // nil without Options.Names

	mu      sync.Mutex
	active  []*Active // faults that were started, newest last
	tables  int       // nft tables made so far
	writers int64     // writers started so far

	abort   context.CancelFunc // ends the start
	settled chan struct{}      // closed when the start has ended, well or not

	closeOnce sync.Once
	closeErr  error
	closed    chan struct{}
}

// New starts a cluster and returns when every replica has applied the primary's
// first transaction. The cluster is closed when ctx ends, if not before. Without
// a server program the error wraps ErrNoServer, where root is needed and missing
// ErrNotPermitted.
func New(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.LoopBytes != 0 && os.Getuid() != 0 {
		return nil, fmt.Errorf("loop-mounted data directories: %w", ErrNotPermitted)
	}
	binary, err := chooseBinary(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Flavour = binary.Flavour
	template, err := template(ctx, binary, o.Log)
	if err != nil {
		return nil, err
	}
	slot, err := claimSlot(ctx, o.Nodes)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		options:    o,
		binary:     binary,
		accounts:   newAccounts(),
		serverUser: serverUser(),
		slot:       slot,
		launcher:   newLauncher(),
		settled:    make(chan struct{}),
		closed:     make(chan struct{}),
	}
	starting, abort := context.WithCancel(ctx)
	c.abort = abort
	c.watchEnds(ctx)
	err = c.bringUp(starting, template)
	close(c.settled)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a %s sandbox: %w", o.Flavour, err), c.Close())
	}
	return c, nil
}

func chooseBinary(ctx context.Context, o Options) (Binary, error) {
	if o.Binary == "" {
		return FindBinary(ctx, o.Flavour)
	}
	b, err := inspect(ctx, o.Binary)
	if err == nil && b.Flavour != o.Flavour {
		err = fmt.Errorf("%s is a %s server, not %s", o.Binary, b.Flavour, o.Flavour)
	}
	return b, err
}

// bringUp makes the nodes, starts them side by side, and joins them.
func (c *Cluster) bringUp(ctx context.Context, template string) error {
	dir, err := os.MkdirTemp(c.options.Dir, dirPrefix)
	if err != nil {
		return err
	}
	c.dir = dir
	// The servers' user must get through; what is inside is for it alone.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	if err := c.slot.update(func(r *record) { r.Owner, r.Dir = os.Getpid(), dir }); err != nil {
		return err
	}
	if c.options.TLS {
		certificates := filepath.Join(dir, "tls")
		if err := os.Mkdir(certificates, 0o755); err != nil {
			return err
		}
		if c.authority, err = NewAuthority(certificates); err != nil {
			return err
		}
	}
	if c.options.Names {
		if err := c.startNames(); err != nil {
			return err
		}
	}
	for i := range c.options.Nodes {
		n := &Node{
			cluster:   c,
			index:     i,
			host:      host(i),
			port:      c.slot.port(i),
			adminPort: c.slot.port(i) + adminOffset,
		}
		n.dir = filepath.Join(dir, n.Name())
		n.dataDir = filepath.Join(n.dir, "data")
		if c.options.LoopBytes != 0 && slices.Contains(c.options.LoopNodes, i) {
			n.image = filepath.Join(dir, n.Name()+".img")
			n.mount = filepath.Join(n.dir, "disk")
			n.dataDir = filepath.Join(n.mount, "data") // beside the file system's own lost+found
		}
		if len(n.Socket()) > socketLimit {
			return fmt.Errorf("the socket's path %s is longer than %d bytes: choose a shorter directory", n.Socket(), socketLimit)
		}
		c.nodes = append(c.nodes, n)
	}
	c.options.Log(fmt.Sprintf("starting %d %s %s servers in %s", c.options.Nodes, c.binary.Flavour, c.binary.Version, dir))
	err = c.each(func(n *Node) error {
		if err := n.prepare(template); err != nil {
			return fmt.Errorf("prepare %s: %w", n.Name(), err)
		}
		return n.Start(ctx)
	})
	if err != nil {
		return err
	}
	return c.join(ctx)
}

// each does the same on all nodes at once.
func (c *Cluster) each(do func(*Node) error) error {
	errs := make([]error, len(c.nodes))
	var group sync.WaitGroup
	for i, n := range c.nodes {
		group.Go(func() { errs[i] = do(n) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// watchEnds closes the cluster when its context ends or, if wanted, at a signal.
func (c *Cluster) watchEnds(ctx context.Context) {
	var signals chan os.Signal
	if c.options.TrapSignals {
		signals = make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-c.closed:
		case <-ctx.Done():
			_ = c.Close() // the caller's own Close returns the same error
		case sig := <-signals:
			_ = c.Close() // the process is about to end
			signal.Stop(signals)
			if number, ok := sig.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), number)
			}
		}
		if signals != nil {
			signal.Stop(signals)
		}
	}()
}

// Flavour returns the flavour of all nodes.
func (c *Cluster) Flavour() Flavour { return c.binary.Flavour }

// Version returns the version of all nodes, such as "10.11.19".
func (c *Cluster) Version() string { return c.binary.Version }

// Accounts returns the logins all nodes know.
func (c *Cluster) Accounts() Accounts { return c.accounts }

// Authority returns what signed the nodes' certificates; nil without Options.TLS.
func (c *Cluster) Authority() *Authority { return c.authority }

// Dir returns the cluster's directory, which Close removes.
func (c *Cluster) Dir() string { return c.dir }

// Nodes returns all nodes; node 0 is the primary of the start.
func (c *Cluster) Nodes() []*Node { return slices.Clone(c.nodes) }

// Node returns node i, counted from 0.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// ByAddress returns the node with an address, nil if no node has it.
func (c *Cluster) ByAddress(address string) *Node {
	for _, n := range c.nodes {
		if n.Address() == address {
			return n
		}
	}
	return nil
}

// Close heals what is broken, kills the servers, and removes everything the
// sandbox made. It may be called any number of times and returns the same error
// each time; after an error the next New on this machine tries again.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.abort()
		<-c.settled
		c.closeErr = c.tearDown()
		close(c.closed)
	})
	<-c.closed
	return c.closeErr
}

func (c *Cluster) tearDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c.mu.Lock()
	active := slices.Clone(c.active)
	c.mu.Unlock()
	for _, a := range slices.Backward(active) {
		a.abandon()
	}
	for _, n := range c.nodes {
		if n.mount != "" {
			thaw(n.mount)
		}
	}
	err := c.each(func(n *Node) error {
		// Not a clean stop: the data is about to be removed.
		err := n.Kill(ctx)
		if n.root != nil {
			_ = n.root.Close() // its server is dead: "bad connection"
		}
		return err
	})
	if c.names != nil {
		_ = c.names.server.Close() // a socket that only we know
	}
	c.launcher.close()
	if err := errors.Join(err, c.slot.release()); err != nil {
		return fmt.Errorf("close the sandbox in %s: %w", c.dir, err)
	}
	return nil
}
