package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"failwise/check"
	"failwise/commands/suggest"
	"failwise/failover/hooks"
)

// field sets one part of a block from its YAML value.
type field func(*yaml.Node) error

func (b *builder) at(n *yaml.Node) place { return place{b.file, n.Line, n.Column} }

// fields reads a block of named fields.
func (b *builder) fields(what string, n *yaml.Node, table map[string]field) bool {
	r := &reader{file: b.file, problems: b.problems}
	before := len(b.problems.list)
	if !r.isMapping(what, n) {
		return false
	}
	r.eachKey(n, func(name string, key, value *yaml.Node) {
		set, known := table[name]
		if !known {
			hint := "it takes " + strings.Join(slices.Sorted(maps.Keys(table)), ", ")
			if near := suggest.Nearest(name, slices.Sorted(maps.Keys(table))); near != "" {
				hint = "did you mean " + near + "?"
			}
			b.problems.add(b.at(key), hint, "%s has no field %s", what, name)
			return
		}
		if err := set(value); err != nil {
			b.problems.add(b.at(value), hintOf(err), "%s: %s: %v", what, name, err)
		}
	})
	return len(b.problems.list) == before
}

// scalar makes a field of a function that takes text.
func scalar(set func(string) error) field {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || isNull(n) {
			return errors.New("it must be one word or text")
		}
		return set(n.Value)
	}
}

func textField(into *string) field {
	return scalar(func(s string) error { *into = s; return nil })
}

func (b *builder) pathField(into *string) field {
	return scalar(func(s string) error { *into = absolute(s, b.dir, b.home); return nil })
}

func portField(into *uint16) field {
	return scalar(func(s string) error {
		v, err := Key{Kind: Port}.parseKind(s)
		if err == nil {
			*into = uint16(v.(int))
		}
		return err
	})
}

func durationField(into *time.Duration) field {
	return scalar(func(s string) error {
		v, err := Key{Kind: Duration}.parseKind(s)
		if err == nil {
			*into = v.(time.Duration)
		}
		return err
	})
}

func listField(into *[]string) field {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.SequenceNode {
			return errors.New("it must be a list")
		}
		list, err := words(n)
		if err == nil && len(list) == 0 {
			err = errors.New("the list is empty")
		}
		*into = list
		return err
	}
}

// parsed makes a field of a Parse function.
func parsed[T any](into *T, parse func(string) (T, error)) field {
	return scalar(func(s string) (err error) {
		*into, err = parse(s)
		return err
	})
}

// nodes reads the list of servers.
func (b *builder) nodes(n *yaml.Node, c *Cluster) []Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		b.problems.add(b.at(n), "nodes: [db1, db2:3307]", "nodes must be a list of servers")
		return nil
	}
	for _, each := range n.Content {
		each = follow(each)
		var host string
		var port uint16
		node := Node{AdminPort: uint16(c.settings.count("admin_port"))}
		if each.Kind == yaml.ScalarNode {
			host = each.Value
		} else if !b.fields("node", each, map[string]field{
			"name": textField(&node.Name), "host": textField(&host), "address": textField(&host),
			"port": portField(&port), "admin_port": portField(&node.AdminPort),
			"promote": parsed(&node.Promote, ParsePromote), "site": textField(&node.Site),
		}) {
			continue
		}
		if host == "" {
			host = node.Name
		}
		if port == 0 {
			port = c.Port()
		}
		var err error
		if node.Address, err = check.ParseAddress(host, port); err != nil {
			b.problems.add(b.at(each), "", "%v", err)
			continue
		}
		if node.Name == "" {
			node.Name = node.Address.String()
		}
		b.addNode(c, node, b.at(each))
	}
	return c.Nodes
}

// routes reads the commands that look at the primary from elsewhere.
func (b *builder) routes(n *yaml.Node, timeout time.Duration) []Route {
	if n.Kind != yaml.SequenceNode {
		b.problems.add(b.at(n), "", "confirm.routes must be a list of commands")
		return nil
	}
	var routes []Route
	for _, each := range n.Content {
		each = follow(each)
		r := Route{Timeout: timeout}
		if each.Kind == yaml.SequenceNode {
			if err := listField(&r.Command)(each); err != nil {
				b.problems.add(b.at(each), "", "route: %v", err)
				continue
			}
		} else if !b.fields("route", each, map[string]field{
			"command": listField(&r.Command), "contract": parsed(&r.Contract, hooks.ParseContract),
			"timeout": durationField(&r.Timeout),
		}) {
			continue
		}
		if len(r.Command) == 0 {
			b.problems.add(b.at(each), "", "route has no command")
			continue
		}
		routes = append(routes, r)
	}
	return routes
}

