package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"failwise/commands/config"
	"failwise/failover/journal"
	"failwise/failover/topology"
)

// stateLimit bounds the wait for the state directory.
const stateLimit = 3 * time.Second

// clusterDir is the directory of a cluster's journal and state.
func (in *invocation) clusterDir(c *config.Cluster) (string, error) {
	all, err := in.config()
	if err != nil {
		return "", err
	}
	return journal.ClusterDir(all.StateDir, c.Name), nil
}

// loadState reads a cluster's state file; none at all is the zero state.
func (in *invocation) loadState(ctx context.Context, c *config.Cluster) (journal.State, error) {
	dir, err := in.clusterDir(c)
	if err != nil {
		return journal.State{}, err
	}
	limit, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	s, _, err := journal.NewStateFile(journal.NewDir(dir)).Load(limit)
	return s, stateFailure(err)
}

// changeState changes a cluster's state file; a running watcher takes the change
// in within a second.
func (in *invocation) changeState(ctx context.Context, c *config.Cluster, change func(*journal.State) error) (journal.State, error) {
	dir, err := in.clusterDir(c)
	if err != nil {
		return journal.State{}, err
	}
	limit, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	s, _, err := journal.NewStateFile(journal.NewDir(dir)).Update(limit, change)
	return s, stateFailure(err)
}

// stateFailure says what to do about a state directory that fails.
func stateFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		return refused(err, "run this as the watcher's user, or name a directory of your own with state_dir")
	case errors.Is(err, journal.ErrStalled):
		return refused(err, "look at the disk of the state directory: failwise check storage")
	default:
		return refused(err)
	}
}

// memory is the last healthy topology that a watcher left behind.
func memoryOf(s journal.State) (topology.Memory, error) {
	var m topology.Memory
	if len(s.Topology) > 0 {
		if err := json.Unmarshal(s.Topology, &m); err != nil {
			return m, fmt.Errorf("state file: last healthy topology: %w", err)
		}
	}
	for name, sh := range s.Shunned {
		if sh.FailedOverTo == "" {
			continue
		}
		if m.Deposed == nil {
			m.Deposed = map[string]string{}
		}
		m.Deposed[name] = sh.FailedOverTo
	}
	return m, nil
}

// whoami is the user behind the command, for the record: the one who used sudo
// if somebody did.
func (in *invocation) whoami() string {
	name := in.Getenv("SUDO_USER")
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// readTopology reads all nodes of a cluster and judges them by what a watcher
// remembers. The reader must be closed.
func (in *invocation) readTopology(ctx context.Context, c *config.Cluster) (topology.Topology, *topology.Reader, error) {
	login, err := in.login(ctx, c.Manage)
	if err != nil {
		return topology.Topology{}, nil, err
	}
	list, err := members(c.Nodes, login)
	if err != nil {
		return topology.Topology{}, nil, misconfigured(err)
	}
	state, err := in.loadState(ctx, c)
	if err != nil {
		in.remark("%v: judging without what a watcher remembers", err)
	}
	memory, err := memoryOf(state)
	if err != nil {
		in.remark("%v", err)
	}
	timeout := in.duration("timeout")
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reader := topology.NewReader(list, share(ctx, 5*time.Second))
	return topology.Judge(reader.ReadDeep(ctx), memory, time.Now()), reader, nil
}
