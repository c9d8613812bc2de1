package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"failwise/failover"
	"failwise/rules"
)

// maxProbes bounds the work that one test can ask for.
const maxProbes = 100_000_000

// parser reads one scenario file.
type parser struct {
	source
	read func(name string) ([]byte, error)
	file *File
}

// Parse reads a scenario file. name is used in messages; read reads the statemap
// files that the scenarios name. The error is a [*FileError].
func Parse(name string, src []byte, read func(name string) ([]byte, error)) (f *File, err error) {
	p := &parser{source: source{name: name}, read: read, file: &File{Name: name}}
	roots, err := p.documents(src)
	if err != nil {
		return nil, err
	}
	defer p.guard(&err)
	for _, root := range roots {
		p.document(root)
	}
	if len(p.file.Tests) == 0 {
		return nil, &FileError{File: name, Msg: "no tests in the file"}
	}
	return p.file, nil
}

var documentKeys = []string{"rules", "settings", "cluster", "tests"}

func (p *parser) document(root *yaml.Node) {
	s := setup{rules: rules.Defaults(), timings: rules.Tungsten.Timings()}
	parts := map[string]*yaml.Node{}
	for _, e := range p.mapping(root, "a scenario") {
		if !slices.Contains(documentKeys, e.key) {
			p.unknown(e.at, "key", e.key, documentKeys)
		}
		parts[e.key] = e.value
	}
	for _, need := range []string{"cluster", "tests"} {
		if parts[need] == nil {
			p.fail(root, "the scenario has no %s", need)
		}
	}
	if n := parts["rules"]; n != nil {
		p.rules(n, &s)
	}
	if n := parts["settings"]; n != nil {
		p.settings(n, &s.timings)
	}
	p.cluster(parts["cluster"], &s)
	for _, n := range p.sequence(parts["tests"], "tests") {
		p.file.Tests = append(p.file.Tests, p.test(n, s))
	}
}

func (p *parser) rules(n *yaml.Node, s *setup) {
	keys := []string{"profile", "file", "set"}
	parts := map[string]*yaml.Node{}
	for _, e := range p.mapping(n, "rules") {
		if !slices.Contains(keys, e.key) {
			p.unknown(e.at, "key of rules", e.key, keys)
		}
		parts[e.key] = e.value
	}
	if n := parts["profile"]; n != nil {
		profile, err := rules.ParseProfile(p.text(n, "profile"))
		if err != nil {
			p.wrap(n, err)
		}
		s.rules, s.timings = profile.Rules(), profile.Timings()
	}
	if n := parts["file"]; n != nil {
		name := p.text(n, "file")
		src, err := p.read(name)
		if err != nil {
			p.wrap(n, fmt.Errorf("read statemap: %w", err))
		}
		m, warnings, err := rules.Parse(name, src, s.rules)
		if err != nil {
			p.wrap(n, err)
		}
		s.rules = m
		p.file.Warnings = append(p.file.Warnings, warnings...)
	}
	if n := parts["set"]; n != nil {
		s.rules = p.with(s.rules, n, p.ruleSet(n))
	}
}

// with puts a set of rules on top of m.
func (p *parser) with(m *rules.Map, n *yaml.Node, set map[rules.Outcome]rules.Rule) *rules.Map {
	next, err := m.With(set, fmt.Sprintf("%s:%d", p.name, n.Line))
	if err != nil {
		p.wrap(n, err)
	}
	return next
}

// ruleSet reads outcomes with their rules.
func (p *parser) ruleSet(n *yaml.Node) map[rules.Outcome]rules.Rule {
	set := map[rules.Outcome]rules.Rule{}
	for _, e := range p.mapping(n, "a set of rules") {
		o := p.outcome(e.at, e.key)
		if _, twice := set[o]; twice {
			p.fail(e.at, "the rule of %s is given twice", o)
		}
		set[o] = p.rule(e.value, o)
	}
	return set
}

func (p *parser) outcome(n *yaml.Node, key string) rules.Outcome {
	o, err := rules.ParseOutcome(key)
	if err != nil {
		p.wrap(n, err)
	}
	return o
}

