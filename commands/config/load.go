package config

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"failwise/rules"
)

// Options are what the command line and the process bring along.
type Options struct {
	// File is --config; "" looks at FAILWISE_CONFIG and the usual places.
	File string
	// Cluster is --cluster; it names a cluster given by flags alone.
	Cluster string
	// Hosts (-H) or Socket (-S) give a cluster by flags alone.
	Hosts  []string
	Socket string
	// Flags are the values of the global flags that were given, by their names
	// without dashes.
	Flags map[string]string
	// Environ is the environment as "name=value".
	Environ []string
	// Root: the process runs as the super-user.
	Root bool
	// Reach also reports files that cannot be read and programs that cannot be run.
	Reach bool
}

// Load reads the configuration. Its error is an [*Error] if something in the
// configuration is wrong. A configuration without a file is not an error: it has
// the defaults, and the cluster given by flags if there is one.
func Load(o Options) (*Config, []string, error) {
	p := &problems{}
	file, err := o.find()
	if err != nil {
		return nil, nil, err
	}
	doc := &document{}
	if file != "" {
		if doc, err = readFile(file, home(o.Environ), p); err != nil {
			return nil, nil, err
		}
	}
	envProcess, envCluster, warnings := environment(o.Environ, p)
	flags := o.flagLayer(p)
	c := &Config{File: file, process: stack(defaultLayer(false), doc.process, envProcess)}
	c.assemble(o)
	b := builder{problems: p, file: file, home: home(o.Environ), dir: filepath.Dir(file)}
	c.Server = b.cluster("", nil, doc.defaults, nil, envCluster, flags)
	if len(o.Hosts) > 0 || o.Socket != "" {
		c.Clusters = []*Cluster{b.adHoc(o, doc.defaults, envCluster, flags)}
		if o.Reach {
			c.reach(&b)
		}
		return c, warnings, p.err()
	}
	for i := range doc.clusters {
		c.Clusters = append(c.Clusters, b.cluster(doc.clusters[i].name, &doc.clusters[i], doc.defaults, nil, envCluster, flags))
	}
	if o.Reach {
		c.reach(&b)
	}
	return c, warnings, p.err()
}

// find returns the file to read, "" if there is none.
func (o Options) find() (string, error) {
	if o.File != "" {
		return o.File, nil
	}
	if file := lookup(o.Environ, "FAILWISE_CONFIG"); file != "" {
		return file, nil
	}
	for _, file := range o.places() {
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return "", fmt.Errorf("look for a configuration: %w", err)
		case info.IsDir():
			continue
		}
		if err := trusted(file, info); err != nil {
			return "", err
		}
		return file, nil
	}
	return "", nil
}

// Candidates are the files that [Load] looks for, the first one that exists is read.
func (o Options) Candidates() []string {
	if o.File != "" {
		return []string{o.File}
	}
	if file := lookup(o.Environ, "FAILWISE_CONFIG"); file != "" {
		return []string{file}
	}
	return o.places()
}

// places are where a file is looked for, the first one that exists counts.
func (o Options) places() []string {
	places := []string{"failwise.yaml"}
	if dir := lookup(o.Environ, "XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		places = append(places, filepath.Join(dir, "failwise", "failwise.yaml"))
	} else if h := home(o.Environ); h != "" {
		places = append(places, filepath.Join(h, ".config", "failwise", "failwise.yaml"))
	}
	return append(places, "/etc/failwise/failwise.yaml")
}

// UntrustedError says that a configuration was found where someone else could
// have put it; it may name programs to run.
type UntrustedError struct{ File, Reason, Hint string }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("found the configuration %s, but %s", e.File, e.Reason)
}

// Hints says how to mend it, and how to use the file all the same.
func (e *UntrustedError) Hints() []string {
	return []string{e.Hint, "or give it with --config if it is yours: failwise --config " + e.File}
}

// flagLayer is what the global flags set.
func (o Options) flagLayer(p *problems) *layer {
	l := newLayer(fromFlag)
	working, err := os.Getwd()
	if err != nil {
		working = "/"
	}
	for _, k := range Keys() {
		value, given := o.Flags[k.Flag]
		if k.Flag == "" || !given {
			continue
		}
		at := place{source: "flag --" + k.Flag}
		v, err := k.parse(value)
		if err != nil {
			p.add(at, hintOf(err), "%v", err)
			continue
		}
		if k.Kind == Path {
			v = absolute(value, working, home(o.Environ))
		}
		l.set(k.Name, v, at)
	}
	return l
}

// defaultLayer is what holds without any setting.
func defaultLayer(cluster bool) *layer {
	l := newLayer(fromDefault)
	for _, k := range Keys() {
		if k.Cluster != cluster || k.Default == "" || k.Kind == Block {
			continue
		}
		v, err := k.parse(k.Default)
		if err != nil {
			panic(fmt.Sprintf("default of %s: %v", k.Name, err)) // a test reads every default
		}
		l.set(k.Name, v, place{source: "default"})
	}
	return l
}

// profileLayer is what a profile brings along.
func profileLayer(p rules.Profile) *layer {
	l, t := newLayer(fromProfile), p.Timings()
	at := place{source: "profile " + p.String()}
	values := map[string]any{
		"tick": t.Tick, "settle": t.Settle, "settle_restarts": t.SettleRestarts, "quota": t.Quota,
		"age_limit": t.AgeLimit, "retry": t.Retry, "attempts": t.Attempts,
		"probe.interval": t.ProbeInterval, "probe.budget": t.ProbeBudget,
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		l.set(key, values[key], at)
	}
	return l
}

// assemble fills the process's own part.
func (c *Config) assemble(o Options) {
	c.StateDir = c.process.text("state_dir")
	if c.StateDir == "" {
		c.StateDir = o.stateDir()
	}
	c.Metrics = c.process.text("metrics")
	c.LogFormat = c.process.text("log_format")
	c.JournalMaxSize = int64(c.process.count("journal.max_size")) << 20
	c.Watcher.Name = c.process.text("watcher.name")
	if c.Watcher.Name == "" {
		if host, err := os.Hostname(); err == nil {
			c.Watcher.Name = host
		} else {
			c.Watcher.Name = "watcher"
		}
	}
	c.Watcher.ID = uint64(c.process.count("watcher.id"))
	if c.Watcher.ID == 0 {
		h := fnv.New32a()
		h.Write([]byte(c.Watcher.Name)) // a hash takes everything
		c.Watcher.ID = max(1, uint64(h.Sum32()))
	}
}

// stateDir is the default of state_dir.
func (o Options) stateDir() string {
	if o.Root {
		return "/var/lib/failwise"
	}
	if dir := lookup(o.Environ, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "failwise")
	}
	if h := home(o.Environ); h != "" {
		return filepath.Join(h, ".local", "state", "failwise")
	}
	return filepath.Join(os.TempDir(), "failwise")
}
