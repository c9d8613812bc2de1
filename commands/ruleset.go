package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/rules"
	"failwise/rules/explain"
	"failwise/rules/lint"
)

// ruleset is the rules that a command looks at, with what belongs to them.
type ruleset struct {
	// cluster is nil unless the configuration gave the rules.
	cluster *config.Cluster
	// file is the statemap file, "" for none.
	file    string
	rules   *rules.Map
	timings rules.Timings
}

// rulesFlags choose rules other than the configured ones.
func rulesFlags(f *pflag.FlagSet) {
	f.String("rules", "", "the statemap `FILE`, on top of the profile")
	f.String("profile", "", "`PROFILE` of rules and timings: tungsten, couchbase or mha")
}

// ruleset finds the rules: those that --rules and --profile give, else those of
// the configured cluster, else the shipped defaults.
func (in *invocation) ruleset() (ruleset, error) {
	if in.IsSet("rules") || in.IsSet("profile") {
		profile, err := in.profile()
		if err != nil {
			return ruleset{}, err
		}
		side, err := in.side(profile, in.String("rules"))
		return ruleset{file: in.String("rules"), rules: side.Rules, timings: side.Timings}, err
	}
	c, err := in.config()
	if err != nil {
		return ruleset{}, err
	}
	if len(c.Clusters) == 0 && in.clusterName() == "" {
		return ruleset{rules: rules.Defaults(), timings: rules.Tungsten.Timings()}, nil
	}
	cluster, err := in.cluster()
	if err != nil {
		return ruleset{}, err
	}
	m, err := in.statemap(cluster)
	return ruleset{cluster: cluster, file: cluster.Statemap, rules: m, timings: cluster.Timings}, err
}

// profile is what --profile gives, the default one if it is not given.
func (in *invocation) profile() (rules.Profile, error) {
	if !in.IsSet("profile") {
		return rules.Tungsten, nil
	}
	p, err := rules.ParseProfile(in.String("profile"))
	if err != nil {
		return p, usagef("--profile: %v", err)
	}
	return p, nil
}

// setup is what explain wants to know beside the rules.
func (r ruleset) setup() explain.Setup {
	s := explain.Setup{Timings: r.timings, Replicas: 2}
	if r.cluster == nil {
		return s
	}
	s.ProbeTypes = probeTypes(r.cluster)
	s.ConfirmReplicas = r.cluster.Confirm.Replicas
	s.Replicas = max(0, len(r.cluster.Nodes)-1)
	return s
}

// lintConfig is what lint wants to know beside a cluster's file.
func lintConfig(c *config.Cluster) *lint.Config {
	return &lint.Config{Timings: c.Timings, ProbeTypes: probeTypes(c), ConfirmReplicas: c.Confirm.Replicas}
}

func probeTypes(c *config.Cluster) []string {
	var types []string
	for _, t := range c.Probe.Types {
		types = append(types, t.String())
	}
	return types
}

// readStatemap reads a statemap file; - is standard input. It reads a little more
// than a statemap can have, so that the parser sees that there is too much.
func (in *invocation) readStatemap(name string) ([]byte, error) {
	r := in.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, misconfigured(fmt.Errorf("read the statemap: %w", err), "docs/rules.md describes the file")
		}
		defer f.Close() //nolint:errcheck // it was only read from
		r = f
	}
	src, err := io.ReadAll(io.LimitReader(r, rules.MaxFileSize+1))
	if err != nil {
		return nil, misconfigured(fmt.Errorf("read the statemap %s: %w", name, err))
	}
	return src, nil
}

// sameFile reports whether two paths name the same file.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	if errors.Join(errX, errY) != nil {
		return false
	}
	return x == y
}
