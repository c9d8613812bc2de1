package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"failwise/commands/config"
)

func configCommand() *command {
	return &command{
		name:    "config",
		summary: "show the configuration, or check it",
		about: "The configuration is one YAML file (--config, FAILWISE_CONFIG, ./failwise.yaml,\n" +
			"~/.config/failwise/failwise.yaml, /etc/failwise/failwise.yaml), the environment and flags; the later one\n" +
			"wins. docs/configuration.md lists all keys.",
		examples: []example{{"config show --origin", "which setting holds, and who set it"}},
		branches: []branch{{"show", configShowCommand}, {"check", configCheckCommand}},
	}
}

// settingReport is one setting in the JSON output of config show.
type settingReport struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// configReport is the JSON output of config show.
type configReport struct {
	File     string          `json:"file"`
	Settings []settingReport `json:"settings"`
	Clusters []clusterReport `json:"clusters"`
}

type clusterReport struct {
	Name     string          `json:"name"`
	Settings []settingReport `json:"settings"`
}

func configShowCommand() *command {
	return &command{
		name:    "show",
		summary: "show every setting as it holds",
		examples: []example{
			{"config show --origin", "with the file and line, variable or flag that set it"},
			{"config show --cluster prod", ""},
			{"-H db1 -H db2 config show", "a cluster given by flags alone"},
		},
		flags: func(f *pflag.FlagSet) { f.Bool("origin", false, "say who set each setting") },
		run: func(_ context.Context, in *invocation) error {
			c, err := in.config()
			if err != nil {
				return err
			}
			clusters := c.Clusters
			if name := in.clusterName(); name != "" {
				cluster, err := in.cluster()
				if err != nil {
					return err
				}
				clusters = []*config.Cluster{cluster}
			}
			report := configReport{File: c.File, Settings: reportSettings(c.Settings()), Clusters: []clusterReport{}}
			for _, each := range clusters {
				report.Clusters = append(report.Clusters, clusterReport{each.Name, reportSettings(each.Settings())})
			}
			if in.JSON() {
				return in.printJSON(report)
			}
			return in.printConfig(report)
		},
	}
}

func reportSettings(settings []config.Setting) []settingReport {
	reports := []settingReport{}
	for _, s := range settings {
		reports = append(reports, settingReport{s.Key, s.Value, s.Origin})
	}
	return reports
}

// longValue is the longest value, in columns, that sets the width of its column:
// a list of nodes would push every origin off the screen.
const longValue = 40

func (in *invocation) printConfig(r configReport) error {
	paint := in.paint(Stdout)
	all := r.Settings
	for _, c := range r.Clusters {
		all = append(all[:len(all):len(all)], c.Settings...)
	}
	keys, values := 0, 0
	for _, s := range all {
		keys = max(keys, visible(s.Key))
		if n := visible(s.Value); n <= longValue {
			values = max(values, n)
		}
	}
	show := func(list []settingReport) {
		for _, s := range list {
			line := fmt.Sprintf("%-*s  %s", keys, s.Key, s.Value)
			if in.Bool("origin") {
				line = fmt.Sprintf("%-*s  %-*s  %s", keys, s.Key, values, s.Value, paint.dim(s.Origin))
			}
			fmt.Fprintln(in.Out, strings.TrimRight(line, " "))
		}
	}
	file := r.File
	if file == "" {
		file = "no file"
	}
	fmt.Fprintf(in.Out, "# %s\n", file)
	show(r.Settings)
	for _, c := range r.Clusters {
		fmt.Fprintf(in.Out, "\n# cluster %s\n", c.Name)
		show(c.Settings)
	}
	return nil
}

// problemReport is one problem in the JSON output of config check.
type problemReport struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// configCheckReport is the JSON output of config check.
type configCheckReport struct {
	File     string          `json:"file"`
	Clusters []string        `json:"clusters"`
	Problems []problemReport `json:"problems"`
}

func configCheckCommand() *command {
	return &command{
		name:     "check",
		operands: "[FILE]",
		summary:  "report everything that is wrong with the configuration",
		about: "Files that are named must be there and readable, programs runnable, here and for this user. Exit code 0 if\n" +
			"nothing is wrong, else 2. The rules have a checker of their own: failwise lint.",
		examples: []example{{"config check ./failwise.yaml", "before it is rolled out"}},
		max:      1,
		run: func(_ context.Context, in *invocation) error {
			if file := in.Operand(0); file != "" {
				if err := in.flags.Set("config", file); err != nil {
					return err
				}
			}
			report := configCheckReport{Clusters: []string{}, Problems: []problemReport{}}
			c, err := in.loadConfig(true)
			var wrong *config.Error
			switch {
			case errors.As(err, &wrong):
				for _, p := range wrong.Problems {
					report.Problems = append(report.Problems, problemReport{p.Source, p.Line, p.Column, p.Text, p.Hint})
				}
			case err != nil:
				return err
			default:
				report.File = c.File
				for _, each := range c.Clusters {
					report.Clusters = append(report.Clusters, each.Name)
				}
			}
			if err := in.printConfigCheck(report, wrong); err != nil || wrong == nil {
				return err
			}
			return exitWith(ExitUsage)
		},
	}
}

func (in *invocation) printConfigCheck(r configCheckReport, wrong *config.Error) error {
	if in.JSON() {
		return in.printJSON(r)
	}
	if wrong == nil {
		file := r.File
		if file == "" {
			file = "no file found; the defaults"
		}
		_, err := fmt.Fprintf(in.Out, "%s: nothing wrong, clusters: %d\n", file, len(r.Clusters))
		return err
	}
	for i := range wrong.Problems {
		fmt.Fprintln(in.Out, wrong.Problems[i].String())
		if hint := wrong.Problems[i].Hint; hint != "" {
			fmt.Fprintln(in.Out, "  hint: "+hint)
		}
	}
	return nil
}
