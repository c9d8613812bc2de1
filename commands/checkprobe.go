package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/check"
	"failwise/commands/config"
	"failwise/rules"
)

var probeAbout = map[string]string{
	"connect": "A new connection, a login and one statement: sees a server that accepts no new sessions.",
	"select":  "As connect; watch keeps the session open between probes, a single check cannot.",
	"insert": "One row is written to failwise.heartbeat and committed: sees blocked writes and disks that do not take\n" +
		"them. On a replica it reads instead. failwise doctor prints the statements that create the table.",
}

// probeReport is the JSON output's "details" of check connect, select and insert.
type probeReport struct {
	Target string       `json:"target"`
	State  string       `json:"state"`
	Probe  check.Result `json:"probe"`
}

func checkProbeCommand(name string) *command {
	return &command{
		name:     name,
		operands: "TARGET",
		summary:  "make one " + name + " probe of a server",
		about: probeAbout[name] + "\n\nTARGET is a node of the configuration or an address: db1, db1:3307, [::1]:3306, unix:/run/mysqld/mysqld.sock.\n" +
			"Instead of it, one -H or -S may be given. Ranges are in seconds or durations.",
		examples: []example{
			{"check " + name + " db1 -w 1s -c 3s", "slower than 1 s is WARNING, than 3 s CRITICAL"},
			{"check " + name + " -H db1:3307 -u monitor --password-file /etc/fw.pass -v", "with the evidence"},
			{"check " + name + " db1 --critical-on too_many_connections", "which is WARNING by itself"},
		},
		flags: func(f *pflag.FlagSet) {
			thresholdFlags(f, "the whole time")
			exitFlags(f)
			if name != "insert" {
				f.String("query", "", "run `STATEMENT` instead of SELECT 1")
			}
		},
		max: 1,
		values: func(in *invocation) []string {
			return in.nodeNames()
		},
		run: func(ctx context.Context, in *invocation) error {
			exits, err := in.exitRules()
			if err != nil {
				return err
			}
			limits, err := in.thresholds("warning", "critical", check.ParseTimeRange)
			if err != nil {
				return err
			}
			typ, err := check.ParseType(name)
			if err != nil {
				return err
			}
			return in.runCheck(ctx, func(ctx context.Context, at *stage) (checkReport, error) {
				return in.probe(ctx, at, typ, exits, limits)
			})
		},
	}
}

func (in *invocation) probe(ctx context.Context, at *stage, typ check.Type, exits exitRules, limits thresholds) (checkReport, error) {
	at.set("the configuration")
	if err := in.settingsNear(at); err != nil {
		return checkReport{}, err
	}
	cluster, node, err := in.target(in.Operand(0))
	if err != nil {
		return checkReport{}, err
	}
	if err := in.filesNear(at, cluster, false); err != nil {
		return checkReport{}, err
	}
	statemap, err := in.statemap(cluster)
	if err != nil {
		return checkReport{}, err
	}
	at.set("the password")
	login, err := in.login(ctx, cluster.Monitor)
	if err != nil {
		return checkReport{}, err
	}
	at.set("the TLS files")
	if err := in.near(at, tlsFiles(login.TLS)...); err != nil { // an option file may have named them
		return checkReport{}, err
	}
	options := check.Options{Limits: cluster.Probe.Limits, Query: cluster.Probe.Query, Watcher: in.loaded.Watcher.ID}
	if in.IsSet("timeout") {
		options.Limits.Total = in.duration("timeout")
	}
	if q := in.String("query"); q != "" {
		options.Query = q
	}
	if options.Query == "SELECT 1" {
		options.Query = "" // whose answer the probe checks
	}
	prober, err := check.NewProber(node.Server(login), typ, options)
	if err != nil {
		return checkReport{}, misconfigured(err)
	}
	at.set("the probe")
	result := prober.Probe(ctx)
	if result.Outcome == rules.Undefined && ctx.Err() == context.Canceled {
		return checkReport{}, ctx.Err()
	}
	report := probeVerdict(result, node, statemap, exits, limits, options.Limits.Total)
	report.end = func() { _ = prober.Close() } // the result is there
	if names := in.nodeNames(); result.Outcome == rules.UnknownHost && cluster == in.loaded.Server && len(names) > 0 {
		report.lines = append(report.lines, "hint: the configuration has "+strings.Join(names, ", "))
	}
	return report, nil
}

