package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"failwise/failover"
	"failwise/rules"
)

// aspect is what an expectation is about.
type aspect uint8

const (
	aspectEvent aspect = iota
	aspectNever
	aspectStage
	aspectState
	aspectAlarm
)

var aspectNames = []string{"event", "never", "stage", "state", "alarm"}

// expectation is one line of a test's expect.
type expectation struct {
	line int
	// text is the expectation as one line of YAML.
	text string

	aspect  aspect
	kind    failover.Kind
	stage   failover.Stage
	state   rules.State
	outcome rules.Outcome

	node   string
	reason failover.Reason
	// at is set for at; from and to bound the events looked at, both inclusive.
	at       *time.Duration
	from, to time.Duration
	// count is nil if none is asked for.
	count *int
}

func (p *parser) expectation(n *yaml.Node, s setup) expectation {
	x := expectation{line: n.Line, to: 1<<63 - 1}
	var texts []string
	aspects, bounded := 0, false
	entries := p.mapping(n, "an expectation")
	for _, e := range entries {
		if i := slices.Index(aspectNames, e.key); i >= 0 {
			x.aspect = aspect(i)
			aspects++
		}
		texts = append(texts, e.key+": "+resolve(e.value).Value)
	}
	x.text = "{" + strings.Join(texts, ", ") + "}"
	if aspects != 1 {
		p.fail(n, "an expectation needs exactly one of %s", strings.Join(aspectNames, ", "))
	}
	keys := x.aspect.keys()
	for _, e := range entries {
		if !slices.Contains(keys, e.key) {
			p.unknown(e.at, "key of an expectation by "+aspectNames[x.aspect], e.key, keys)
		}
		switch e.key {
		case "node":
			x.node = p.node(e.value, s)
		case "at":
			at := p.duration(e.value, e.key)
			x.at, x.from, x.to = &at, at, at
		case "from":
			x.from, bounded = p.duration(e.value, e.key), true
		case "to":
			x.to, bounded = p.duration(e.value, e.key), true
		case "count":
			count := p.number(e.value, e.key)
			x.count = &count
		case "reason":
			x.reason = p.reason(e.value)
		default:
			p.subject(&x, e.value)
		}
	}
	p.checkExpectation(n, x, bounded)
	return x
}

func (a aspect) keys() []string {
	own := aspectNames[a]
	switch a {
	case aspectEvent:
		return []string{own, "node", "reason", "at", "from", "to", "count"}
	case aspectNever:
		return []string{own, "node", "reason", "at", "from", "to"}
	case aspectAlarm:
		return []string{own, "node", "at", "count"}
	case aspectStage, aspectState:
	}
	return []string{own, "node", "at"}
}

// subject reads the value of the key that says what the expectation is about.
func (p *parser) subject(x *expectation, n *yaml.Node) {
	var err error
	text := p.text(n, aspectNames[x.aspect])
	switch x.aspect {
	case aspectEvent, aspectNever:
		var known []string
		for _, k := range failover.Kinds() {
			if !k.Request() {
				known = append(known, k.String())
			}
		}
		x.kind, err = failover.ParseKind(p.word(n, "event", known...))
	case aspectStage:
		if x.stage, err = failover.ParseStage(text); err != nil {
			p.unknown(n, "stage", text, []string{"up", "half_down", "nearly_down", "failover", "shunned"})
		}
	case aspectState:
		x.state, err = rules.ParseState(text)
	case aspectAlarm:
		x.outcome = p.outcome(n, text)
	}
	if err != nil {
		p.wrap(n, err)
	}
}

func (p *parser) reason(n *yaml.Node) failover.Reason {
	text := p.text(n, "reason")
	r, err := failover.ParseReason(text)
	if err != nil {
		var known []string
		for _, r := range failover.Reasons() {
			known = append(known, r.String())
		}
		p.unknown(n, "hold reason", text, known)
	}
	return r
}

