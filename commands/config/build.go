package config

import (
	"fmt"
	"slices"
	"strings"

	"failwise/check"
	"failwise/rules"
)

// builder turns settings into clusters. What is wrong goes to problems.
type builder struct {
	problems        *problems
	file, dir, home string
}

// cluster builds one cluster; block is nil for a cluster given by flags alone
// and for a server outside of all clusters.
func (b *builder) cluster(name string, block *clusterBlock, defaults, adHoc, environment, flags *layer) *Cluster {
	own := newLayer(fromCluster)
	if block != nil {
		own = block.layer
	}
	base := defaultLayer(true)
	profileName, _ := top("profile", base, defaults, own, adHoc, environment, flags).(string)
	profile, err := rules.ParseProfile(profileName)
	if err != nil {
		profile = rules.Tungsten // reported where it was read
	}
	s := stack(base, profileLayer(profile), defaults, own, adHoc, environment, flags)
	c := &Cluster{Name: name, AdHoc: adHoc != nil, Profile: profile, settings: s}
	if node, found := s.blocks["nodes"]; found {
		c.Nodes = b.nodes(node, c)
	} else if block != nil {
		b.problems.add(block.at, "", "cluster %s has no nodes", name)
	}
	b.accounts(c)
	b.judge(c)
	b.act(c)
	return c
}

// adHoc builds the cluster given by -H or -S. It is manual unless --policy says
// otherwise: nobody promotes by accident.
func (b *builder) adHoc(o Options, defaults, environment, flags *layer) *Cluster {
	manual := newLayer(fromAdHoc)
	manual.set("policy", "manual", place{source: "cluster given by flags"})
	env := newLayer(fromEnvironment)
	for k, v := range environment.values {
		if k != "policy" {
			env.set(k, v, environment.places[k])
		}
	}
	c := b.cluster(o.Cluster, nil, defaults, manual, env, flags)
	hosts := slices.Clone(o.Hosts)
	if o.Socket != "" {
		hosts = append(hosts, "unix:"+absolute(o.Socket, "/", b.home))
	}
	for _, host := range hosts {
		address, err := check.ParseAddress(host, c.Port())
		if err != nil {
			b.problems.add(place{source: "flag --host"}, "", "%v", err)
			continue
		}
		b.addNode(c, Node{Name: address.String(), Address: address}, place{source: "flag --host"})
	}
	if c.Name == "" && len(c.Nodes) > 0 {
		c.Name = adHocName(c.Nodes)
	}
	return c
}

// adHocName names a cluster by its smallest address, so that the order of the
// flags does not matter to where its state is kept.
func adHocName(nodes []Node) string {
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.Address.String())
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, slices.Min(addresses))
}

// Port is the port of servers that name none.
func (c *Cluster) Port() uint16 { return uint16(c.settings.count("port")) }

// accounts fills who logs in.
func (b *builder) accounts(c *Cluster) {
	s := c.settings
	mode, _ := check.ParseTLSMode(s.text("ssl_mode")) // a bad one was reported
	tls := check.TLSOptions{Mode: mode, CA: s.text("ssl_ca"), Cert: s.text("ssl_cert"), Key: s.text("ssl_key")}
	if (tls.Cert == "") != (tls.Key == "") {
		b.problems.add(s.place("ssl_cert", "ssl_key"), "", "ssl_cert and ssl_key must be given together")
	}
	c.Monitor = b.account(s, "", tls)
	c.Monitor.OptionFile = s.text("defaults_file")
	c.Monitor.monitor = true
	c.Manage = c.Monitor
	if s.text("manage.user") != "" {
		c.Manage = b.account(s, "manage.", tls)
	}
	c.Replication = Replication{
		Account: b.account(s, "replication.", check.TLSOptions{}),
		SSL:     s.flag("replication.ssl"), SSLVerify: s.flag("replication.ssl_verify"),
		SSLCA: s.text("replication.ssl_ca"), SSLCert: s.text("replication.ssl_cert"), SSLKey: s.text("replication.ssl_key"),
	}
}

func (b *builder) account(s *settings, prefix string, tls check.TLSOptions) Account {
	a := Account{
		User:        s.text(prefix + "user"),
		Variable:    "FAILWISE_" + strings.ToUpper(strings.ReplaceAll(prefix, ".", "_")) + "PASSWORD",
		TLS:         tls,
		UserIsAFlag: s.origin(prefix+"user").rank == fromFlag,
	}
	file, command := s.origin(prefix+"password_file"), s.origin(prefix+"password_command")
	a.PasswordFile, a.PasswordCommand = s.text(prefix+"password_file"), s.list(prefix+"password_command")
	switch {
	case a.PasswordFile == "" || len(a.PasswordCommand) == 0:
	case file.rank > command.rank:
		a.PasswordCommand = nil
	case file.rank < command.rank:
		a.PasswordFile = ""
	default:
		b.problems.add(command.place, "", "%spassword_file and %spassword_command are both set", prefix, prefix)
	}
	a.FromFlag = max(file.rank, command.rank) == fromFlag
	return a
}

