package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/topology"
	"failwise/rules"
)

func whyCommand() *command {
	return &command{
		name:    "why",
		summary: "say why the cluster did or did not fail over, now or at any past moment",
		about: "Reads the journal, whether or not a watcher runs: what was seen of the node, which rule applied, which\n" +
			"check said no, who was asked and answered what, and what would have lifted it. Without --node it is about\n" +
			"the primary of that time.",
		examples: []example{
			{"why", "now"},
			{"why --at 03:12", "last time it was 03:12"},
			{"why --at 2026-11-30T03:12:07Z --node db1 -v", "with the evidence of every probe type"},
			{"why --at 10m", "ten minutes ago"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("at", "", "`TIME`: RFC 3339, \"2006-01-02 15:04:05\", 15:04[:05] or an age such as 10m")
			f.String("node", "", "about node `NAME`")
		},
		run: runWhy,
	}
}

// whyReport is the JSON output of why.
type whyReport struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	At      string `json:"at"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// Probe is the latest probe at that time, Decision the latest decision about it.
	Probe    *journal.Record `json:"probe,omitempty"`
	Since    string          `json:"since,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	// Event is the latest event about the node.
	Event *journal.Record `json:"event,omitempty"`

	decision *decisionView
}

// decisionView is a decision record as it is read back.
type decisionView struct {
	Time         time.Time          `json:"time"`
	Kind         failover.Kind      `json:"decision"`
	Node         string             `json:"node"`
	Text         string             `json:"text"`
	Reason       failover.Reason    `json:"reason"`
	Means        string             `json:"means"`
	Lifts        string             `json:"lifts"`
	Peer         string             `json:"peer"`
	Detail       string             `json:"detail"`
	Outcome      rules.Outcome      `json:"outcome"`
	Rule         string             `json:"rule"`
	Origin       string             `json:"origin"`
	Snapshot     failover.Snapshot  `json:"snapshot"`
	Evidence     []evidenceView     `json:"evidence"`
	Confirmation *confirmationView  `json:"confirmation"`
	Findings     []topology.Finding `json:"findings"`
	Candidates   topology.Choice    `json:"candidates"`
	// Operation, Result and Error are set in the record of an operation's end.
	Operation string          `json:"operation"`
	What      string          `json:"kind"`
	Error     string          `json:"error"`
	Result    json.RawMessage `json:"result"`
}

type evidenceView struct {
	Type    string  `json:"type"`
	Outcome string  `json:"outcome"`
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message"`
}

type confirmationView struct {
	Recheck *evidenceView `json:"recheck"`
	Votes   []struct {
		Name     string        `json:"name"`
		Vote     failover.Vote `json:"vote"`
		Evidence string        `json:"evidence"`
	} `json:"votes"`
	Routes []struct {
		Route    failover.Route `json:"route"`
		Command  string         `json:"command"`
		Evidence string         `json:"evidence"`
	} `json:"routes"`
	Seconds float64 `json:"seconds"`
}

func runWhy(ctx context.Context, in *invocation) error {
	c, err := in.cluster()
	if err != nil {
		return err
	}
	at, err := parseMoment(in.String("at"), time.Now())
	if err != nil {
		return usagef("--at: %v", err).hint("use 2006-01-02T15:04:05Z, \"2006-01-02 15:04:05\", 15:04 or an age such as 10m")
	}
	dir, err := in.clusterDir(c)
	if err != nil {
		return err
	}
	node := in.String("node")
	if node != "" {
		n, ok := c.Node(node)
		if !ok {
			return usagef("cluster %s has no node %s", c.Name, node).hint("its nodes are %s", strings.Join(c.NodeNames(), ", "))
		}
		node = n.Name
	}
	report, err := in.why(ctx, c, dir, node, at)
	if err != nil {
		return err
	}
	if in.JSON() {
		return in.printJSON(report)
	}
	in.printWhy(report)
	return nil
}

// why reads the journal up to a moment.
func (in *invocation) why(ctx context.Context, c *config.Cluster, dir, node string, at time.Time) (whyReport, error) {
	r := whyReport{Cluster: c.Name, Node: node, At: jsonTime(at)}
	var last lastRecords
	for rec, err := range journal.Read(ctx, dir, journal.Query{Until: at}) {
		var damaged *journal.LineError
		if errors.As(err, &damaged) {
			in.remark("%v", damaged)
			continue
		}
		if err != nil {
			return r, refused(fmt.Errorf("journal: %w", err))
		}
		last.add(rec)
	}
	if len(last.nodes) == 0 {
		return r, refused(fmt.Errorf("the journal of cluster %s has nothing up to %s", c.Name, at.Local().Format("2006-01-02 15:04:05")),
			"failwise history shows what there is; only a watcher writes it")
	}
	if r.Node == "" {
		r.Node = last.primary
	}
	if r.Node == "" {
		return r, refused(errors.New("no primary was known at that time"), "name a node with --node")
	}
	n := last.nodes[r.Node]
	if n == nil {
		return r, refused(fmt.Errorf("nothing was recorded of %s up to that time", r.Node))
	}
	r.Probe, r.Event = n.probe, n.event
	if n.probe != nil {
		r.Since = jsonTime(n.since)
	}
	if n.decision != nil && !n.decision.Time.Before(n.healed) {
		r.Decision = n.decision.Data
		var v decisionView
		if err := json.Unmarshal(n.decision.Data, &v); err != nil {
			return r, fmt.Errorf("decision record of %s: %w", jsonTime(n.decision.Time), err)
		}
		if v.Time.IsZero() {
			v.Time = n.decision.Time
		}
		r.decision = &v
	}
	r.Verdict = verdictOf(r, n, last, at)
	return r, nil
}

