package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/failover/mysql"
	"failwise/rules/lint"
)

// lintReport is the JSON output of lint.
type lintReport struct {
	Files    []string       `json:"files"`
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Findings []lint.Finding `json:"findings"`
	Ignored  []lint.Finding `json:"ignored"`
}

func lintCommand() *command {
	return &command{
		name:     "lint",
		brief:    true,
		operands: "[FILE…]",
		summary:  "find settings of a statemap that cannot do what they were meant to do",
		about: "Without FILE the statemaps of the configured clusters are checked, together with their times and probe types;\n" +
			"so is a FILE that a cluster of the configuration uses. - is standard input. docs/lint.md explains each code, and how\n" +
			"a comment accepts a finding.\n\n" +
			"Exit code 0: nothing, or warnings only; 1: warnings, with --strict; 2: errors.",
		examples: []example{
			{"lint my.properties", "before it goes to production"},
			{"lint --strict my.properties", "in CI: warnings fail as well"},
			{"lint --cluster prod --live", "with what the replicas' settings say"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("profile", "", "`PROFILE` beneath the file: tungsten, couchbase or mha")
			f.Bool("strict", false, "fail on warnings, too")
			f.Bool("live", false, "ask the cluster's servers for the settings that matter")
		},
		max: -1,
		run: func(ctx context.Context, in *invocation) error { return in.lint(ctx) },
	}
}

func (in *invocation) lint(ctx context.Context) error {
	inputs, err := in.lintInputs(ctx)
	if err != nil {
		return err
	}
	r := lintReport{Files: []string{}, Findings: []lint.Finding{}, Ignored: []lint.Finding{}}
	for _, input := range inputs {
		report := lint.Run(input)
		r.Files = append(r.Files, input.Name)
		r.Errors += report.Count(lint.Error)
		r.Warnings += report.Count(lint.Warning)
		r.Findings = append(r.Findings, report.Findings...)
		r.Ignored = append(r.Ignored, report.Ignored...)
	}
	if in.JSON() {
		err = in.printJSON(r)
	} else {
		err = in.printFindings(r)
	}
	switch {
	case err != nil:
		return err
	case r.Errors > 0:
		return exitWith(ExitUsage)
	case r.Warnings > 0 && in.Bool("strict"):
		return exitWith(ExitRefused)
	}
	return nil
}

func (in *invocation) printFindings(r lintReport) error {
	paint := in.paint(Stdout)
	style := func(part lint.Part, severity lint.Severity, text string) string {
		switch part {
		case lint.PartPlace:
			return paint.bold(text)
		case lint.PartSeverity, lint.PartCaret:
			if severity == lint.Error {
				return paint.red(text)
			}
			return paint.yellow(text)
		default:
			return paint.dim(text)
		}
	}
	for _, f := range r.Findings {
		if err := in.write(lint.Render(f, style)); err != nil {
			return err
		}
	}
	if r.Errors+r.Warnings > 0 {
		in.remark("%s, %s", plural(r.Errors, "error"), plural(r.Warnings, "warning"))
	} else {
		in.remark("%s: nothing found", plural(len(r.Files), "statemap"))
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// lintInputs are the files to check, each with what is known beside it.
func (in *invocation) lintInputs(ctx context.Context) ([]lint.Input, error) {
	c, err := in.config()
	if err != nil {
		return nil, err
	}
	if in.clusterName() != "" {
		if _, err := in.cluster(); err != nil {
			return nil, err
		}
	}
	var inputs []lint.Input
	for _, file := range in.Operands() {
		users := in.usersOf(c, file)
		if len(users) == 0 {
			users = []*config.Cluster{nil}
		}
		for _, cluster := range users {
			input, err := in.lintInput(ctx, cluster, file)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, input)
		}
	}
	if len(in.Operands()) > 0 {
		return inputs, nil
	}
	for _, cluster := range in.lintClusters(c) {
		input, err := in.lintInput(ctx, cluster, cluster.Statemap)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	if len(inputs) == 0 {
		return nil, usagef("%s needs FILE: no cluster is configured", in.command.line()).
			hint("failwise lint my.properties")
	}
	return inputs, nil
}

// lintClusters are the clusters to look at: the one that --cluster names, or all.
func (in *invocation) lintClusters(c *config.Config) []*config.Cluster {
	var list []*config.Cluster
	for _, cluster := range c.Clusters {
		if name := in.clusterName(); name == "" || name == cluster.Name {
			list = append(list, cluster)
		}
	}
	return list
}

// usersOf are the clusters whose times and probe types go with a file: those that
// name it, else the one that --cluster names.
func (in *invocation) usersOf(c *config.Config, file string) []*config.Cluster {
	var list []*config.Cluster
	for _, cluster := range in.lintClusters(c) {
		if sameFile(cluster.Statemap, file) || in.clusterName() != "" {
			list = append(list, cluster)
		}
	}
	return list
}

// lintInput reads a file and what is known beside it. A cluster without a file is
// checked all the same: its profile may not go with its times.
func (in *invocation) lintInput(ctx context.Context, cluster *config.Cluster, file string) (lint.Input, error) {
	input := lint.Input{Name: file}
	profile, err := in.profile()
	if err != nil {
		return input, err
	}
	if cluster != nil {
		if !in.IsSet("profile") {
			profile = cluster.Profile
		}
		input.Config = lintConfig(cluster)
		if file == "" {
			input.Name = "cluster " + cluster.Name
		}
	}
	input.Base = profile.Rules()
	if file != "" {
		if input.Source, err = in.readStatemap(file); err != nil {
			return input, err
		}
	}
	if !in.Bool("live") {
		return input, nil
	}
	if cluster == nil {
		return input, usagef("--live needs a cluster to ask").hint("%s --live --cluster NAME %s", in.command.line(), file)
	}
	input.Config.ReplicaNetTimeout, err = in.replicaNetTimeout(ctx, cluster)
	return input, err
}

// replicaNetTimeout is the longest replica_net_timeout (slave_net_timeout) of the
// cluster's servers. A server that cannot be asked is a remark.
func (in *invocation) replicaNetTimeout(ctx context.Context, cluster *config.Cluster) (time.Duration, error) {
	login, err := in.login(ctx, cluster.Monitor)
	if err != nil {
		return 0, err
	}
	limit := 10 * time.Second
	if in.IsSet("timeout") {
		limit = in.duration("timeout")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	longest := time.Duration(0)
	for _, n := range cluster.Nodes {
		d, err := netTimeoutOf(ctx, mysql.NewSession(n.Server(login)))
		if err != nil {
			in.remark("%s: %v", n.Name, err)
			continue
		}
		longest = max(longest, d)
	}
	if longest == 0 {
		return 0, refused(errors.New("no server of cluster "+cluster.Name+" could be asked for its replica_net_timeout"),
			"failwise doctor says why")
	}
	return longest, nil
}

func netTimeoutOf(ctx context.Context, s *mysql.Session) (time.Duration, error) {
	defer s.Close() //nolint:errcheck // the answer is there
	v, err := s.Version(ctx)
	if err != nil {
		return 0, err
	}
	name := "replica_net_timeout"
	if v.Flavour == mysql.MariaDB || !v.AtLeast(8, 0, 26) {
		name = "slave_net_timeout"
	}
	values, err := s.Globals(ctx, name)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(values[name])
	if err != nil {
		return 0, fmt.Errorf("%s is %q", name, values[name])
	}
	return time.Duration(seconds) * time.Second, nil
}
