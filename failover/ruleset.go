package failover

import "failwise/rules"

// ruleset is the rules as the engine looks them up.
type ruleset struct {
	rules  [rules.NumOutcomes]rules.Rule
	online [rules.NumOutcomes]bool
	// supported has, per observed outcome, one bit per alarm that it supports.
	supported [rules.NumOutcomes]uint64
}

func (s *ruleset) setRule(rule func(rules.Outcome) rules.Rule) {
	for _, o := range rules.Outcomes() {
		s.rules[o] = rule(o)
		s.online[o] = s.rules[o].State == rules.Online
	}
	for _, o := range rules.Outcomes() {
		s.supported[o] = 0
		if s.online[o] {
			continue
		}
		for _, alarm := range rules.Outcomes() {
			serious := s.rules[o].Severity() >= s.rules[alarm].Severity()
			if alarm == rules.NotOnline || serious && (alarm.Alive() || !o.Alive()) {
				s.supported[o] |= 1 << alarm
			}
		}
	}
}

// supports reports whether an observation keeps an alarm's clock running.
func (s *ruleset) supports(o, alarm rules.Outcome) bool { return s.supported[o]>>alarm&1 == 1 }

// A bit per outcome must fit.
var _ [64 - rules.NumOutcomes]struct{} = [64 - rules.NumOutcomes]struct{}{}

// ruleTable returns the rules as data.
func ruleTable(m *rules.Map) map[rules.Outcome]rules.Rule {
	table := make(map[rules.Outcome]rules.Rule, rules.NumOutcomes)
	for _, o := range rules.Outcomes() {
		table[o] = m.Rule(o)
	}
	return table
}