// place is where the first of the keys that was set stands.
func (s *settings) place(keys ...string) place {
	for _, k := range keys {
		if o, found := s.origins[k]; found && o.rank != fromDefault {
			return o.place
		}
	}
	return place{source: "configuration"}
}

// judge fills rules, times and probes.
func (b *builder) judge(c *Cluster) {
	s := c.settings
	c.Statemap = s.text("statemap")
	c.Policy = s.text("policy")
	c.Timings = c.Profile.Timings()
	c.Timings.Tick = s.duration("tick")
	c.Timings.Settle = s.count("settle")
	c.Timings.SettleRestarts = s.count("settle_restarts")
	c.Timings.Quota = s.count("quota")
	c.Timings.AgeLimit = s.duration("age_limit")
	c.Timings.Retry = s.duration("retry")
	c.Timings.Attempts = s.count("attempts")
	c.Timings.ProbeInterval = s.duration("probe.interval")
	c.Timings.ProbeBudget = s.duration("probe.budget")
	c.QuotaRefill, _ = parseQuotaRefill(s.text("quota_refill"))              // a bad one was reported
	c.MaxLostTransactions, _ = parseMaxLost(s.text("max_lost_transactions")) // a bad one was reported
	c.Probe.Query = s.text("probe.query")
	for _, name := range s.list("probe.types") {
		t, err := check.ParseType(name)
		switch {
		case err != nil: // a bad one was reported
		case slices.Contains(c.Probe.Types, t):
			b.problems.add(s.place("probe.types"), "", "probe.types names %s twice", name)
		default:
			c.Probe.Types = append(c.Probe.Types, t)
		}
	}
	if len(c.Probe.Types) == 0 {
		b.problems.add(s.place("probe.types"), "", "probe.types is empty")
	}
	c.Probe.Limits = check.Limits{
		Total:   c.Timings.ProbeBudget,
		Resolve: s.duration("probe.limits.resolve"), Connect: s.duration("probe.limits.connect"),
		Greeting: s.duration("probe.limits.greeting"), Login: s.duration("probe.limits.login"),
		Send: s.duration("probe.limits.send"), Execute: s.duration("probe.limits.execute"),
		Results: s.duration("probe.limits.results"),
	}
}

// act fills what happens once an alarm has expired.
func (b *builder) act(c *Cluster) {
	s := c.settings
	c.Confirm = Confirm{Replicas: s.text("confirm.replicas"), Require: s.text("confirm.require")}
	if node, found := s.blocks["confirm.routes"]; found {
		c.Confirm.Routes = b.routes(node, s.duration("confirm.timeout"))
	}
	c.CatchUp = CatchUp{Timeout: s.duration("catch_up.timeout"), OnTimeout: s.text("catch_up.on_timeout")}
	c.Fence = Fence{Require: s.text("fence.require"), Timeout: s.duration("fence.timeout")}
	c.Repoint, c.Verify = s.duration("repoint.timeout"), s.duration("verify.timeout")
	c.Switch = Switch{Block: s.duration("switch.block"), MaxLag: s.duration("switch.max_lag"), LongTransaction: s.duration("switch.long_transaction")}
	c.EnforceReadOnly = s.flag("enforce_read_only")
	if node, found := s.blocks["hooks"]; found {
		c.Hooks.Hooks = b.hooks(node)
	}
	if node, found := s.blocks["webhooks"]; found {
		c.Hooks.Webhooks = b.webhooks(node)
	}
	if node, found := s.blocks["lock"]; found {
		c.Lock = b.lock(node)
	}
}

func (b *builder) addNode(c *Cluster, n Node, at place) {
	for _, other := range c.Nodes {
		switch {
		case other.Name == n.Name:
			b.problems.add(at, "", "two nodes are called %s", n.Name)
			return
		case other.Address == n.Address:
			b.problems.add(at, "", "nodes %s and %s have the same address %s", other.Name, n.Name, n.Address)
			return
		}
	}
	c.Nodes = append(c.Nodes, n)
}

// String names a cluster and its nodes.
func (c *Cluster) String() string {
	return fmt.Sprintf("%s (%s)", c.Name, strings.Join(c.NodeNames(), ", "))
}