// hooks reads the commands by event.
func (b *builder) hooks(n *yaml.Node) map[hooks.Event][]hooks.Hook {
	table := map[string]field{}
	all := map[hooks.Event][]hooks.Hook{}
	for _, event := range hooks.Events() {
		table[event.String()] = func(value *yaml.Node) error {
			all[event] = b.hookList(event.String(), value)
			return nil
		}
	}
	b.fields("hooks", n, table)
	return all
}

// hookList reads an argument list, a block, or a list of these.
func (b *builder) hookList(what string, n *yaml.Node) []hooks.Hook {
	each := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && follow(n.Content[0]).Kind != yaml.ScalarNode {
		each = n.Content
	}
	var list []hooks.Hook
	for _, node := range each {
		node = follow(node)
		var h hooks.Hook
		ok := true
		if node.Kind == yaml.MappingNode {
			ok = b.fields("hook "+what, node, map[string]field{
				"command": listField(&h.Argv), "timeout": durationField(&h.Timeout),
				"on_failure": parsed(&h.OnFailure, hooks.ParseOnFailure),
				"contract":   parsed(&h.Contract, hooks.ParseContract),
				"script":     parsed(&h.Script, hooks.ParseMHAScript),
				"ssh_user":   textField(&h.SSHUser),
				"mha_passwords": scalar(func(s string) error {
					if s != "argv" && s != "environment" {
						return &choiceError{value: s, choices: []string{"argv", "environment"}}
					}
					h.PasswordsInArgv = s == "argv"
					return nil
				}),
			})
		} else if err := listField(&h.Argv)(node); err != nil {
			b.problems.add(b.at(node), "", "hook %s: %v", what, err)
			ok = false
		}
		if !ok {
			continue
		}
		if err := h.Validate(); err != nil {
			b.problems.add(b.at(node), "", "hook %s: %v", what, err)
			continue
		}
		list = append(list, h)
	}
	return list
}

// webhooks reads the list of URLs.
func (b *builder) webhooks(n *yaml.Node) []hooks.Webhook {
	if n.Kind != yaml.SequenceNode {
		b.problems.add(b.at(n), "", "webhooks must be a list of URLs")
		return nil
	}
	var list []hooks.Webhook
	for _, each := range n.Content {
		each = follow(each)
		var w hooks.Webhook
		if each.Kind == yaml.ScalarNode {
			w.URL = each.Value
		} else if !b.fields("webhook", each, map[string]field{
			"url": textField(&w.URL), "timeout": durationField(&w.Timeout),
			"events": func(n *yaml.Node) error { return webhookEvents(n, &w) },
		}) {
			continue
		}
		if err := w.Validate(); err != nil {
			b.problems.add(b.at(each), "", "webhook: %v", err)
			continue
		}
		list = append(list, w)
	}
	return list
}

func webhookEvents(n *yaml.Node, w *hooks.Webhook) error {
	var names []string
	if err := listField(&names)(n); err != nil {
		return err
	}
	for _, name := range names {
		e, err := hooks.ParseEvent(name)
		if err != nil {
			return err
		}
		w.Events = append(w.Events, e)
	}
	return nil
}

// defaultTTL is how long an etcd lease lives without being renewed.
const defaultTTL = 10 * time.Second

// lock reads "file" or a block etcd.
func (b *builder) lock(n *yaml.Node) Lock {
	if n.Kind == yaml.ScalarNode {
		if n.Value != "file" {
			b.problems.add(b.at(n), "", `lock must be "file" or a block etcd, not %q`, n.Value)
		}
		return Lock{}
	}
	var lock Lock
	b.fields("lock", n, map[string]field{
		"etcd": func(n *yaml.Node) error {
			e := &Etcd{TTL: defaultTTL, Prefix: "/failwise/"}
			b.fields("etcd", n, map[string]field{
				"endpoints": listField(&e.Endpoints), "ttl": durationField(&e.TTL), "prefix": textField(&e.Prefix),
				"user": textField(&e.User), "password_file": b.pathField(&e.PasswordFile),
				"ca": b.pathField(&e.CAFile), "cert": b.pathField(&e.CertFile), "key": b.pathField(&e.KeyFile),
			})
			switch {
			case len(e.Endpoints) == 0:
				return errors.New("it has no endpoints")
			case e.TTL < 2*time.Second:
				return fmt.Errorf("ttl %s is shorter than 2s", e.TTL)
			}
			lock.Etcd = e
			return nil
		},
	})
	return lock
}
