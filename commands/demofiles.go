package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"failwise/failover/sandbox"
)

func (d *demo) stateDir() string   { return filepath.Join(d.cluster.Dir(), "state") }
func (d *demo) configFile() string { return filepath.Join(d.cluster.Dir(), "failwise.yaml") }

func (d *demo) clientFile(n *sandbox.Node) string { return filepath.Join(n.Dir(), "client.cnf") }

// writeFiles writes what a user needs to look around in a cluster that is kept: a
// configuration of failwise and an option file for each node's client. They hold
// passwords of throw-away accounts, are readable by their owner alone, and go with
// the cluster.
func (d *demo) writeFiles() error {
	accounts := d.cluster.Accounts()
	secret := func(a sandbox.Account) (string, error) {
		path := filepath.Join(d.cluster.Dir(), a.User+".password")
		return path, os.WriteFile(path, []byte(a.Password+"\n"), 0o600)
	}
	var blocks []string
	for _, each := range []struct {
		key string
		a   sandbox.Account
	}{{"manage", accounts.Act}, {"replication", accounts.Repl}} {
		path, err := secret(each.a)
		if err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
		blocks = append(blocks, fmt.Sprintf("    %s: {user: %s, password_file: %s}\n", each.key, each.a.User, path))
	}
	monitor, err := secret(accounts.Monitor)
	if err != nil {
		return fmt.Errorf("write the demo's files: %w", err)
	}
	var nodes []string
	for _, n := range d.cluster.Nodes() {
		nodes = append(nodes, fmt.Sprintf("{name: %s, address: %q}", n.Name(), n.Address()))
		client := fmt.Sprintf("[client]\nuser=%s\npassword=%q\nsocket=%s\n", accounts.Root.User, accounts.Root.Password, n.Socket())
		if err := os.WriteFile(d.clientFile(n), []byte(client), 0o600); err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
	}
	text := fmt.Sprintf("state_dir: %s\nclusters:\n  demo:\n    nodes: [%s]\n    user: %s\n    password_file: %s\n%s    tick: %s\n    probe: {interval: %s}\n",
		d.stateDir(), strings.Join(nodes, ", "), accounts.Monitor.User, monitor, strings.Join(blocks, ""), d.timings.Tick, d.timings.ProbeInterval)
	if err := os.WriteFile(d.configFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the demo's files: %w", err)
	}
	return nil
}
