package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"failwise/commands/config"
)

// command describes one subcommand: what the user reads about it, what it
// accepts, and what it does. Help, completion, man pages and docs/cli.md are all
// drawn from it.
type command struct {
	name string
	// operands is how the operands are written in help: "TARGET", "[FILE…]".
	operands string
	// summary is one line in lower case without a full stop.
	summary string
	// about is the text of the help page: paragraphs, separated by empty lines.
	about string
	// examples are command lines without the leading "failwise".
	examples []example
	// flags declares the command's own, nil for none; a name or letter of a global
	// flag is a mistake that a test finds.
	flags func(*pflag.FlagSet)
	// outputs lists the accepted values of --output. Nil means text and json.
	outputs []string
	// min and max bound the number of operands; max < 0 means any number.
	min, max int
	// hidden keeps the command out of help and completion.
	hidden bool
	// brief: the command ends at once and leaves nothing half done, so a signal may
	// end it the system's way. To watch for signals costs a thread.
	brief bool
	// check makes usage errors end in UNKNOWN. Subcommands inherit it.
	check bool
	// values proposes operands to the shell's completion. Nil proposes files.
	values func(in *invocation) []string

	run      func(ctx context.Context, in *invocation) error
	branches []branch

	path []string // names from the root on, set by grow
}

// branch is a subcommand that is made when it is asked for. A run needs one, and
// a check that starts every few seconds would pay for all the others.
type branch struct {
	name string
	make func() *command
}

// example is one command line of a help page and what it is good for.
type example struct{ line, why string }

// grow makes the subcommand, with its path and what it inherits.
func (c *command) grow(b branch) *command {
	s := b.make()
	s.path = append(slices.Clone(c.path), s.name)
	s.check = s.check || c.check
	return s
}

// subcommands makes them all, in the order in which help lists them.
func (c *command) subcommands() []*command {
	var all []*command
	for _, b := range c.branches {
		all = append(all, c.grow(b))
	}
	return all
}

// title is the command as the user types it, without the leading "failwise".
func (c *command) title() string { return strings.Join(c.path, " ") }

// line is the command as the user types it.
func (c *command) line() string { return strings.TrimSpace("failwise " + c.title()) }

// sub finds a subcommand by its name, nil if there is none.
func (c *command) sub(name string) *command {
	for _, b := range c.branches {
		if b.name == name {
			return c.grow(b)
		}
	}
	return nil
}

// accepts lists the values of --output.
func (c *command) accepts() []string {
	if c.outputs == nil {
		return []string{"text", "json"}
	}
	return c.outputs
}

// badFlag words the complaint about a flag's value.
func (c *command) badFlag(given flagValue, err error) error {
	return usagef("%s: invalid value %q for flag --%s: %s", c.line(), given.value, given.name, oneLine(err.Error())).hint("%s --help", c.line())
}

// invocation is one run of a command: its flags and operands, the process it
// runs in, and the helpers that every command shares.
type invocation struct {
	Process
	flags    *pflag.FlagSet
	operands []string
	command  *command
	root     *command
	loaded   *config.Config
	dialogue dialogue
}

// prepare checks the number of operands and the values of flags that all commands
// have.
func (in *invocation) prepare() error {
	c := in.command
	if n := len(in.Operands()); n < c.min || (c.max >= 0 && n > c.max) {
		return c.operandCount(in.Operands())
	}
	format := in.Format()
	for _, f := range c.accepts() {
		if f == format {
			return in.checkColour()
		}
	}
	return usagef("%s has no output format %q", c.line(), format).
		hint("--output takes %s", strings.Join(c.accepts(), ", "))
}

func (c *command) operandCount(got []string) error {
	var f *failure
	switch {
	case len(got) < c.min:
		f = usagef("%s needs %s", c.line(), c.operands)
	case c.max == 0:
		f = usagef("%s takes no operand, got %q", c.line(), got[0])
	default:
		f = usagef("%s takes %s, got %d operands: %s", c.line(), c.operands, len(got), strings.Join(got, " "))
	}
	if len(c.examples) > 0 {
		f = f.hint("failwise %s", c.examples[0].line)
	}
	return f.hint("%s --help", c.line())
}

// Format is the value of --output: text, json, or another that the command lists.
func (in *invocation) Format() string {
	if in.Bool("json") && !in.IsSet("output") {
		return "json"
	}
	return in.String("output")
}

// JSON reports whether the result is wanted as JSON.
func (in *invocation) JSON() bool { return in.Format() == "json" }

// Verbosity is how often -v was given.
func (in *invocation) Verbosity() int {
	n, _ := in.flags.GetCount("verbose")
	return n
}

// Quiet reports whether -q was given: no progress and no remarks on standard
// error. Results and errors are not affected.
func (in *invocation) Quiet() bool { return in.Bool("quiet") }

// printJSON writes one JSON value and a line feed to standard output.
func (in *invocation) printJSON(v any) error {
	enc := json.NewEncoder(in.Out)
	enc.SetEscapeHTML(false)
	if in.IsTerminal(Stdout) {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// remark writes one line to standard error unless -q was given.
func (in *invocation) remark(format string, args ...any) {
	if in.Quiet() {
		return
	}
	fmt.Fprintln(in.Err, "failwise: "+oneLine(fmt.Sprintf(format, args...)))
}
