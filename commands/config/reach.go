package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reach looks whether the files that a configuration names can be read and its
// programs be run, on this host and by this user. What is on another host, such as
// replication.ssl_ca, is left alone.
func (c *Config) reach(b *builder) {
	begin := len(b.problems.list)
	for _, cluster := range append(slices.Clone(c.Clusters), c.Server) {
		cluster.reach(b)
	}
	// What stands in the block defaults was found once for each cluster.
	found := b.problems.list[begin:]
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	b.problems.list = append(b.problems.list[:begin], slices.Compact(found)...)
}

func (c *Cluster) reach(b *builder) {
	s := c.settings
	for _, k := range Keys() {
		o := s.origin(k.Name)
		switch {
		case !k.Cluster || o.rank == fromDefault || strings.HasPrefix(k.Name, "replication.ssl"):
		case k.Kind == Path && s.text(k.Name) != "":
			b.readable(o.place, k.Name, s.text(k.Name))
		case k.Kind == Command && len(s.list(k.Name)) > 0:
			b.program(o.place, k.Name, s.list(k.Name)[0])
		}
	}
	if node, found := s.blocks["confirm.routes"]; found {
		b.programs("confirm.routes", node)
	}
	if node, found := s.blocks["hooks"]; found {
		eachField(node, func(event string, value *yaml.Node) { b.programs("hooks."+event, value) })
	}
	if node, found := s.blocks["lock"]; found {
		eachField(node, func(_ string, etcd *yaml.Node) {
			eachField(etcd, func(name string, value *yaml.Node) {
				switch name {
				case "password_file", "ca", "cert", "key":
					b.readable(b.at(value), "lock.etcd."+name, absolute(value.Value, b.dir, b.home))
				}
			})
		})
	}
}

// readable reports a file that cannot be read. A pipe or device is not opened: that
// could wait for a writer.
func (b *builder) readable(at place, key, path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("it is a directory")
	case info.Mode().IsRegular():
		var file *os.File
		if file, err = os.Open(path); err == nil {
			_ = file.Close() // nothing was read
		}
	}
	if err == nil {
		return
	}
	hint := "create it, or correct " + key
	if errors.Is(err, fs.ErrPermission) {
		hint = "let the user that runs failwise read it"
	}
	b.problems.add(at, hint, "%s: cannot read %s: %v", key, path, plain(err))
}

// program reports a program that cannot be run.
func (b *builder) program(at place, key, name string) {
	_, err := exec.LookPath(name)
	if err == nil {
		return
	}
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	hint := "install it, or correct " + key
	if errors.Is(err, fs.ErrPermission) {
		hint = "chmod +x " + name
	}
	b.problems.add(at, hint, "%s: cannot run %s: %v", key, name, plain(err))
}

// programs looks at every command in an argument list, a block with the field
// command, or a list of these.
func (b *builder) programs(key string, n *yaml.Node) {
	switch n = follow(n); {
	case n.Kind == yaml.MappingNode:
		eachField(n, func(name string, value *yaml.Node) {
			if name == "command" {
				b.programs(key, value)
			}
		})
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
	case follow(n.Content[0]).Kind == yaml.ScalarNode:
		b.program(b.at(n.Content[0]), key, follow(n.Content[0]).Value)
	default:
		for _, each := range n.Content {
			b.programs(key, each)
		}
	}
}

// eachField visits the fields of a block; anything else has none.
func eachField(n *yaml.Node, visit func(name string, value *yaml.Node)) {
	if n = follow(n); n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i].Value, follow(n.Content[i+1]))
	}
}
