package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxDuration bounds every duration in a scenario.
const maxDuration = 100 * 365 * 24 * time.Hour

// source is one YAML file while it is read. Its methods stop at the first thing
// that is wrong by panicking with a [*FileError], which [source.guard] returns.
type source struct {
	name string
	// merged counts the entries that merge keys have brought along.
	merged int
}

// maxMerged bounds what merge keys can multiply.
const maxMerged = 100_000

// guard turns the panic of fail into an error.
func (s *source) guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case *FileError:
		*err = r
	default:
		panic(r)
	}
}

func (s *source) fail(n *yaml.Node, format string, args ...any) {
	panic(&FileError{File: s.name, Line: n.Line, Msg: fmt.Sprintf(format, args...)})
}

// wrap fails with an error of another package.
func (s *source) wrap(n *yaml.Node, err error) {
	panic(&FileError{File: s.name, Line: n.Line, Msg: err.Error(), Err: err})
}

func (s *source) unknown(n *yaml.Node, what, word string, known []string) {
	panic(&FileError{File: s.name, Line: n.Line, Msg: fmt.Sprintf("unknown %s %q", what, word), Word: word, Known: known})
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) })

// documents returns the root node of each document that is not empty.
func (s *source) documents(src []byte) (roots []*yaml.Node, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			e := &FileError{File: s.name, Msg: err.Error(), Err: err}
			if m := yamlLine().FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
				e.Line, _ = strconv.Atoi(m[1])
				e.Msg = m[2]
			}
			if e.Line == 0 {
				e.Line = lineOf(src, e.Msg)
			}
			return nil, e
		}
		if root := doc.Content[0]; root.Tag != "!!null" {
			roots = append(roots, root)
		}
	}
}

var unknownAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown anchor '(.+)' referenced$`) })

// lineOf finds the line that an error of YAML is about which names none; 0 if it
// is not to be found.
func lineOf(src []byte, msg string) int {
	at := -1
	if m := unknownAnchor().FindStringSubmatch(msg); m != nil {
		at = bytes.Index(src, []byte("*"+m[1]))
	} else if !utf8.Valid(src) {
		for at = 0; ; {
			r, n := utf8.DecodeRune(src[at:])
			if r == utf8.RuneError && n <= 1 {
				break
			}
			at += n
		}
	}
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(src[:at], []byte{'\n'})
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	at    *yaml.Node
	value *yaml.Node
}

// mapping returns the entries of a mapping in the written order. Merge keys are
// followed; a key that stands twice is an error.
func (s *source) mapping(n *yaml.Node, what string) []pair {
	return s.pairs(n, what, 0)
}

func (s *source) pairs(n *yaml.Node, what string, depth int) []pair {
	m := resolve(n)
	if m.Kind != yaml.MappingNode {
		s.fail(n, "%s must be a mapping of keys to values", what)
	}
	if s.merged += depth * len(m.Content); depth > 8 || s.merged > maxMerged {
		s.fail(n, "%s merges too much", what)
	}
	var own, merged []pair
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if k.Tag == "!!merge" {
			from := []*yaml.Node{v}
			if r := resolve(v); r.Kind == yaml.SequenceNode {
				from = r.Content
			}
			for _, f := range from {
				merged = append(merged, s.pairs(f, what, depth+1)...)
			}
			continue
		}
		key := s.text(k, "a key of "+what)
		if has(own, key) {
			s.fail(k, "%s has the key %s twice", what, key)
		}
		own = append(own, pair{key, k, v})
	}
	for _, p := range merged {
		if !has(own, p.key) {
			own = append(own, p)
		}
	}
	return own
}

func has(pairs []pair, key string) bool {
	return slices.ContainsFunc(pairs, func(p pair) bool { return p.key == key })
}

// sequence returns the items of a list.
func (s *source) sequence(n *yaml.Node, what string) []*yaml.Node {
	l := resolve(n)
	if l.Kind != yaml.SequenceNode {
		s.fail(n, "%s must be a list", what)
	}
	return l.Content
}

// text returns a scalar as it is written.
func (s *source) text(n *yaml.Node, what string) string {
	v := resolve(n)
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		s.fail(n, "%s must be one word", what)
	}
	return v.Value
}

func (s *source) duration(n *yaml.Node, what string) time.Duration {
	text := s.text(n, what)
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		s.fail(n, "%s: %q is no duration such as 10s, 1m30s or 2h", what, text)
	case d < 0:
		s.fail(n, "%s: %q is negative", what, text)
	case d > maxDuration:
		s.fail(n, "%s: %q is longer than a hundred years", what, text)
	}
	return d
}

func (s *source) number(n *yaml.Node, what string) int { return s.numberFrom(0, n, what) }

func (s *source) numberFrom(least int, n *yaml.Node, what string) int {
	text := s.text(n, what)
	v, err := strconv.Atoi(text)
	if err != nil || v < least || v > 1_000_000 {
		s.fail(n, "%s: %q is no whole number from %d to 1000000", what, text, least)
	}
	return v
}

func (s *source) boolean(n *yaml.Node, what string) bool {
	switch text := s.text(n, what); text {
	case "true":
		return true
	case "false":
	default:
		s.fail(n, "%s: %q is not true or false", what, text)
	}
	return false
}

// word returns a scalar that must be one of a list.
func (s *source) word(n *yaml.Node, what string, known ...string) string {
	text := s.text(n, what)
	if !slices.Contains(known, text) {
		s.unknown(n, what, text, known)
	}
	return text
}
