package commands

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"failwise/rules"
)

// rulesReport is the JSON output of rules.
type rulesReport struct {
	Profile  rules.Profile `json:"profile"`
	Statemap string        `json:"statemap,omitempty"`
	Timings  timingsReport `json:"timings"`
	Rules    []ruleReport  `json:"rules"`
}

// timingsReport has times in seconds.
type timingsReport struct {
	Tick           float64 `json:"tick"`
	ProbeInterval  float64 `json:"probe_interval"`
	ProbeBudget    float64 `json:"probe_budget"`
	Settle         int     `json:"settle"`
	SettleRestarts int     `json:"settle_restarts"`
	Quota          int     `json:"quota"`
	AgeLimit       float64 `json:"age_limit"`
	Retry          float64 `json:"retry"`
	Attempts       int     `json:"attempts"`
}

type ruleReport struct {
	Outcome rules.Outcome `json:"outcome"`
	rules.Rule
	Origin rules.Origin `json:"origin"`
}

// rulesDiffReport is the JSON output of rules --diff.
type rulesDiffReport struct {
	Profile  rules.Profile  `json:"profile"`
	Statemap string         `json:"statemap,omitempty"`
	Changes  []rules.Change `json:"changes"`
	Timings  []timingChange `json:"timings"`
}

// timingChange is a timing that is not the shipped one: in seconds if it is a time,
// else a number.
type timingChange struct {
	Timing string  `json:"timing"`
	Old    float64 `json:"old"`
	New    float64 `json:"new"`

	from, to string
}

// timingChanges lists the timings that differ, by their keys in failwise.yaml.
func timingChanges(from, to rules.Timings) []timingChange {
	list := []timingChange{}
	duration := func(key string, a, b time.Duration) {
		if a != b {
			list = append(list, timingChange{key, a.Seconds(), b.Seconds(), brief(a), brief(b)})
		}
	}
	count := func(key string, a, b int) {
		if a != b {
			list = append(list, timingChange{key, float64(a), float64(b), fmt.Sprint(a), fmt.Sprint(b)})
		}
	}
	duration("tick", from.Tick, to.Tick)
	duration("probe.interval", from.ProbeInterval, to.ProbeInterval)
	duration("probe.budget", from.ProbeBudget, to.ProbeBudget)
	count("settle", from.Settle, to.Settle)
	count("settle_restarts", from.SettleRestarts, to.SettleRestarts)
	count("quota", from.Quota, to.Quota)
	duration("age_limit", from.AgeLimit, to.AgeLimit)
	duration("retry", from.Retry, to.Retry)
	count("attempts", from.Attempts, to.Attempts)
	return list
}

func rulesCommand() *command {
	return &command{
		name:    "rules",
		brief:   true,
		summary: "print the rules in force and where each comes from",
		about: "The rules are those of the configured cluster, or what --rules and --profile give, or the shipped ones.\n" +
			"--output properties writes them as a statemap file, the shipped ones in comments: a good start for a file of\n" +
			"your own. Take the # from the lines that you change.",
		examples: []example{
			{"rules", "one line each"},
			{"rules --diff --profile mha", "what a profile changes of the shipped rules"},
			{"rules --output properties > my.properties", "a file to begin with"},
		},
		flags: func(f *pflag.FlagSet) {
			rulesFlags(f)
			f.Bool("diff", false, "only what differs from the shipped rules and timings")
		},
		outputs: []string{"text", "json", "properties"},
		run:     func(_ context.Context, in *invocation) error { return in.rules() },
	}
}

func (in *invocation) rules() error {
	set, err := in.ruleset()
	if err != nil {
		return err
	}
	changes := rules.Defaults().Diff(set.rules)
	timings := timingChanges(rules.Tungsten.Timings(), set.timings)
	switch {
	case in.Format() == "properties":
		return in.write(properties(set.rules, changes, in.Bool("diff")))
	case in.JSON() && in.Bool("diff"):
		if changes == nil {
			changes = []rules.Change{}
		}
		return in.printJSON(rulesDiffReport{Profile: set.rules.Profile(), Statemap: set.file, Changes: changes, Timings: timings})
	case in.JSON():
		return in.printJSON(set.report())
	case in.Bool("diff"):
		return in.printChanges(changes, timings)
	}
	return in.printRules(set)
}

