package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"failwise/commands/suggest"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 8 << 20

// document is a configuration file, read into layers.
type document struct {
	process  *layer
	defaults *layer
	clusters []clusterBlock
}

// clusterBlock is one entry of clusters.
type clusterBlock struct {
	name  string
	at    place
	layer *layer
}

// reader walks a file. Relative paths count from dir.
type reader struct {
	file, dir, home string
	problems        *problems
}

// readFile reads a whole file; what is wrong goes to p. The error is about the
// file itself.
func readFile(path, home string, p *problems) (*document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	r := &reader{file: path, dir: dir, home: home, problems: p}
	if len(text) > maxFile {
		p.add(place{source: path}, "", "the file is larger than %d MB", maxFile>>20)
		return &document{}, nil
	}
	return r.document(text), nil
}

// document reads the text of a file.
func (r *reader) document(text []byte) *document {
	d := &document{process: newLayer(fromCluster), defaults: newLayer(fromDefaults)}
	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF):
		return d
	case err != nil:
		r.syntax(err)
		return d
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.problems.add(place{r.file, root.Line, 1}, "write all clusters below clusters", "the file holds more than one document")
		return d
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || isNull(root.Content[0]) {
		return d
	}
	top := follow(root.Content[0])
	process, cluster := keysOf(false), keysOf(true)
	r.eachKey(top, func(name string, key, value *yaml.Node) {
		switch name {
		case "clusters":
			r.clusters(d, value, cluster)
		case "defaults":
			if r.isMapping("defaults", value) {
				r.walk(value, "", cluster, d.defaults)
			}
			if node, found := d.defaults.blocks["nodes"]; found {
				r.problems.add(r.at(node), "", "defaults cannot have nodes")
			}
		default:
			r.entry(name, key, value, process, d.process)
		}
	})
	return d
}

// keysOf is the table of the keys of a cluster, or of the top of the file.
func keysOf(cluster bool) map[string]Key {
	table := map[string]Key{}
	for _, k := range Keys() {
		if k.Cluster == cluster {
			table[k.Name] = k
		}
	}
	return table
}

func (r *reader) syntax(err error) {
	// The parser writes "yaml: line N: text", and no line when it is the first.
	at, text := place{r.file, 1, 1}, strings.TrimPrefix(oneLine(err.Error()), "yaml: ")
	if rest, found := strings.CutPrefix(text, "line "); found {
		number, after, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			at.line, text = n, after
		}
	}
	r.problems.add(at, "", "not valid YAML: %s", text)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *reader) at(n *yaml.Node) place { return place{r.file, n.Line, n.Column} }

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// eachKey visits the entries of a mapping; a key that stands twice is a problem.
func (r *reader) eachKey(n *yaml.Node, visit func(name string, key, value *yaml.Node)) {
	if !r.isMapping("the file", n) {
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			r.problems.add(r.at(key), "", "a key must be a word")
			continue
		}
		if key.Tag == "!!merge" {
			r.problems.add(r.at(key), "put what clusters share below defaults", "merge keys (<<) are not supported")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			r.problems.add(r.at(key), "", "%s is set twice, first on line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		visit(key.Value, key, value)
	}
}

func (r *reader) isMapping(what string, n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		r.problems.add(r.at(n), "", "%s must be a block of keys", what)
		return false
	}
	return true
}

// isClusterName: the name is a directory's and a part of keys.
func isClusterName(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' || s[0] == '_' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (r *reader) clusters(d *document, n *yaml.Node, keys map[string]Key) {
	if isNull(n) || !r.isMapping("clusters", n) {
		return
	}
	r.eachKey(n, func(name string, key, value *yaml.Node) {
		if !isClusterName(name) {
			r.problems.add(r.at(key), "", "cluster name %q must be up to 64 letters, digits, - and _", name)
			return
		}
		block := clusterBlock{name: name, at: r.at(key), layer: newLayer(fromCluster)}
		if r.isMapping("cluster "+name, value) {
			r.walk(value, "", keys, block.layer)
		}
		d.clusters = append(d.clusters, block)
	})
}

// walk reads a block of settings below prefix.
func (r *reader) walk(n *yaml.Node, prefix string, keys map[string]Key, into *layer) {
	r.eachKey(n, func(name string, key, value *yaml.Node) { r.entry(prefix+name, key, value, keys, into) })
}

