package commands

import (
	"context"
	"fmt"

	"failwise/commands/config"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/failover/watch"
)

// watchConfig is what a watcher of a cluster is told. It resolves the passwords.
func (in *invocation) watchConfig(ctx context.Context, c *config.Cluster) (watch.Config, error) {
	all, err := in.config()
	if err != nil {
		return watch.Config{}, err
	}
	if c.Lock.Etcd != nil {
		return watch.Config{}, misconfigured(fmt.Errorf("cluster %s: lock.etcd is not supported by this version: only the file lock is", c.Name),
			"remove lock.etcd: then one watcher per host may act")
	}
	monitor, err := in.login(ctx, c.Monitor)
	if err != nil {
		return watch.Config{}, err
	}
	manage, err := in.login(ctx, c.Manage)
	if err != nil {
		return watch.Config{}, err
	}
	policy, err := failover.ParsePolicy(c.Policy)
	if err != nil {
		return watch.Config{}, misconfigured(err)
	}
	votes, err := watch.ParseVotes(c.Confirm.Replicas)
	if err != nil {
		return watch.Config{}, misconfigured(err)
	}
	settings, err := promotionSettings(c)
	if err != nil {
		return watch.Config{}, misconfigured(err)
	}
	account, err := in.replicationAccount(ctx, c)
	if err != nil {
		return watch.Config{}, err
	}
	dir := journal.ClusterDir(all.StateDir, c.Name)
	bound := all.JournalMaxSize
	if bound == 0 {
		bound = journal.NoBound
	}
	out := watch.Config{
		Cluster: c.Name, Name: all.Watcher.Name, ID: all.Watcher.ID, Version: in.Build.Version,
		Profile: c.Profile, Statemap: c.Statemap, Timings: c.Timings, Policy: policy,
		Probe: watch.Probing{Types: c.Probe.Types, Query: c.Probe.Query, Limits: c.Probe.Limits},
		Votes: votes, RoutesMajority: c.Confirm.Require == "majority",
		Promotion: settings, Account: account, Hooks: c.Hooks, EnforceReadOnly: c.EnforceReadOnly,
		RefillRecovered: c.QuotaRefill.Recovered, RefillAfter: c.QuotaRefill.After,
		Dir: dir, JournalMaxBytes: bound, Locker: lock.NewFile(journal.NewDir(dir), all.Watcher.Name),
	}
	for _, r := range c.Confirm.Routes {
		out.Routes = append(out.Routes, watch.Route{Argv: r.Command, Contract: r.Contract, Timeout: r.Timeout})
	}
	for _, n := range c.Nodes {
		preference, err := topology.ParsePreference(n.Promote.String())
		if err != nil {
			return watch.Config{}, misconfigured(err)
		}
		out.Nodes = append(out.Nodes, watch.Node{
			Name: n.Name, Monitor: n.Server(monitor), Manage: n.Server(manage), Preference: preference, Site: n.Site,
		})
	}
	return out, nil
}

func promotionSettings(c *config.Cluster) (promote.Settings, error) {
	require, err := promote.ParseRequirement(c.Fence.Require)
	if err != nil {
		return promote.Settings{}, err
	}
	onTimeout, err := promote.ParseOnTimeout(c.CatchUp.OnTimeout)
	if err != nil {
		return promote.Settings{}, err
	}
	s := promote.Settings{
		Fence: c.Fence.Timeout, FenceRequire: require, CatchUp: c.CatchUp.Timeout, CatchUpOnTimeout: onTimeout,
		Repoint: c.Repoint, Verify: c.Verify,
		Block: c.Switch.Block, MaxLag: c.Switch.MaxLag, LongTransaction: c.Switch.LongTransaction,
	}
	if c.MaxLostTransactions >= 0 {
		most := uint64(c.MaxLostTransactions)
		s.MaxLost = &most
	}
	return s, nil
}

// replicationAccount is what a demoted primary replicates with; the zero value
// where none is configured.
func (in *invocation) replicationAccount(ctx context.Context, c *config.Cluster) (promote.Account, error) {
	if c.Replication.User == "" {
		return promote.Account{}, nil
	}
	l, err := in.login(ctx, c.Replication.Account)
	if err != nil {
		return promote.Account{}, err
	}
	a := promote.Account{User: l.User, Secret: l.Secret}
	if c.Replication.SSL {
		a.TLS = &mysql.ChannelTLS{
			Enabled: true, CA: c.Replication.SSLCA, Cert: c.Replication.SSLCert, Key: c.Replication.SSLKey, Verify: c.Replication.SSLVerify,
		}
	}
	return a, nil
}
