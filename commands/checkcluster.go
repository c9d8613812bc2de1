package commands

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"failwise/check"
	"failwise/commands/config"
	"failwise/failover/journal"
	"failwise/failover/topology"
	"failwise/rules"
)

// clusterCheckReport is the JSON output's "details" of check cluster.
type clusterCheckReport struct {
	Cluster    string            `json:"cluster"`
	Primary    string            `json:"primary"`
	Policy     policyReport      `json:"policy"`
	Candidates []string          `json:"candidates"`
	Nodes      []nodeReport      `json:"nodes"`
	Findings   []findingReport   `json:"findings"`
	Rejected   []rejectionReport `json:"rejected"`
}

type policyReport struct {
	Mode   string `json:"mode"`
	By     string `json:"by,omitempty"`
	Since  string `json:"since,omitempty"`
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type nodeReport struct {
	Node     string  `json:"node"`
	Address  string  `json:"address"`
	Role     string  `json:"role"`
	State    string  `json:"state"`
	Outcome  string  `json:"outcome"`
	Seconds  float64 `json:"seconds"`
	Message  string  `json:"message"`
	ReadOnly string  `json:"read_only,omitempty"`
	Version  string  `json:"version,omitempty"`
	Error    string  `json:"error,omitempty"`
}

type findingReport struct {
	Rule  string `json:"rule"`
	Node  string `json:"node,omitempty"`
	Text  string `json:"text"`
	Fix   string `json:"fix"`
	Holds bool   `json:"holds"`
}

type rejectionReport struct {
	Node   string `json:"node"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

func checkClusterCommand() *command {
	return &command{
		name:    "cluster",
		summary: "check a whole cluster: nodes, roles, replication, candidates, policy",
		about: "One line sums up, one line follows for each node. CRITICAL: the primary is down or not certain.\n" +
			"WARNING: a replica is down or does not replicate, no replica could be promoted, or the policy is\n" +
			"maintenance.",
		examples: []example{
			{"check cluster --cluster prod", "the nodes of the configuration"},
			{"check cluster -H db1 -H db2 -H db3 -u monitor", "a cluster given by flags alone"},
		},
		run: func(ctx context.Context, in *invocation) error {
			return in.runCheck(ctx, in.checkCluster)
		},
	}
}

func (in *invocation) checkCluster(ctx context.Context, at *stage) (checkReport, error) {
	at.set("the configuration")
	if err := in.settingsNear(at); err != nil {
		return checkReport{}, err
	}
	cluster, err := in.cluster()
	if err != nil {
		return checkReport{}, err
	}
	if err := in.filesNear(at, cluster, true); err != nil {
		return checkReport{}, err
	}
	m, err := in.statemap(cluster)
	if err != nil {
		return checkReport{}, err
	}
	at.set("the password")
	login, err := in.login(ctx, cluster.Monitor)
	if err != nil {
		return checkReport{}, err
	}
	list, err := members(cluster.Nodes, login)
	if err != nil {
		return checkReport{}, err
	}
	at.set("probing and reading the servers")
	limit := share(ctx, readLimit)
	view := clusterView{cluster: cluster, statemap: m, now: time.Now()}
	var wait sync.WaitGroup
	wait.Go(func() { view.results = probeAll(ctx, cluster, login, limit) })
	reader := topology.NewReader(list, limit)
	defer reader.Close() //nolint:errcheck // the answers are there
	readings := reader.ReadDeep(ctx)
	wait.Wait()
	at.set("the state directory")
	view.policy, view.policyErr = in.policyNow(ctx, cluster, view.now)
	view.topology = topology.Judge(readings, topology.Memory{}, view.now)
	view.choice = topology.Choose(topology.Contest{Topology: view.topology})
	return view.report(), nil
}

// probeAll makes one connect probe of every node at once.
func probeAll(ctx context.Context, cluster *config.Cluster, login config.Login, limit time.Duration) []check.Result {
	results := make([]check.Result, len(cluster.Nodes))
	var wait sync.WaitGroup
	for i, n := range cluster.Nodes {
		results[i] = check.Result{Node: n.Name, Address: n.Address, Outcome: rules.Undefined}
		prober, err := check.NewProber(n.Server(login), check.Connect, check.Options{Limits: check.Limits{Total: limit}})
		if err != nil {
			results[i].Message = err.Error()
			continue
		}
		wait.Go(func() {
			results[i] = prober.Probe(ctx)
			_ = prober.Close() // the result is there
		})
	}
	wait.Wait()
	return results
}

// policyNow is the policy that holds: the one kept in the state directory, or else
// the configuration's.
func (in *invocation) policyNow(ctx context.Context, c *config.Cluster, now time.Time) (policyReport, error) {
	all, err := in.config()
	if err != nil {
		return policyReport{}, err
	}
	state, _, err := journal.NewStateFile(journal.NewDir(journal.ClusterDir(all.StateDir, c.Name))).Load(ctx)
	if err != nil {
		return policyReport{Mode: c.Policy}, err
	}
	p := effectivePolicy(state.Policy, c.Policy, now)
	return policyReport{Mode: p.Mode, By: p.By, Since: p.Since, Until: p.Until, Reason: p.Reason}, nil
}

// jsonTime is a time in JSON output: RFC 3339 with milliseconds, "" for none.
func jsonTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}

// clusterView is all that is known about a cluster.
type clusterView struct {
	cluster   *config.Cluster
	statemap  *rules.Map
	now       time.Time
	results   []check.Result
	topology  topology.Topology
	choice    topology.Choice
	policy    policyReport
	policyErr error
}

func (v *clusterView) report() checkReport {
	out := clusterCheckReport{
		Cluster: v.cluster.Name, Primary: v.topology.Primary, Policy: v.policy,
		Candidates: append([]string{}, v.choice.Eligible()...),
		Nodes:      []nodeReport{}, Findings: []findingReport{}, Rejected: []rejectionReport{},
	}
	exit := ExitOK
	var problems, lines, evidence []string
	judge := func(e Exit, format string, args ...any) {
		exit = worse(exit, e)
		if e != ExitOK {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	online, silent := 0, map[string]bool{}
	for i, r := range v.results {
		n := v.topology.Nodes[i]
		rule := v.statemap.Rule(r.Outcome)
		role := n.Role.String()
		if v.topology.Primary == "" && len(n.Links) == 0 {
			role = "unknown"
		}
		e := exitRules(nil).of(r.Outcome, rule.State)
		switch {
		case e == ExitOK:
			online++
		case n.Name == v.topology.Primary || role == "unknown":
			judge(e, "%s %s (%s)", n.Name, rule.State, r.Outcome)
			silent[n.Name] = true
		default:
			// The cluster serves without a replica, but it is not as it should be.
			judge(ExitWarning, "%s %s (%s)", n.Name, rule.State, r.Outcome)
			silent[n.Name] = true
		}
		report := nodeReport{
			Node: n.Name, Address: n.Address, Role: role, State: rule.State.String(), Outcome: r.Outcome.String(),
			Seconds: r.Elapsed.Seconds(), Message: r.Message, Error: n.Error,
		}
		line := fmt.Sprintf("%s: %s %s: %s", n.Name, role, rule.State, r.Message)
		if n.Readable() {
			report.ReadOnly, report.Version = n.Status.ReadOnly.String(), n.Status.Version.String()
			line = v.topology.Line(n) + "; " + rule.State.String()
		}
		out.Nodes = append(out.Nodes, report)
		lines = append(lines, line)
	}
	for _, f := range v.topology.Findings {
		out.Findings = append(out.Findings, findingReport{f.Rule, f.Node, oneLine(f.Text), f.Fix, f.Holds})
		evidence = append(evidence, "finding "+f.Rule+": "+f.Text+"; fix: "+f.Fix)
		e := ExitWarning
		if f.Holds {
			e = ExitCritical
		}
		if f.Rule == "unreadable" && silent[f.Node] {
			continue // the probe has said it better
		}
		if f.Node != "" && !strings.Contains(f.Text, f.Node) {
			judge(e, "%s: %s", f.Node, f.Text)
		} else {
			judge(e, "%s", f.Text)
		}
	}
	for _, verdict := range v.choice.Verdicts {
		for _, r := range verdict.Rejections {
			out.Rejected = append(out.Rejected, rejectionReport{verdict.Node, r.Rule, r.Reason, r.Fix})
			evidence = append(evidence, "candidate "+verdict.Node+" rejected by "+r.Rule+": "+r.Reason+"; fix: "+r.Fix)
		}
	}
	if len(v.cluster.Nodes) > 1 && v.topology.Primary != "" && len(out.Candidates) == 0 {
		judge(ExitWarning, "no replica could be promoted")
	}
	v.judgePolicy(judge)
	primary := v.topology.Primary
	if primary == "" {
		primary = "none"
	}
	facts := fmt.Sprintf("primary %s, %d of %d nodes online, candidates: %s, policy %s",
		primary, online, len(v.results), orNone(out.Candidates), v.policy.Mode)
	summary := v.cluster.Name + ": " + strings.Join(append(problems, facts), ", ")
	return checkReport{
		exit: exit, summary: summary, lines: lines, evidence: evidence, details: out,
		perfdata: []check.Perfdata{
			{Label: "nodes_online", Value: float64(online), Bounds: true, Max: float64(len(v.results))},
			{Label: "candidates", Value: float64(len(out.Candidates)), Bounds: true, Max: float64(max(0, len(v.results)-1))},
		},
	}
}

func (v *clusterView) judgePolicy(judge func(Exit, string, ...any)) {
	switch {
	case v.policyErr != nil:
		judge(ExitUnknown, "the policy is unknown: %v", v.policyErr)
	case v.policy.Mode == "maintenance":
		text := "policy is maintenance"
		if v.policy.By != "" {
			text += ", set by " + v.policy.By
		}
		if v.policy.Since != "" {
			text += " at " + v.policy.Since
		}
		if v.policy.Until != "" {
			text += ", until " + v.policy.Until
		}
		judge(ExitWarning, "%s", text)
	}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