// lastRecords are the latest records of each kind, by node.
type lastRecords struct {
	primary string
	// running are the watchers that began and did not end, by name and pid.
	running map[string]bool
	stopped time.Time // when the last of them ended
	nodes   map[string]*nodeRecords
}

type nodeRecords struct {
	probe           *journal.Record
	since           time.Time // of the present outcome
	probes          int       // with it
	decision, event *journal.Record
	healed          time.Time
	promoted        *journal.Record // it replaced another, or was replaced
}

func (l *lastRecords) node(name string) *nodeRecords {
	if l.nodes == nil {
		l.nodes = map[string]*nodeRecords{}
	}
	if l.nodes[name] == nil {
		l.nodes[name] = &nodeRecords{}
	}
	return l.nodes[name]
}

func (l *lastRecords) add(r journal.Record) {
	switch r.Kind {
	case journal.Start:
		var s struct {
			PID   int             `json:"pid"`
			Nodes []failover.Node `json:"nodes"`
		}
		if json.Unmarshal(r.Data, &s) == nil {
			l.runs(r.Watcher, s.PID, true)
			for _, n := range s.Nodes {
				if n.Role == failover.Primary {
					l.primary = n.Name
				}
			}
		}
	case journal.Stop:
		var s struct {
			PID int `json:"pid"`
		}
		if json.Unmarshal(r.Data, &s) == nil {
			l.runs(r.Watcher, s.PID, false)
			l.stopped = r.Time
		}
	case journal.Probe:
		n := l.node(r.Node)
		if n.probe == nil || n.probe.Outcome != r.Outcome {
			n.since, n.probes = r.Time, 0
		}
		n.probes++
		n.probe = &r
	case journal.Decision:
		l.node(r.Node).decision = &r
	case journal.Event:
		l.addEvent(r)
	case journal.Topology:
		var t struct {
			Primary string `json:"primary"`
		}
		if json.Unmarshal(r.Data, &t) == nil && t.Primary != "" {
			l.primary = t.Primary
		}
	case journal.KindUnset, journal.Fact, journal.Step, journal.Rules, journal.Policy, journal.Note, journal.Dropped:
	}
}

// runs notes that a watcher began or ended.
func (l *lastRecords) runs(watcher string, pid int, yes bool) {
	key := fmt.Sprint(watcher, " ", pid)
	if !yes {
		delete(l.running, key)
		return
	}
	if l.running == nil {
		l.running = map[string]bool{}
	}
	l.running[key] = true
}

func (l *lastRecords) addEvent(r journal.Record) {
	var ev failover.Event
	if r.Node == "" || json.Unmarshal(r.Data, &ev) != nil || ev.Kind.Request() {
		return
	}
	n := l.node(r.Node)
	n.event = &r
	switch ev.Kind {
	case failover.Healed:
		n.healed = r.Time
	case failover.Promoted:
		l.primary = r.Node
		n.promoted = &r
		if ev.Peer != "" {
			l.node(ev.Peer).promoted = &r
		}
	default:
	}
}

// verdictOf is the answer in one line.
func verdictOf(r whyReport, n *nodeRecords, last lastRecords, at time.Time) string {
	switch {
	case len(last.running) == 0 && !last.stopped.IsZero():
		return fmt.Sprintf("nobody was watching: the last watcher stopped at %s", last.stopped.Local().Format("2006-01-02 15:04:05"))
	case n.promoted != nil && n.promoted.Node != r.Node && (r.decision == nil || r.decision.Time.Before(n.promoted.Time)):
		return fmt.Sprintf("failed over to %s at %s", n.promoted.Node, n.promoted.Time.Local().Format("15:04:05"))
	case r.decision != nil && r.decision.Operation != "" && r.decision.Error != "":
		return "an operation failed: " + r.decision.Error
	case r.decision != nil && r.decision.Operation != "":
		return fmt.Sprintf("%s was done at %s", r.decision.Operation, r.decision.Time.Local().Format("15:04:05"))
	case r.decision != nil && r.decision.Kind == failover.FailoverDecided:
		return "failover: every check said yes"
	case r.decision != nil:
		return "no failover: " + r.decision.Text
	case n.probe != nil && n.probe.Outcome == rules.OK:
		return fmt.Sprintf("no failover: nothing is wrong, online since %s", n.since.Local().Format("2006-01-02 15:04:05"))
	default:
		return "no failover: no alarm has run"
	}
}

// parseMoment reads a time: absolute, a time of day (the last time it was that),
// or an age; empty is now.
func parseMoment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return now, nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(s, "-")); err == nil {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			day := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if day.After(now) {
				day = day.AddDate(0, 0, -1)
			}
			return day, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", s)
}
