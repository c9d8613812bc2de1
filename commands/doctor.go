package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"failwise/check"
	"failwise/commands/config"
	"failwise/commands/doctor"
	"failwise/failover/hooks"
	"failwise/failover/mysql"
	"failwise/failover/topology"
	"failwise/rules"
)

// doctorReport is the JSON output of doctor.
type doctorReport struct {
	Cluster  string          `json:"cluster"`
	Problems int             `json:"problems"`
	Warnings int             `json:"warnings"`
	Findings []doctorFinding `json:"findings"`
}

type doctorFinding struct {
	Severity string   `json:"severity"`
	Rule     string   `json:"rule"`
	Node     string   `json:"node,omitempty"`
	Text     string   `json:"text"`
	Fix      []string `json:"fix"`
}

// statementsReport is the JSON output of doctor --statements.
type statementsReport struct {
	Flavour    string   `json:"flavour"`
	Statements []string `json:"statements"`
}

func doctorCommand() *command {
	return &command{
		name:    "doctor",
		summary: "say what keeps failwise from doing its work here, and how to mend it",
		about: "Looks at the users and their grants, the heartbeat table, settings that make probes blind or a failover\n" +
			"impossible, the topology, clocks, hooks and the state directory. It changes nothing.\n\n" +
			"Exit code 1 if there is a problem; warnings alone are 0.",
		examples: []example{
			{"doctor --cluster prod", "every node of a cluster"},
			{"doctor -H db1 -H db2 -u monitor", "before there is a configuration"},
			{"doctor --statements mariadb", "the statements that create users and the heartbeat table"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("statements", "", "print the statements that create users and table for `FLAVOUR` mysql or mariadb, and ask no server")
		},
		run: func(ctx context.Context, in *invocation) error {
			if in.IsSet("statements") {
				return in.printStatements(in.String("statements"))
			}
			timeout := 30 * time.Second
			if in.IsSet("timeout") {
				timeout = in.duration("timeout")
			}
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return in.doctor(ctx)
		},
	}
}

// printStatements prints what sets up users and the heartbeat table.
func (in *invocation) printStatements(flavour string) error {
	f, err := mysql.ParseFlavour(flavour)
	if err != nil {
		return usagef("--statements takes mysql or mariadb, not %q", flavour)
	}
	report := statementsReport{Flavour: f.String(), Statements: setupStatements(f)}
	if in.JSON() {
		return in.printJSON(report)
	}
	for _, s := range report.Statements {
		fmt.Fprintln(in.Out, s)
	}
	return nil
}

// setupStatements are for the current release of a flavour.
func setupStatements(f mysql.Flavour) []string {
	v := mysql.Version{Flavour: f, Major: 8, Minor: 4}
	if f == mysql.MariaDB {
		v.Major, v.Minor = 10, 11
	}
	var list []string
	for _, s := range check.HeartbeatDDL() {
		list = append(list, s+";")
	}
	list = append(list, doctor.Statements(v, doctor.Monitor, "fw_monitor")...)
	return append(list, doctor.Statements(v, doctor.Act, "fw_act")...)
}

func (in *invocation) doctor(ctx context.Context) error {
	cluster, err := in.cluster()
	if err != nil {
		return err
	}
	m, err := in.statemap(cluster)
	if err != nil {
		return err
	}
	monitor, err := in.login(ctx, cluster.Monitor)
	if err != nil {
		return err
	}
	act, err := in.login(ctx, cluster.Manage)
	if err != nil {
		return err
	}
	list, err := members(cluster.Nodes, act)
	if err != nil {
		return err
	}
	reader := topology.NewReader(list, share(ctx, readLimit))
	defer reader.Close() //nolint:errcheck // the answers are there
	t := topology.Judge(reader.ReadDeep(ctx), topology.Memory{}, time.Now())
	facts := make([]doctor.Facts, len(cluster.Nodes))
	var wait sync.WaitGroup
	for i, n := range cluster.Nodes {
		base := doctor.Facts{
			Node: t.Nodes[i], IsPrimary: t.Primary == n.Name, AdminPort: n.AdminPort != 0,
			Insert: slices.Contains(cluster.Probe.Types, check.Insert), NetTimeoutLimit: shortestFatal(m, cluster),
		}
		wait.Go(func() { facts[i] = doctor.Read(ctx, base, n.Server(monitor), n.Server(act)) })
	}
	wait.Wait()
	report := doctorReport{Cluster: cluster.Name, Findings: []doctorFinding{}}
	report.add(in.localFindings(cluster)...)
	for _, f := range t.Findings {
		severity := doctor.Warning
		if f.Holds {
			severity = doctor.Problem
		}
		report.add(doctor.Finding{Rule: f.Rule, Severity: severity, Node: f.Node, Text: f.Text, Fix: []string{f.Fix}})
	}
	for _, f := range facts {
		report.add(doctor.Examine(f)...)
	}
	for _, v := range topology.Choose(topology.Contest{Topology: t}).Verdicts {
		for _, r := range v.Rejections {
			if r.Rule == "unreachable" || t.Unread() != nil {
				continue // said already
			}
			report.add(doctor.Finding{Rule: "candidate_" + r.Rule, Severity: doctor.Warning, Node: v.Node, Text: "cannot be promoted: " + r.Reason, Fix: []string{r.Fix}})
		}
	}
	return in.printDoctor(report)
}

// shortestFatal is the shortest time after which a rule other than the instant ones
// fails a node.
func shortestFatal(m *rules.Map, c *config.Cluster) time.Duration {
	var shortest time.Duration
	for o := rules.Outcome(1); o.Valid(); o++ {
		r := m.Rule(o)
		if d := time.Duration(r.Threshold) * c.Timings.Tick; r.Fatal() && d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

func (r *doctorReport) add(list ...doctor.Finding) {
	for _, f := range list {
		if f.Severity == doctor.Problem {
			r.Problems++
		} else {
			r.Warnings++
		}
		r.Findings = append(r.Findings, doctorFinding{f.Severity.String(), f.Rule, f.Node, oneLine(f.Text), append([]string{}, f.Fix...)})
	}
}

// localFindings are about this host.
func (in *invocation) localFindings(c *config.Cluster) []doctor.Finding {
	var list []doctor.Finding
	all, err := in.config()
	if err != nil {
		return nil // reported by the caller, who read it before
	}
	if err := writable(all.StateDir); err != nil {
		list = append(list, doctor.Finding{
			Rule: "state_dir", Severity: doctor.Problem, Text: fmt.Sprintf("state_dir %s cannot be written: %v", all.StateDir, err),
			Fix: []string{"set state_dir, or create the directory for the user that runs failwise watch"},
		})
	}
	if limit, err := fileLimit(); err == nil {
		if text := filesWanted(limit, sizes(all.Clusters)...); text != "" {
			list = append(list, doctor.Finding{
				Rule: "open_files", Severity: doctor.Warning, Text: text,
				Fix: []string{"ulimit -Hn, or LimitNOFILE= in the systemd unit of failwise watch; here it is the limit of this shell"},
			})
		}
	}
	for _, event := range hooks.Events() {
		for _, h := range c.Hooks.Hooks[event] {
			if _, err := exec.LookPath(h.Argv[0]); err != nil {
				list = append(list, doctor.Finding{
					Rule: "hook", Severity: doctor.Problem, Text: fmt.Sprintf("hook %s cannot run: %v", event, err),
					Fix: []string{"chmod +x, or correct hooks." + event.String() + " in the configuration"},
				})
			}
		}
	}
	for _, r := range c.Confirm.Routes {
		if _, err := exec.LookPath(r.Command[0]); err != nil {
			list = append(list, doctor.Finding{
				Rule: "route", Severity: doctor.Problem, Text: fmt.Sprintf("route %s cannot run: %v", r.Command[0], err),
				Fix: []string{"chmod +x, or correct confirm.routes in the configuration"},
			})
		}
	}
	return list
}

// writable says why no file can be made in a directory, or in the nearest one
// above it that exists.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory", dir)
		}
		file, err := os.CreateTemp(dir, ".failwise-doctor-*")
		if err != nil {
			return err
		}
		return errors.Join(file.Close(), os.Remove(file.Name()))
	}
}

func (in *invocation) printDoctor(r doctorReport) error {
	if in.JSON() {
		if err := in.printJSON(r); err != nil {
			return err
		}
	} else {
		paint := in.paint(Stdout)
		for _, f := range r.Findings {
			word := paint.yellow(f.Severity)
			if f.Severity == doctor.Problem.String() {
				word = paint.red(f.Severity)
			}
			where := ""
			if f.Node != "" && !strings.HasPrefix(f.Text, f.Node+": ") {
				where = f.Node + ": "
			}
			fmt.Fprintln(in.Out, in.folded(fmt.Sprintf("%s %s%s (%s)", word, where, f.Text, f.Rule)))
			for _, fix := range f.Fix {
				if strings.HasSuffix(fix, ";") {
					fmt.Fprintf(in.Out, "  fix: %s\n", fix) // a statement is to be copied
					continue
				}
				fmt.Fprintln(in.Out, in.folded("  fix: "+fix))
			}
		}
		fmt.Fprintf(in.Out, "%s: %d problems, %d warnings\n", r.Cluster, r.Problems, r.Warnings)
	}
	if r.Problems > 0 {
		return exitWith(ExitRefused)
	}
	return nil
}
