package explain

import (
	"errors"
	"fmt"
	"time"

	"failwise/rules"
)

// Role is what a node is in its cluster.
type Role string

// The roles.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// ParseRole reads a role; the empty text is both.
func ParseRole(s string) (Role, error) {
	switch Role(s) {
	case "", Primary, Replica:
		return Role(s), nil
	}
	return "", &rules.UnknownError{Kind: "role", Value: s, Known: []string{string(Primary), string(Replica)}}
}

// Setup is what is known beside the rules.
type Setup struct {
	Timings rules.Timings
	// ProbeTypes are the configured ones: "connect", "select", "insert". None is
	// connect alone.
	ProbeTypes []string
	// ConfirmReplicas is "bounce", "passive" or "off". Empty is bounce.
	ConfirmReplicas string
	// Replicas is the number of replicas that can be asked.
	Replicas int
}

// Question is what is asked.
type Question struct {
	Outcome rules.Outcome
	// Role restricts the page to one role; empty is both.
	Role Role
	// Rules are the rules in force. Nil is the shipped defaults.
	Rules *rules.Map
	// Setup is what else is known. A Setup without a tick takes the timings of
	// the rules' profile and two replicas.
	Setup Setup
	// Via is how the outcome was arrived at, if not by its name: "server error
	// 1040 (ER_CON_COUNT_ERROR)".
	Via string
}

// Page is what there is to say about an outcome. Texts are sentences without line
// breaks.
type Page struct {
	Outcome rules.Outcome `json:"outcome"`
	Via     string        `json:"via,omitempty"`
	Cause   string        `json:"cause"`
	// Proves is what the outcome says for certain.
	Proves       string   `json:"proves"`
	ServerErrors []uint16 `json:"server_errors,omitempty"`
	Errnos       []string `json:"errnos,omitempty"`
	Rule         Rule     `json:"rule"`
	// Verdict is what comes of it, in one sentence.
	Verdict string `json:"verdict"`
	Roles   []Part `json:"roles"`
	// Why is why the rule is as it is, and Protects what would go wrong
	// otherwise.
	Why      []string `json:"why,omitempty"`
	Protects []string `json:"protects,omitempty"`
	// Resets is what makes the count start anew, Holds what lets it stand still.
	Resets []string `json:"resets,omitempty"`
	// Keeps are the other outcomes that keep the count running.
	Keeps        []rules.Outcome `json:"keeps_counting,omitempty"`
	Blind        []string        `json:"blind_to,omitempty"`
	Alternatives []Alternative   `json:"alternatives,omitempty"`
	Neighbours   []Neighbour     `json:"neighbours,omitempty"`
}

// Rule is the rule in force.
type Rule struct {
	State     rules.State  `json:"state"`
	Threshold int          `json:"threshold"`
	Action    rules.Action `json:"action"`
	Window    int          `json:"window,omitempty"`
	Heal      int          `json:"heal"`
	Fatal     bool         `json:"fatal"`
	// Tick, ThresholdTime and WindowTime are in seconds; the times are absent
	// where there is no threshold or window.
	Tick          float64  `json:"tick"`
	ThresholdTime *float64 `json:"threshold_time,omitempty"`
	WindowTime    *float64 `json:"window_time,omitempty"`
	Profile       string   `json:"profile"`
	Origin        string   `json:"origin"`
	// Replaces are the rules beneath, uppermost first.
	Replaces []Replaced `json:"replaces,omitempty"`
}

// Replaced is a rule that another one took the place of.
type Replaced struct {
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
}

// Part is what the rule does to nodes of one role.
type Part struct {
	Role   Role     `json:"role"`
	Effect []string `json:"effect"`
	// Timing is absent if the rule never expires.
	Timing *Timing `json:"timing,omitempty"`
}

// Alternative is another rule and what it would bring.
type Alternative struct {
	Title string `json:"title"`
	// Rule has the lines for a statemap file.
	Rule  string `json:"rule"`
	Gains string `json:"gains"`
	Risk  string `json:"risk"`
	// Lint are the codes that lint reports for it.
	Lint []string `json:"lint,omitempty"`

	rule rules.Rule
}