func (p *parser) checkExpectation(n *yaml.Node, x expectation, bounded bool) {
	switch {
	case x.at != nil && bounded:
		p.fail(n, "an expectation has either at, or from and to")
	case x.from > x.to:
		p.fail(n, "an expectation from %s to %s is empty", x.from, x.to)
	case x.reason != failover.NoHold && x.kind != failover.Held:
		p.fail(n, "only a hold has a reason")
	case x.looksAtState() && (x.node == "" || x.at == nil):
		p.fail(n, "an expectation of a %s needs node and at", aspectNames[x.aspect])
	}
}

// looksAtState reports whether the expectation is about how things are at one
// moment, not about events.
func (x *expectation) looksAtState() bool { return x.aspect >= aspectStage }

// matches reports whether the expectation is about the event.
func (x *expectation) matches(ev failover.Event) bool {
	return ev.Kind == x.kind && ev.At >= x.from && ev.At <= x.to &&
		(x.node == "" || x.node == ev.Node) && (x.reason == failover.NoHold || x.reason == ev.Reason)
}

// checkEvents compares the expectation with all that happened; the answer is
// empty if it holds. around is the moment to look at otherwise.
func (x *expectation) checkEvents(events []failover.Event) (happened string, around time.Duration) {
	var found []failover.Event
	loose := *x
	loose.from, loose.to, loose.reason = 0, 1<<63-1, failover.NoHold
	var near []failover.Event
	for _, ev := range events {
		if x.matches(ev) {
			found = append(found, ev)
		} else if loose.matches(ev) {
			near = append(near, ev)
		}
	}
	switch {
	case x.aspect == aspectNever && len(found) > 0:
		return "it happened: " + Line(found[0]), found[0].At
	case x.aspect == aspectNever:
		return "", 0
	case x.count != nil && len(found) == *x.count, x.count == nil && len(found) > 0:
		return "", 0
	case x.count != nil && len(found) > 0:
		return fmt.Sprintf("it happened %s, at %s", times(len(found)), moments(found)), found[len(found)-1].At
	}
	around = x.from
	if len(near) == 0 {
		return "no such event in the whole test", around
	}
	at := fmt.Sprintf("it did not happen; such an event was at %s", moments(near))
	if near[0].Reason != failover.NoHold {
		at += " (" + near[0].Reason.String() + ")"
	}
	return at, near[0].At
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func moments(events []failover.Event) string {
	var at []string
	for i, ev := range events {
		if i == 5 {
			at = append(at, "…")
			break
		}
		at = append(at, ev.At.String())
	}
	return strings.Join(at, ", ")
}

// checkState compares the expectation with how things are at its moment.
func (x *expectation) checkState(s failover.Snapshot) (happened string) {
	for _, n := range s.Nodes {
		if n.Name != x.node {
			continue
		}
		switch x.aspect {
		case aspectStage:
			if n.Stage != x.stage {
				return fmt.Sprintf("the stage is %s", n.Stage)
			}
		case aspectState:
			if n.State != x.state {
				return fmt.Sprintf("the state is %s (%s)", n.State, n.Outcome)
			}
		case aspectAlarm:
			return x.checkAlarm(n.Alarms)
		case aspectEvent, aspectNever:
		}
		return ""
	}
	return fmt.Sprintf("there is no node %s", x.node)
}

func (x *expectation) checkAlarm(alarms []failover.AlarmStatus) string {
	var others []string
	for _, a := range alarms {
		if a.Outcome != x.outcome {
			others = append(others, fmt.Sprintf("%s with count %d", a.Outcome, a.Count))
			continue
		}
		if x.count != nil && a.Count != *x.count {
			return fmt.Sprintf("the count is %d", a.Count)
		}
		return ""
	}
	if len(others) > 0 {
		return "there is no such alarm, only " + strings.Join(others, ", ")
	}
	return "the node has no alarm"
}
