package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"failwise/commands/suggest"
)

// reserved are the variables that begin with FAILWISE_ and are no settings: what
// the program reads elsewhere, and what it tells its hooks, which may call it.
var reserved = [...]string{
	"FAILWISE_CONFIG", "FAILWISE_CLUSTER",
	"FAILWISE_PASSWORD", "FAILWISE_MANAGE_PASSWORD", "FAILWISE_REPLICATION_PASSWORD",
}

// environment reads the settings in the environment; what a hook is told and
// other programs' variables pass.
func environment(environ []string, p *problems) (process, cluster *layer, warnings []string) {
	process, cluster = newLayer(fromEnvironment), newLayer(fromEnvironment)
	if !slices.ContainsFunc(environ, func(s string) bool { return strings.HasPrefix(s, "FAILWISE_") }) {
		return process, cluster, nil
	}
	working, err := os.Getwd()
	if err != nil {
		working = "/"
	}
	byName, names := variables()
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "FAILWISE_") {
			continue
		}
		k, found := byName[name]
		switch {
		case !found && !contains(reserved[:], name):
			if near := suggest.Nearest(name, names); near != "" {
				warnings = append(warnings, fmt.Sprintf("environment variable %s sets nothing; did you mean %s?", name, near))
			}
			continue
		case !found || value == "":
			continue
		}
		at := place{source: "environment " + name}
		v, err := k.parse(value)
		if err != nil {
			p.add(at, hintOf(err), "%v", err)
			continue
		}
		if k.Kind == Path {
			v = absolute(value, working, home(environ))
		}
		into := process
		if k.Cluster {
			into = cluster
		}
		into.set(k.Name, v, at)
	}
	return process, cluster, warnings
}

// variables are the keys by their environment variables, and the variables' names.
func variables() (byName map[string]Key, names []string) {
	byName = map[string]Key{}
	for _, k := range Keys() {
		if name := k.Env(); name != "" {
			byName[name] = k
			names = append(names, name)
		}
	}
	return byName, names
}

// lookup finds a variable in a list of "name=value"; the last one counts.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, found := strings.CutPrefix(environ[i], name+"="); found {
			return value
		}
	}
	return ""
}

// home is the home directory as the environment has it, "" if it has none.
func home(environ []string) string { return lookup(environ, "HOME") }
