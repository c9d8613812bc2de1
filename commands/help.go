package commands

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"failwise/commands/suggest"
)

func helpCommand() *command {
	return &command{
		name:     "help",
		brief:    true,
		operands: "[COMMAND…]",
		summary:  "show help on a command",
		examples: []example{{"help check connect", ""}},
		max:      -1,
		values: func(in *invocation) []string {
			c, _ := in.root.find(in.Operands())
			return c.names()
		},
		run: func(_ context.Context, in *invocation) error {
			c, unknown := in.root.find(in.Operands())
			if unknown != "" {
				f := usagef("%s has no command %q", c.line(), unknown)
				if near := suggest.Nearest(unknown, c.names()); near != "" {
					f = f.hint("did you mean failwise help %s?", strings.TrimSpace(c.title()+" "+near))
				}
				return f.hint("failwise help")
			}
			return writeHelp(in.Process, c)
		},
	}
}

// find follows names down the tree; unknown is the first one that leads nowhere.
func (c *command) find(names []string) (found *command, unknown string) {
	for _, name := range names {
		next := c.sub(name)
		if next == nil {
			return c, name
		}
		c = next
	}
	return c, ""
}

// names lists the visible subcommands.
func (c *command) names() []string {
	var names []string
	for _, s := range c.subcommands() {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	return names
}

// helpColumns is the width of help that goes to a file or a pager.
const helpColumns = 80

func writeHelp(p Process, c *command) error {
	width := p.columns(Stdout)
	if width == 0 {
		width = helpColumns
	}
	_, err := fmt.Fprint(p.Out, fold(reflow(c.help()), width))
	return err
}

// help is the command's help page.
func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nUsage: %s\n", c.line(), c.summary, c.usage())
	if c.about != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.about))
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if names := c.names(); len(names) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		for _, name := range names {
			fmt.Fprintf(w, "  %s\t%s\n", name, c.sub(name).summary)
		}
	}
	if len(c.examples) > 0 {
		fmt.Fprint(w, "\nExamples:\n")
		for _, e := range c.examples {
			if e.why == "" {
				fmt.Fprintf(w, "  failwise %s\n", e.line)
				continue
			}
			fmt.Fprintf(w, "  failwise %s\n      %s\n", e.line, e.why)
		}
	}
	writeFlags(w, "Flags", newFlags(c.flags))
	if len(c.path) == 0 {
		writeFlags(w, "Global flags", newFlags(globalFlags))
		fmt.Fprint(w, "\nFlags may stand anywhere; -- ends them. failwise COMMAND --help tells more.\n")
	} else {
		fmt.Fprint(w, "\nGlobal flags: failwise --help\n")
	}
	_ = w.Flush() // a strings.Builder accepts everything
	return b.String()
}

// usage is the synopsis: the command, its flags and operands.
func (c *command) usage() string {
	s := c.line() + " [flags]"
	if len(c.branches) > 0 {
		s += " COMMAND"
	}
	if c.operands != "" {
		s += " " + c.operands
	}
	return s
}

func writeFlags(w *tabwriter.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasFlags() {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, f := range listFlags(flags) {
		label, text := describeFlag(f)
		fmt.Fprintf(w, "  %s\t%s\n", label, text)
	}
}

// describeFlag words a flag for help: "-w, --warning RANGE" and its usage with
// the default value. The placeholder is what its usage quotes with backquotes.
func describeFlag(f *pflag.Flag) (label, text string) {
	placeholder, text := pflag.UnquoteUsage(f)
	switch f.Value.Type() {
	case "string", "duration":
		if f.DefValue != "" && !strings.Contains(text, "default") {
			text += " (default " + f.DefValue + ")"
		}
	}
	if f.Shorthand != "" {
		label = "-" + f.Shorthand + ", "
	}
	label += "--" + f.Name
	if takesValue(f) {
		label += " " + placeholder
	}
	return label, text
}
