package replay

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"failwise/failover"
	"failwise/rules"
)

// stepParsers has, per key of a step that is not a node's name, what reads it.
func stepParsers() map[string]func(p *parser, n *yaml.Node, s setup) change {
	return map[string]func(p *parser, n *yaml.Node, s setup) change{
		"policy": func(p *parser, n *yaml.Node, _ setup) change {
			policy, err := failover.ParsePolicy(p.word(n, "policy", "automatic", "manual", "maintenance"))
			if err != nil {
				p.wrap(n, err)
			}
			return tell(failover.PolicyIs(policy, "", 0, ""))
		},
		"coordinator": func(p *parser, n *yaml.Node, _ setup) change {
			yes := p.boolean(n, "coordinator")
			return func(r *run) error {
				r.coordinator = yes
				return r.tell(failover.CoordinatorIs(yes))
			}
		},
		"vote": func(p *parser, n *yaml.Node, s setup) change {
			var changes []change
			for _, e := range p.mapping(n, "vote") {
				if !slices.Contains(s.names(), e.key) {
					p.unknown(e.at, "node", e.key, s.names())
				}
				v, err := failover.ParseVote(p.word(e.value, "vote", "sees", "lost", "unknown"))
				if err != nil {
					p.wrap(e.value, err)
				}
				changes = append(changes, func(r *run) error {
					r.votes[e.key] = v
					return r.tell(failover.VoteIs(e.key, v, 0))
				})
			}
			return all(changes)
		},
		"promotion": func(p *parser, n *yaml.Node, _ setup) change {
			fails := p.word(n, "promotion", "succeeds", "fails") == "fails"
			return func(r *run) error { r.promotionFails = fails; return nil }
		},
		"promotion_takes": func(p *parser, n *yaml.Node, _ setup) change {
			d := p.duration(n, "promotion_takes")
			return func(r *run) error { r.promotionTakes = d; return nil }
		},
		"route": func(p *parser, n *yaml.Node, _ setup) change {
			route, err := failover.ParseRoute(p.word(n, "route", "sees", "dead", "unknown"))
			if err != nil {
				p.wrap(n, err)
			}
			return func(r *run) error {
				r.route = route
				return r.tell(failover.RouteIs(route, 0))
			}
		},
		"observers": func(p *parser, n *yaml.Node, _ setup) change {
			observers, err := failover.ParseObservers(p.word(n, "observers", "agree", "disagree"))
			if err != nil {
				p.wrap(n, err)
			}
			return func(r *run) error {
				r.observers = observers
				return r.tell(failover.ObserversAre(observers, 0))
			}
		},
		"durability": func(p *parser, n *yaml.Node, _ setup) change {
			return tell(failover.DurabilityIs(p.word(n, "durability", "ok", "violated") == "ok", ""))
		},
		"quota": func(p *parser, n *yaml.Node, _ setup) change {
			p.word(n, "quota", "reset")
			return tell(failover.QuotaReset())
		},
		"recover": func(p *parser, n *yaml.Node, s setup) change {
			return tell(failover.RecoveredNode(p.node(n, s)))
		},
	}
}

// stepKeys are all keys of a step but the nodes' names.
func stepKeys() []string {
	keys := []string{"at", "pause", "rules"}
	for k := range stepParsers() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// tell is a change that is a fact for the engine.
func tell(f failover.Fact) change { return func(r *run) error { return r.tell(f) } }

func all(changes []change) change {
	return func(r *run) error {
		for _, c := range changes {
			if err := c(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// step reads one step.
func (p *parser) step(n *yaml.Node, s setup) step {
	var st step
	parsers, timed := stepParsers(), false
	for _, e := range p.mapping(n, "a step") {
		parse := parsers[e.key]
		switch {
		case e.key == "at":
			st.at, timed = p.duration(e.value, "at"), true
		case e.key == "pause":
			if st.pause = p.duration(e.value, "pause"); st.pause == 0 {
				p.fail(e.value, "pause must be longer than 0")
			}
		case e.key == "rules":
			set, from := p.ruleSet(e.value), fmt.Sprintf("%s:%d", p.name, e.at.Line)
			st.changes = append(st.changes, func(r *run) (err error) {
				if r.rules, err = r.rules.With(set, from); err != nil {
					return err
				}
				return r.tell(failover.RulesAre(r.rules))
			})
		case parse != nil:
			st.changes = append(st.changes, parse(p, e.value, s))
		case slices.Contains(s.names(), e.key):
			o := p.outcome(e.value, p.text(e.value, "an outcome"))
			if o == rules.NotOnline {
				p.fail(e.value, "no probe ends in %s: it stands for every bad outcome in rules with a window", o)
			}
			st.changes = append(st.changes, func(r *run) error { r.outcomes[e.key] = o; return nil })
		default:
			p.unknown(e.at, "node or key of a step", e.key, append(s.names(), stepKeys()...))
		}
	}
	if !timed {
		p.fail(n, "the step has no at")
	}
	return st
}