// probeVerdict words the result of a probe.
func probeVerdict(r check.Result, node config.Node, m *rules.Map, exits exitRules, limits thresholds, budget time.Duration) checkReport {
	rule := m.Rule(r.Outcome)
	label := node.Address.String()
	if node.Name != label && node.Name != node.Address.Host() {
		label = node.Name + " (" + label + ")"
	}
	report := checkReport{
		exit:     exits.of(r.Outcome, rule.State),
		perfdata: probePerfdata(r, limits, budget),
		evidence: probeEvidence(r, rule),
		details:  probeReport{Target: label, State: rule.State.String(), Probe: r},
	}
	report.summary = label + " " + rule.State.String() + ": "
	if rule.State != rules.Online {
		report.summary += r.Outcome.String() + ": "
	}
	report.summary += r.Message
	if r.ServerVersion != "" {
		report.summary += " (" + r.ServerVersion + ")"
	}
	if r.Note != "" {
		report.summary += "; " + r.Note
	}
	if rule.State == rules.Online {
		slow := limits.of(r.Elapsed.Seconds())
		if slow != ExitOK {
			limit := limits.warn
			if slow == ExitCritical {
				limit = limits.crit
			}
			report.summary += fmt.Sprintf("; the time alerts at %s s", limit)
		}
		report.exit = worse(report.exit, slow)
	}
	return report
}

func probePerfdata(r check.Result, limits thresholds, budget time.Duration) []check.Perfdata {
	if budget <= 0 {
		budget = check.DefaultTotal
	}
	total := check.TimePerfdata("total", r.Elapsed)
	total.Warn, total.Crit, total.Bounds, total.Max = limits.warn, limits.crit, true, budget.Seconds()
	list := []check.Perfdata{total}
	connect := r.Times[rules.PhaseResolve] + r.Times[rules.PhaseConnect]
	login := r.Times[rules.PhaseGreeting] + r.Times[rules.PhaseLogin]
	for _, p := range []struct {
		label string
		from  rules.Phase
		time  time.Duration
	}{{"connect", rules.PhaseResolve, connect}, {"login", rules.PhaseGreeting, login}, {"query", rules.PhaseSend, r.Times.Query()}} {
		if r.Phase >= p.from {
			list = append(list, check.TimePerfdata(p.label, p.time))
		}
	}
	return list
}

// probeEvidence is what -v shows.
func probeEvidence(r check.Result, rule rules.Rule) []string {
	lines := []string{
		fmt.Sprintf("outcome: %s (state %s, threshold %d, action %s)", r.Outcome, rule.State, rule.Threshold, rule.Action),
		"phase: " + r.Phase.String(),
	}
	add := func(name, value string) {
		if value != "" && value != "0" {
			lines = append(lines, name+": "+value)
		}
	}
	add("os error", rules.ErrnoName(r.Errno))
	number := strconv.Itoa(int(r.ServerErrno))
	if r.SQLState != "" {
		number += " (" + r.SQLState + ")"
	}
	add("server error", number)
	add("address", r.Remote)
	add("tls", r.TLS)
	add("session state", r.SessionState)
	for _, a := range r.Attempts {
		lines = append(lines, fmt.Sprintf("tried %s: %s in %s", a.Remote, a.Outcome, milliseconds(a.Elapsed)))
	}
	if f := r.Retry; f != nil {
		lines = append(lines, fmt.Sprintf("first attempt: %s: %s", f.Outcome, f.Message))
	}
	times := "times:"
	for p := rules.PhaseResolve; p <= r.Phase; p++ {
		times += " " + p.String() + " " + milliseconds(r.Times[p])
	}
	if r.Phase != rules.PhaseNone {
		lines = append(lines, times)
	}
	for _, e := range r.Trace {
		lines = append(lines, fmt.Sprintf("  +%s %s", milliseconds(e.At), e.Text))
	}
	return lines
}

// milliseconds is a duration as a person reads it beside others.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}
