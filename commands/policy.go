package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/config"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/watch"
)

func policyCommand() *command {
	return &command{
		name:     "policy",
		operands: "[automatic|manual|maintenance]",
		summary:  "show or set what may be done without asking",
		about: "automatic: detect, alert, fail over. manual: detect and alert; a failover holds until somebody orders it.\n" +
			"maintenance: probe only, the alarms' clocks stand still, no alert and no action.\n" +
			"\n" +
			"The policy survives restarts; a running watcher takes it in within a second. Setting automatic again also\n" +
			"gives failed promotions their attempts back.",
		examples: []example{
			{"policy", "which policy holds, who set it, when and why"},
			{"policy maintenance --for 2h --reason 'kernel update'", "ends by itself"},
			{"policy maintenance --node db2", "one node only"},
			{"policy automatic", "back to work"},
		},
		flags: func(f *pflag.FlagSet) {
			f.Var(&durationValue{needsUnit: true}, "for", "end after `DURATION` (30m, 2h); then the policy before it holds again")
			f.String("node", "", "set it for node `NAME` only")
			f.String("reason", "", "`TEXT` for the journal and everyone who looks")
		},
		max:    1,
		values: func(*invocation) []string { return []string{"automatic", "manual", "maintenance"} },
		run:    runPolicy,
	}
}

func runPolicy(ctx context.Context, in *invocation) error {
	c, err := in.cluster()
	if err != nil {
		return err
	}
	if len(in.Operands()) == 0 {
		if in.IsSet("for") || in.IsSet("reason") || in.IsSet("node") {
			return usagef("policy needs a mode to set: automatic, manual or maintenance")
		}
		s, err := in.loadState(ctx, c)
		if err != nil {
			return err
		}
		return in.printPolicy(ctx, c, s)
	}
	mode, err := failover.ParsePolicy(strings.ToLower(in.Operand(0)))
	if err != nil {
		return usagef("%q is no policy: use automatic, manual or maintenance", in.Operand(0))
	}
	node := in.String("node")
	if node != "" {
		n, ok := c.Node(node)
		if !ok {
			return usagef("cluster %s has no node %s", c.Name, node).hint("its nodes are %s", strings.Join(c.NodeNames(), ", "))
		}
		node = n.Name
	}
	limit := in.duration("for")
	if in.IsSet("for") && limit <= 0 {
		return usagef("--for must be longer than 0")
	}
	now, by := time.Now(), in.whoami()
	s, err := in.changeState(ctx, c, func(s *journal.State) error {
		setPolicy(s, c, node, mode, limit, in.String("reason"), by, now)
		return nil
	})
	if err != nil {
		return err
	}
	in.awaitPolicy(ctx, c, node, mode)
	return in.printPolicy(ctx, c, s)
}

// takeInLimit is how long a watcher may take to act on a new policy before the user
// is told that it has not.
const takeInLimit = 3 * time.Second

