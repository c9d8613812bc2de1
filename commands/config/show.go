package config

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Setting is one setting as it holds, and who set it.
type Setting struct {
	Key    string
	Value  string // as it would be written; blocks on one line
	Origin string // "default", "profile mha", "FILE:LINE", "environment NAME", "flag --name"
	Unit   string
}

// Settings lists the process's own settings.
func (c *Config) Settings() []Setting { return list(false, c.process) }

// Settings lists the cluster's settings.
func (c *Cluster) Settings() []Setting { return list(true, c.settings) }

func list(cluster bool, s *settings) []Setting {
	var all []Setting
	for _, k := range Keys() {
		if k.Cluster != cluster {
			continue
		}
		o := s.origin(k.Name)
		one := Setting{Key: k.Name, Origin: o.String(), Unit: k.Unit}
		if node, found := s.blocks[k.Name]; found {
			one.Value = flow(node)
			if k.Name == "webhooks" {
				one.Value = withoutTokens(one.Value)
			}
		} else if v, found := s.values[k.Name]; found {
			one.Value = written(v)
		} else if k.Default != "" {
			one.Value = k.Default
		}
		all = append(all, one)
	}
	return all
}

// written is a value as the file has it.
func written(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return shortDuration(v)
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// shortDuration drops the zero parts: 10m0s is 10m.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var urlPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(https?://)(?:[^/@\s,}\]]*@)?([^/\s,}\]]*)(?:/[^\s,}\]]+)?`)
})

// withoutTokens drops what may be secret from the URLs in a text: all but their
// hosts.
func withoutTokens(s string) string { return urlPath().ReplaceAllString(s, "$1$2/…") }

// flow is a block on one line.
func flow(n *yaml.Node) string {
	switch n = follow(n); n.Kind {
	case yaml.SequenceNode:
		var parts []string
		for _, each := range n.Content {
			parts = append(parts, flow(each))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+flow(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return n.Value
	}
}