func (r ruleset) report() rulesReport {
	t := r.timings
	out := rulesReport{
		Profile: r.rules.Profile(), Statemap: r.file, Rules: []ruleReport{},
		Timings: timingsReport{
			Tick: t.Tick.Seconds(), ProbeInterval: t.ProbeInterval.Seconds(), ProbeBudget: t.ProbeBudget.Seconds(),
			Settle: t.Settle, SettleRestarts: t.SettleRestarts, Quota: t.Quota, AgeLimit: t.AgeLimit.Seconds(),
			Retry: t.Retry.Seconds(), Attempts: t.Attempts,
		},
	}
	for _, o := range rules.Outcomes() {
		out.Rules = append(out.Rules, ruleReport{Outcome: o, Rule: r.rules.Rule(o), Origin: r.rules.Origin(o)})
	}
	return out
}

// properties writes rules as a statemap file: all of them, or the changed ones.
// What the file need not say is in comments, the shipped rules with those they
// ship with.
func properties(m *rules.Map, changes []rules.Change, diff bool) string {
	if len(changes) == 0 {
		if diff {
			return ""
		}
		return commented(string(rules.DefaultsFile()))
	}
	changed := map[rules.Outcome]bool{}
	for _, c := range changes {
		changed[c.Outcome] = true
	}
	var b strings.Builder
	for _, o := range rules.Outcomes() {
		text := m.Rule(o).Properties(o)
		switch beneath := m.Profile().Rules().Rule(o) == rules.Defaults().Rule(o); {
		case diff && !changed[o]:
			continue
		case !changed[o] && beneath:
			text = commented(text)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", m.Origin(o), text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// commented puts a # before every line that is neither empty nor a comment.
func commented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") {
			lines[i] = "#" + line
		}
	}
	return strings.Join(lines, "\n")
}

func (in *invocation) printChanges(changes []rules.Change, timings []timingChange) error {
	paint := in.paint(Stdout)
	for _, c := range changes {
		line := fmt.Sprintf("%s\n  %s %s\n  %s %s  %s\n", c.Outcome,
			paint.red("-"), c.Old.Rule, paint.green("+"), c.New.Rule, paint.dim("("+c.New.Origin.String()+")"))
		if err := in.write(line); err != nil {
			return err
		}
	}
	for _, c := range timings {
		if err := in.write(fmt.Sprintf("%s\n  %s %s\n  %s %s\n", c.Timing, paint.red("-"), c.from, paint.green("+"), c.to)); err != nil {
			return err
		}
	}
	if len(changes)+len(timings) == 0 {
		in.remark("the rules are the shipped ones")
	}
	return nil
}

func (in *invocation) printRules(set ruleset) error {
	paint := in.paint(Stdout)
	header := "# profile " + set.rules.Profile().String()
	if set.file != "" {
		header += ", statemap " + set.file
	}
	t := set.timings
	header += fmt.Sprintf("\n# tick %s, a probe every %s of up to %s, settle %s, %s, %s\n",
		brief(t.Tick), brief(t.ProbeInterval), brief(t.ProbeBudget), plural(t.Settle, "tick"), limit(t.Quota > 0, plural(t.Quota, "failover")+" in all", "no quota"),
		limit(t.AgeLimit > 0, "failovers "+brief(t.AgeLimit)+" apart", "no age limit"))
	if err := in.write(paint.dim(strings.TrimSuffix(header, "\n")) + "\n"); err != nil {
		return err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OUTCOME\tSTATE\tTHRESHOLD\tACTION\tWINDOW\tHEAL\tFROM")
	for _, o := range rules.Outcomes() {
		r := set.rules.Rule(o)
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", o, r.State, r.Threshold, r.Action,
			limit(r.Window > 0, fmt.Sprint(r.Window), "-"), limit(r.Heal > 1, fmt.Sprint(r.Heal), "-"), set.rules.Origin(o))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")
	lines[0] = paint.bold(lines[0])
	for i, o := range rules.Outcomes() {
		lines[i+1] = paint.state(set.rules.Rule(o).State, lines[i+1])
	}
	return in.write(strings.Join(lines, "\n") + "\n")
}

// brief writes a duration without its zeros: 8h rather than 8h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if d%time.Minute == 0 && d > 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d%time.Hour == 0 && d > 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// limit chooses between two words.
func limit(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