// awaitPolicy waits until the watcher on this host, if there is one, goes by the
// policy that was set: only then may the next command count on it.
func (in *invocation) awaitPolicy(ctx context.Context, c *config.Cluster, node string, mode failover.Policy) {
	ctx, cancel := context.WithTimeout(ctx, takeInLimit)
	defer cancel()
	for {
		s, err := in.askWatcher(ctx, c)
		switch {
		case errors.Is(err, watch.ErrNoWatcher):
			return
		case err == nil && takenIn(s.Engine, node, mode):
			return
		}
		select {
		case <-ctx.Done():
			in.remark("the policy is set; the running watcher has not taken it in within %s: see failwise status", takeInLimit)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// takenIn tells whether an engine goes by a policy.
func takenIn(s failover.Snapshot, node string, mode failover.Policy) bool {
	if node == "" {
		return s.Policy.Policy == mode
	}
	for _, n := range s.Nodes {
		if n.Name == node {
			return n.Maintenance == (mode == failover.Maintenance)
		}
	}
	return false
}

// configuredPolicy is what holds where nobody has set a policy: what the running
// watcher was started with, or what the configuration says.
func (in *invocation) configuredPolicy(ctx context.Context, c *config.Cluster) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if s, err := in.askWatcher(ctx, c); err == nil {
		return s.Engine.Policy.Policy.String()
	}
	return c.Policy
}

// setPolicy changes the stored policy of the cluster or of one node.
func setPolicy(s *journal.State, c *config.Cluster, node string, mode failover.Policy, limit time.Duration, reason, by string, now time.Time) {
	before := s.Policy
	if node != "" {
		before = s.NodePolicy[node]
	}
	p := journal.PolicyState{Mode: mode.String(), Reason: reason, By: by, Since: now.Truncate(time.Millisecond)}
	if limit > 0 {
		p.Until = now.Add(limit).Truncate(time.Millisecond)
		p.Then = lastingMode(before, c, node)
	}
	switch {
	case node == "":
		s.Policy = p
	case mode == failover.Automatic && limit == 0:
		delete(s.NodePolicy, node)
	default:
		if s.NodePolicy == nil {
			s.NodePolicy = map[string]journal.PolicyState{}
		}
		s.NodePolicy[node] = p
	}
}

// lastingMode is what holds when a limited policy ends.
func lastingMode(before journal.PolicyState, c *config.Cluster, node string) string {
	switch {
	case before.Mode == "" && node != "":
		return failover.Automatic.String()
	case before.Mode == "":
		return c.Policy
	case before.Until.IsZero():
		return before.Mode
	default:
		// A limited policy over another one: what lay below both, whether or not the
		// first has ended.
		return before.Then
	}
}

// policyView is the JSON output of policy.
type policyView struct {
	Cluster string       `json:"cluster"`
	Policy  policyOf     `json:"policy"`
	Nodes   []nodePolicy `json:"nodes"`
}

type policyOf struct {
	Mode   string `json:"mode"`
	By     string `json:"by,omitempty"`
	Since  string `json:"since,omitempty"`
	Until  string `json:"until,omitempty"`
	Then   string `json:"then,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Source is "configuration" where nobody has set one.
	Source string `json:"source"`

	since, until time.Time
}

type nodePolicy struct {
	Node string `json:"node"`
	policyOf
}

// effectivePolicy is the policy that holds now.
func effectivePolicy(p journal.PolicyState, otherwise string, now time.Time) policyOf {
	switch {
	case p.Mode == "", p.Ended(now) && p.Then == "":
		return policyOf{Mode: otherwise, Source: "configuration"}
	case p.Ended(now):
		return policyOf{Mode: p.Then, Source: "after the limited policy ended"}
	}
	v := policyOf{
		Mode: p.Mode, By: p.By, Reason: p.Reason, Source: "failwise policy",
		Since: jsonTime(p.Since), Until: jsonTime(p.Until), since: p.Since, until: p.Until,
	}
	if !p.Until.IsZero() {
		v.Then = p.Then
	}
	return v
}

func (in *invocation) printPolicy(ctx context.Context, c *config.Cluster, s journal.State) error {
	now := time.Now()
	view := policyView{Cluster: c.Name, Policy: effectivePolicy(s.Policy, c.Policy, now), Nodes: []nodePolicy{}}
	if view.Policy.Source == "configuration" {
		view.Policy.Mode = in.configuredPolicy(ctx, c)
	}
	for _, n := range c.Nodes {
		if p, ok := s.NodePolicy[n.Name]; ok && (!p.Ended(now) || p.Then != failover.Automatic.String()) {
			view.Nodes = append(view.Nodes, nodePolicy{n.Name, effectivePolicy(p, "automatic", now)})
		}
	}
	if in.JSON() {
		return in.printJSON(view)
	}
	fmt.Fprintln(in.Out, policyLine(in.paint(Stdout), "cluster "+c.Name, view.Policy, now))
	for _, n := range view.Nodes {
		fmt.Fprintln(in.Out, policyLine(in.paint(Stdout), "node "+n.Node, n.policyOf, now))
	}
	return nil
}

// policyLine is a policy in one line.
func policyLine(paint painter, who string, p policyOf, now time.Time) string {
	mode := p.Mode
	switch mode {
	case "automatic":
		mode = paint.green(mode)
	case "maintenance":
		mode = paint.yellow(mode)
	default:
		mode = paint.bold(mode)
	}
	line := who + ": " + mode
	if !p.until.IsZero() {
		left := p.until.Sub(now).Round(time.Second)
		line += fmt.Sprintf(" for %s more, then %s", left, p.Then)
	}
	if p.Source == "configuration" {
		return line + " (configured; nobody has set another)"
	}
	if p.By != "" {
		line += ", set by " + p.By
	}
	if !p.since.IsZero() {
		line += " at " + p.since.Local().Format("2006-01-02 15:04:05")
	}
	if p.Reason != "" {
		line += ": " + p.Reason
	}
	return line
}