// entry reads one setting, or the block of settings that begin with its name.
func (r *reader) entry(name string, key, value *yaml.Node, keys map[string]Key, into *layer) {
	k, known := keys[name]
	switch {
	case known && isNull(value):
		r.problems.add(r.at(key), "", "%s has no value", name)
	case known && k.Kind == Block:
		into.blocks[name], into.places[name] = value, r.at(key)
	case known:
		if v, ok := r.value(k, value); ok {
			into.set(name, v, r.at(key))
		}
	case isPrefix(name, keys):
		if r.isMapping(name, value) {
			r.walk(value, name+".", keys, into)
		}
	default:
		text, hint := unknownKey(name, keys)
		r.problems.add(r.at(key), hint, "%s", text)
	}
}

func isPrefix(name string, keys map[string]Key) bool {
	for k := range keys {
		if strings.HasPrefix(k, name+".") {
			return true
		}
	}
	return false
}

// unknownKey words the problem of a key that is not in the table.
func unknownKey(name string, keys map[string]Key) (text, hint string) {
	text = "unknown key " + name
	last := name[strings.LastIndex(name, ".")+1:]
	if last == "password" {
		return text, "a password does not belong in this file; use password_file or password_command"
	}
	full := []string{}
	if len(keys) < 20 { // the top of the file
		full = append(full, "clusters", "defaults")
	}
	for k := range keys {
		full = append(full, k)
		for i, c := range k {
			if c == '.' {
				full = append(full, k[:i])
			}
		}
	}
	slices.Sort(full)
	if near := suggest.Nearest(name, full); near != "" {
		return text, "did you mean " + near + "?"
	}
	for _, k := range full {
		if i := strings.LastIndex(k, "."); i > 0 && suggest.Nearest(last, []string{k[i+1:]}) != "" {
			return text, "did you mean " + k + "?"
		}
	}
	switch stands := func(table map[string]Key) bool { _, found := table[name]; return found || isPrefix(name, table) }; {
	case stands(keysOf(true)):
		return text + " here", name + " belongs below clusters.NAME or defaults"
	case stands(keysOf(false)):
		return text + " here", name + " belongs at the top of the file: it is one for all clusters"
	case name == "monitor":
		return text, "the monitoring account is user and password_file (or password_command) of the cluster itself"
	}
	return text, "docs/configuration.md lists all keys"
}

// value converts a YAML value to the kind of its key.
func (r *reader) value(k Key, n *yaml.Node) (any, bool) {
	v, err := r.convert(k, n)
	if err == nil {
		err = k.validate(v)
	}
	if err != nil {
		r.problems.add(r.at(n), hintOf(err), "%s: %v", k.Name, err)
		return nil, false
	}
	return v, true
}

// hintOf is the choice that was probably meant.
func hintOf(err error) string {
	var c *choiceError
	if errors.As(err, &c) {
		if near := suggest.Nearest(c.value, c.choices); near != "" {
			return "did you mean " + near + "?"
		}
	}
	return ""
}

func (r *reader) convert(k Key, n *yaml.Node) (any, error) {
	if n.Kind == yaml.SequenceNode && (k.Kind == List || k.Kind == Command) {
		words, err := words(n)
		if err == nil && k.Kind == Command && len(words) == 0 {
			err = errors.New("it names no program")
		}
		return words, err
	}
	if n.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("it must be a %s", k.Kind)
	}
	switch k.Kind {
	case Command:
		return nil, errors.New(`write the program and its arguments as a list: ["/usr/bin/pass", "show", "failwise"]`)
	case List:
		return []string{n.Value}, nil
	case Bool:
		if n.Tag == "!!bool" {
			return strings.EqualFold(n.Value, "true"), nil
		}
	case Path:
		if n.Value == "" {
			return nil, errors.New("the path is empty")
		}
		return absolute(n.Value, r.dir, r.home), nil
	default:
	}
	return k.parseKind(n.Value)
}

// words reads a sequence of scalars.
func words(n *yaml.Node) ([]string, error) {
	list := make([]string, 0, len(n.Content))
	for _, each := range n.Content {
		each = follow(each)
		if each.Kind != yaml.ScalarNode || isNull(each) {
			return nil, errors.New("it must be a list of words")
		}
		list = append(list, each.Value)
	}
	return list, nil
}

// absolute resolves "~/" and makes a relative path count from dir.
func absolute(path, dir, home string) string {
	if rest, found := strings.CutPrefix(path, "~/"); found && home != "" {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
