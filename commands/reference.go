package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// referenceCommand writes the documents that are drawn from the command tree: the
// Markdown page docs/cli.md and the man pages of a release.
func referenceCommand() *command {
	return &command{
		name:     "__reference",
		operands: "markdown|man [DIRECTORY]",
		summary:  "print the reference of all commands, or write man pages into a directory",
		examples: []example{{"__reference man ./man", ""}},
		outputs:  []string{"text"},
		min:      1, max: 2,
		hidden: true,
		run: func(_ context.Context, in *invocation) error {
			switch kind, dir := in.Operand(0), in.Operand(1); {
			case kind == "markdown" && dir == "":
				_, err := fmt.Fprint(in.Out, in.root.markdown())
				return err
			case kind == "man" && dir != "":
				return in.root.writeManPages(dir, in.Build.Version)
			default:
				return usagef("__reference takes markdown, or man and a directory")
			}
		},
	}
}

// visible lists the command and all below it that help shows.
func (c *command) visible() []*command {
	all := []*command{c}
	for _, s := range c.subcommands() {
		if !s.hidden {
			all = append(all, s.visible()...)
		}
	}
	return all
}

// markdown is docs/cli.md.
func (c *command) markdown() string {
	var b strings.Builder
	b.WriteString("# Command reference\n\nGenerated from the commands themselves by `go generate ./commands`; a test compares.\n")
	for _, each := range c.visible() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```\n%s\n```\n", each.line(), sentence(each.summary), each.usage())
		if each.about != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(each.about))
		}
		if names := each.names(); len(names) > 0 {
			b.WriteString("\nCommands: " + strings.Join(names, ", ") + "\n")
		}
		if len(each.examples) > 0 {
			b.WriteString("\n```sh\n")
			for _, e := range each.examples {
				if e.why != "" {
					fmt.Fprintf(&b, "# %s\n", e.why)
				}
				fmt.Fprintf(&b, "failwise %s\n", e.line)
			}
			b.WriteString("```\n")
		}
		flags := each.flags
		if each == c {
			flags = globalFlags
		}
		markdownFlags(&b, newFlags(flags))
	}
	b.WriteString("\n" + exitCodePage)
	return b.String()
}

// exitCodePage closes the reference.
const exitCodePage = `## Exit codes

| command | code | meaning |
|---|---|---|
| check … | 0 | OK |
| | 1 | WARNING |
| | 2 | CRITICAL |
| | 3 | UNKNOWN, wrong usage or configuration included |
| all others | 0 | done |
| | 1 | refused or failed, with the reason on standard error |
| | 2 | wrong usage or configuration |
| | 3 | internal error |
| watch --once | 10 | after a failover |
| | 11 | after a promotion that failed |
`

func markdownFlags(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasFlags() {
		return
	}
	b.WriteString("\n| flag | meaning |\n|---|---|\n")
	for _, f := range listFlags(flags) {
		label, text := describeFlag(f)
		fmt.Fprintf(b, "| `%s` | %s |\n", label, strings.ReplaceAll(text, "|", `\|`))
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// writeManPages writes one page of section 1 for each command.
func (c *command) writeManPages(dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	for _, each := range c.visible() {
		name := strings.ReplaceAll(each.line(), " ", "-")
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(each.man(name, version)), 0o644); err != nil {
			return fmt.Errorf("write man pages: %w", err)
		}
	}
	return nil
}

// man is the command's page in the man macros.
func (c *command) man(name, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"failwise %s\" \"failwise\"\n", strings.ToUpper(roff(name)), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name), roff(c.summary), roff(c.usage()))
	if c.about != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, paragraph := range strings.Split(strings.TrimSpace(c.about), "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			b.WriteString(roff(paragraph) + "\n")
		}
	}
	if names := c.names(); len(names) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, n := range names {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(n), roff(c.sub(n).summary))
		}
	}
	flags := c.flags
	if len(c.path) == 0 {
		flags = globalFlags
	}
	if set := newFlags(flags); set.HasFlags() {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range listFlags(set) {
			label, text := describeFlag(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(label), roff(text))
		}
	}
	if len(c.examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		for _, e := range c.examples {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff("failwise "+e.line), roff(e.why))
		}
	}
	b.WriteString(".SH SEE ALSO\n.BR failwise (1)\n")
	return b.String()
}

// roff escapes text for a man page: backslashes, hyphens (so that flags can be
// copied), and control characters at the start of a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