func (p *parser) rule(n *yaml.Node, o rules.Outcome) rules.Rule {
	var r rules.Rule
	var err error
	given := map[string]bool{}
	for _, e := range p.mapping(n, "the rule of "+o.String()) {
		given[e.key] = true
		switch e.key {
		case "state":
			r.State, err = rules.ParseState(p.text(e.value, e.key))
		case "action":
			r.Action, err = rules.ParseAction(p.text(e.value, e.key))
		case "threshold":
			r.Threshold = p.numberFrom(rules.Never, e.value, e.key)
		case "window":
			r.Window = p.numberFrom(1, e.value, e.key)
		case "heal":
			r.Heal = p.numberFrom(1, e.value, e.key)
		default:
			p.unknown(e.at, "key of a rule", e.key, []string{"state", "threshold", "action", "window", "heal"})
		}
		if err != nil {
			p.wrap(e.value, err)
		}
	}
	for _, need := range []string{"state", "threshold", "action"} {
		if !given[need] {
			p.fail(n, "the rule of %s has no %s", o, need)
		}
	}
	if err := r.Validate(); err != nil {
		p.wrap(n, fmt.Errorf("%s: %w", o, err))
	}
	return r
}

func (p *parser) settings(n *yaml.Node, t *rules.Timings) {
	for _, e := range p.mapping(n, "settings") {
		switch e.key {
		case "tick":
			t.Tick = p.duration(e.value, e.key)
		case "settle":
			t.Settle = p.number(e.value, e.key)
		case "quota":
			t.Quota = p.number(e.value, e.key)
		case "age_limit":
			t.AgeLimit = p.duration(e.value, e.key)
		default:
			p.unknown(e.at, "setting", e.key, []string{"tick", "settle", "quota", "age_limit"})
		}
	}
	if err := t.Validate(); err != nil {
		p.wrap(n, err)
	}
}

func (p *parser) cluster(n *yaml.Node, s *setup) {
	primary := ""
	for _, e := range p.mapping(n, "cluster") {
		role, err := failover.ParseRole(p.text(e.value, "a role"))
		if err != nil {
			p.unknown(e.value, "role", e.value.Value, []string{"primary", "replica"})
		}
		if slices.Contains(stepKeys(), e.key) {
			p.fail(e.at, "a node cannot be named %q: a step has a key of that name", e.key)
		}
		if err := nodeName(e.key); err != nil {
			p.wrap(e.at, err)
		}
		if role == failover.Primary {
			if primary != "" {
				p.fail(e.at, "both %s and %s are primary", primary, e.key)
			}
			primary = e.key
		}
		s.nodes = append(s.nodes, failover.Node{Name: e.key, Role: role})
	}
	if primary == "" {
		p.fail(n, "the cluster has no primary")
	}
}

// node reads the name of a node of the cluster.
func (p *parser) node(n *yaml.Node, s setup) string {
	return p.word(n, "node", s.names()...)
}

func (s setup) names() []string {
	names := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		names[i] = n.Name
	}
	return names
}

var testKeys = []string{"name", "probe_every", "until", "steps", "expect"}

func (p *parser) test(n *yaml.Node, s setup) *Test {
	t := &Test{File: p.name, Line: n.Line, setup: s, probeEvery: time.Second}
	given := map[string]bool{}
	entries := p.mapping(n, "a test")
	for _, e := range entries {
		given[e.key] = true
		switch e.key {
		case "name":
			t.Name = p.text(e.value, "name")
		case "probe_every":
			if t.probeEvery = p.duration(e.value, e.key); t.probeEvery == 0 {
				p.fail(e.value, "probe_every must be longer than 0")
			}
		case "until":
			t.until = p.duration(e.value, e.key)
		case "steps", "expect":
		default:
			p.unknown(e.at, "key of a test", e.key, testKeys)
		}
	}
	if !given["until"] {
		p.fail(n, "the test has no until")
	}
	if t.Name == "" {
		t.Name = fmt.Sprintf("line %d", n.Line)
	}
	if t.Effort() > maxProbes/int64(len(s.nodes)) {
		p.fail(n, "until %s with a probe every %s and a tick of %s is too much for one test", t.until, t.probeEvery, s.timings.Tick)
	}
	for _, e := range entries {
		switch e.key {
		case "steps":
			for _, n := range p.sequence(e.value, "steps") {
				t.steps = append(t.steps, p.step(n, s))
			}
		case "expect":
			for _, n := range p.sequence(e.value, "expect") {
				t.expect = append(t.expect, p.expectation(n, s))
			}
		}
	}
	slices.SortStableFunc(t.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return t
}