// Neighbour is another outcome that the same kind of fault may show as.
type Neighbour struct {
	Outcome rules.Outcome `json:"outcome"`
	Differs string        `json:"differs"`
	Rule    string        `json:"rule"`
}

// Explain answers a question. It fails only for an outcome that does not exist.
func Explain(q Question) (Page, error) {
	if !q.Outcome.Valid() {
		return Page{}, errors.New("no outcome to explain")
	}
	if q.Rules == nil {
		q.Rules = rules.Defaults()
	}
	if q.Setup.Timings.Tick <= 0 {
		q.Setup.Timings = q.Rules.Profile().Timings()
		q.Setup.Replicas = 2
	}
	o := q.Outcome
	s := subjects[o]
	p := Page{
		Outcome: o, Via: q.Via, Cause: o.Cause(), Proves: proves(o),
		ServerErrors: rules.ServerErrors(o), Errnos: rules.Errnos(o),
		Rule:    q.rule(),
		Verdict: q.verdict(),
		Blind:   q.blind(s),
		Keeps:   q.keeps(),
	}
	p.Why, p.Protects = q.why(s)
	p.Resets = q.resets()
	for _, role := range []Role{Primary, Replica} {
		if q.Role == "" || q.Role == role {
			p.Roles = append(p.Roles, Part{Role: role, Effect: q.effect(role), Timing: q.timing(role)})
		}
	}
	p.Alternatives = q.alternatives()
	for _, n := range s.neighbours {
		p.Neighbours = append(p.Neighbours, Neighbour{Outcome: n.outcome, Differs: n.differs, Rule: q.Rules.Rule(n.outcome).String()})
	}
	return p, nil
}

// rule describes the rule in force and where it comes from.
func (q Question) rule() Rule {
	r := q.Rules.Rule(q.Outcome)
	from := q.Rules.Origin(q.Outcome)
	out := Rule{
		State: r.State, Threshold: r.Threshold, Action: r.Action, Window: r.Window, Heal: max(r.Heal, 1), Fatal: r.Fatal(),
		Tick: q.Setup.Timings.Tick.Seconds(), Profile: q.Rules.Profile().String(), Origin: from.String(),
	}
	if r.Threshold >= 0 {
		out.ThresholdTime = seconds(q.Setup.Timings.Ticks(r.Threshold))
	}
	if r.Window > 0 {
		out.WindowTime = seconds(q.Setup.Timings.Ticks(r.Window))
	}
	for below := from.Replaces; below != nil; below = below.Origin.Replaces {
		out.Replaces = append(out.Replaces, Replaced{Rule: below.Rule.String(), Origin: below.Origin.String()})
	}
	return out
}

// keeps lists the other outcomes under which the alarm's clock goes on.
func (q Question) keeps() []rules.Outcome {
	r := q.Rules.Rule(q.Outcome)
	if r.Threshold < 1 || r.Window > 0 {
		return nil
	}
	var all []rules.Outcome
	for _, o := range rules.Outcomes() {
		if o != q.Outcome && o < rules.NotOnline && o != rules.Undefined && o != rules.UntrappedCondition && q.Rules.Supports(o, q.Outcome) {
			all = append(all, o)
		}
	}
	return all
}

// proves says what is certain about a node with the outcome.
func proves(o rules.Outcome) string {
	switch {
	case o == rules.OK:
		return "the node works"
	case o.Alive():
		return "the server process lives, and the network to it works"
	case o.Reached():
		return "the network to the node works; of the server process nothing is known"
	}
	return "nothing: neither that the node is down, nor that it is up"
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// span writes a duration as people do: "80 s", "15 min", "2 h".
func span(d time.Duration) string {
	switch {
	case d >= 2*time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// count writes a number with its noun: "1 tick", "8 ticks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
