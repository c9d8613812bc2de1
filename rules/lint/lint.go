package lint

import "failwise/rules"

// Input is what is checked.
type Input struct {
	// Name is the file's name as the user gave it.
	Name string
	// Source is the file's content.
	Source []byte
	// Base is the map that the file goes on top of. Nil is the shipped defaults.
	Base *rules.Map
	// Config is what is known beside the file. Nil is nothing.
	Config *Config
}

// Run runs all checks.
func Run(in Input) Report {
	base := in.Base
	if base == nil {
		base = rules.Defaults()
	}
	doc := rules.Read(in.Name, in.Source)
	p := pass{doc: doc, base: base, rules: applied(doc, base), config: in.Config, timings: base.Profile().Timings()}
	if in.Config != nil && in.Config.Timings.Tick > 0 {
		p.timings = in.Config.Timings
	}
	for _, c := range Checks() {
		if c.run == nil {
			continue
		}
		p.check = &c
		c.run(&p)
	}
	report := suppress(doc, p.findings)
	sortFindings(report.Findings)
	sortFindings(report.Ignored)
	return report
}

// applied puts the document's good rules on top of base, so that the rules of a
// file with one bad value are looked at as well.
func applied(doc *rules.Document, base *rules.Map) *rules.Map {
	set := make(map[rules.Outcome]rules.Rule, len(doc.Overrides))
	for _, v := range doc.Overrides {
		set[v.Outcome] = v.Rule
	}
	m, err := base.With(set, doc.Name)
	if err != nil {
		return base
	}
	return m
}
