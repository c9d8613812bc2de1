package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"failwise/check"
	"failwise/commands/config"
	"failwise/rules"
)

// config reads the configuration once.
func (in *invocation) config() (*config.Config, error) {
	if in.loaded != nil {
		return in.loaded, nil
	}
	c, err := in.loadConfig(false)
	if err != nil {
		return nil, err
	}
	in.loaded = c
	return c, nil
}

// loadConfig reads the configuration; reach also looks at the files and programs
// that it names.
func (in *invocation) loadConfig(reach bool) (*config.Config, error) {
	flags := map[string]string{}
	for _, k := range config.Keys() {
		if k.Flag != "" && in.IsSet(k.Flag) {
			flags[k.Flag] = in.String(k.Flag)
		}
	}
	c, warnings, err := config.Load(config.Options{
		File: in.String("config"), Cluster: in.clusterName(),
		Hosts: in.StringSlice("host"), Socket: in.String("socket"),
		Flags: flags, Environ: in.Environ(), Root: os.Geteuid() == 0, Reach: reach,
	})
	for _, w := range warnings {
		in.remark("%s", w)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, misconfigured(err, "correct the name; docs/configuration.md shows a file to begin with")
	}
	if err != nil {
		return nil, misconfigured(err)
	}
	return c, nil
}

func (in *invocation) clusterName() string {
	if name := in.String("cluster"); name != "" {
		return name
	}
	return in.Getenv("FAILWISE_CLUSTER")
}

// cluster is the cluster to work on: the one that --cluster names, the one given
// by -H, or the only one there is.
func (in *invocation) cluster() (*config.Cluster, error) {
	c, err := in.config()
	if err != nil {
		return nil, err
	}
	name := in.clusterName()
	if len(c.Clusters) == 1 && c.Clusters[0].AdHoc {
		name = c.Clusters[0].Name
	}
	cluster, err := c.Cluster(name)
	if err != nil {
		return nil, misconfigured(err)
	}
	return cluster, nil
}

// clusterNames lists the configured clusters for the shell's completion, which
// has no use for errors.
func (in *invocation) clusterNames() []string {
	c, err := in.config()
	if err != nil {
		return nil
	}
	var names []string
	for _, each := range c.Clusters {
		names = append(names, each.Name)
	}
	return names
}

// nodeNames lists the names of all configured nodes for the shell's completion.
func (in *invocation) nodeNames() []string {
	c, err := in.config()
	if err != nil {
		return nil
	}
	var names []string
	for _, each := range c.Clusters {
		names = append(names, each.NodeNames()...)
	}
	return names
}

// target finds the server that an operand means: a node of the configuration by
// its name or address, or else an address. Without an operand it is the one that
// -H or -S gives. The cluster is the one whose settings hold for it.
func (in *invocation) target(operand string) (*config.Cluster, config.Node, error) {
	c, err := in.config()
	if err != nil {
		return nil, config.Node{}, err
	}
	if operand == "" {
		if len(c.Clusters) == 1 && c.Clusters[0].AdHoc && len(c.Clusters[0].Nodes) == 1 {
			return c.Clusters[0], c.Clusters[0].Nodes[0], nil
		}
		return nil, config.Node{}, usagef("%s needs one TARGET", in.command.line()).
			hint("%s db1, or db1:3307, or unix:/run/mysqld/mysqld.sock", in.command.line())
	}
	var cluster *config.Cluster
	var node config.Node
	for _, each := range c.Clusters {
		if name := in.clusterName(); name != "" && each.Name != name && !each.AdHoc {
			continue
		}
		n, found := each.Node(operand)
		switch {
		case !found:
		case cluster != nil:
			return nil, node, usagef("both clusters %s and %s have a node %s", cluster.Name, each.Name, operand).
				hint("choose with --cluster %s", cluster.Name)
		default:
			cluster, node = each, n
		}
	}
	if cluster != nil {
		return cluster, node, nil
	}
	address, err := check.ParseAddress(operand, c.Server.Port())
	if err != nil {
		return nil, node, &failure{exit: ExitUsage, err: err}
	}
	return c.Server, config.Node{Name: operand, Address: address}, nil
}

// statemap is the rules of a cluster: its profile's with its own file on top.
// Warnings about the file are remarks.
func (in *invocation) statemap(c *config.Cluster) (*rules.Map, error) {
	base := c.Profile.Rules()
	if c.Statemap == "" {
		return base, nil
	}
	text, err := os.ReadFile(c.Statemap)
	if err != nil {
		return nil, misconfigured(fmt.Errorf("read the statemap: %w", err), "the key statemap names the file; docs/rules.md describes it")
	}
	m, warnings, err := rules.Parse(c.Statemap, text, base)
	for i := range warnings {
		in.remark("%v", &warnings[i])
	}
	if err != nil {
		return nil, misconfigured(err, "failwise lint "+c.Statemap)
	}
	return m, nil
}

// login resolves an account's user and password. The context bounds it, whatever
// hangs.
func (in *invocation) login(ctx context.Context, a config.Account) (config.Login, error) {
	s := config.Sources{
		Environ: in.Environ(), Root: os.Geteuid() == 0,
		Warn: func(text string) {
			if in.dialogue.first(text) { // the same account may serve many clusters
				in.remark("%s", text)
			}
		},
	}
	if in.Bool("ask-password") {
		if !in.IsTerminal(Stdin) {
			return config.Login{}, usagef("-p asks for a password, but standard input is no terminal").
				hint("use --password-file, FAILWISE_PASSWORD or ~/.my.cnf")
		}
		s.Prompt = func(user string) (check.Secret, error) { return in.dialogue.password(user, in.prompt) }
	}
	l, err := a.Resolve(ctx, s)
	var p *config.PasswordError
	var o *config.OptionFileError
	switch {
	case errors.As(err, &p), errors.As(err, &o), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return l, misconfigured(err)
	}
	return l, err
}

// dialogue is what the user has been told and asked in this run, so that it happens
// once. It is safe for concurrent use.
type dialogue struct {
	mu        sync.Mutex
	told      map[string]bool
	passwords map[string]check.Secret
}

// first reports whether a text is new.
func (d *dialogue) first(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil {
		d.told = map[string]bool{}
	}
	old := d.told[text]
	d.told[text] = true
	return !old
}

// password is a user's password, prompted for once.
func (d *dialogue) password(user string, prompt func(string) (check.Secret, error)) (check.Secret, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, known := d.passwords[user]; known {
		return s, nil
	}
	s, err := prompt(user)
	if err != nil {
		return s, err
	}
	if d.passwords == nil {
		d.passwords = map[string]check.Secret{}
	}
	d.passwords[user] = s
	return s, nil
}

func (in *invocation) prompt(user string) (check.Secret, error) {
	fmt.Fprintf(in.Err, "password of %s: ", user)
	text, err := in.ReadPassword()
	fmt.Fprintln(in.Err)
	if err != nil {
		return check.Secret{}, fmt.Errorf("read the password: %w", err)
	}
	return check.NewSecret(string(text)), nil
}
