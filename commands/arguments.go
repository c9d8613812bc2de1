package commands

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"failwise/commands/suggest"
)

// arguments is a command line that was taken apart.
type arguments struct {
	command  *command
	flags    *pflag.FlagSet // the command's and the global ones
	given    []flagValue
	operands []string
	help     bool
	version  bool
}

// flagValue is what one flag was given.
type flagValue struct{ name, value string }

// parseArguments orders a command line without its first word. Flags may stand
// anywhere, "--" ends them, short flags can be joined (-vv, -w1), and a value can
// be joined by "=" or follow as the next word.
func parseArguments(root *command, args []string) (arguments, error) {
	a := arguments{command: root}
	rest, err := a.findCommand(root, args)
	if err != nil {
		return a, err
	}
	a.flags = a.command.allFlags()
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		switch {
		case word == "--":
			a.operands = append(a.operands, rest[i+1:]...)
			return a, nil
		case !isFlag(word):
			a.operands = append(a.operands, word)
		case strings.HasPrefix(word, "--"):
			used, err := a.long(word[2:], rest[i+1:])
			if err != nil {
				return a, err
			}
			i += used
		default:
			used, err := a.short(word[1:], rest[i+1:])
			if err != nil {
				return a, err
			}
			i += used
		}
	}
	return a, nil
}

// findCommand walks down the tree and returns the words that are not names of
// commands. A flag before the name may belong to the command that follows.
func (a *arguments) findCommand(root *command, args []string) ([]string, error) {
	var rest []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--" || len(a.command.branches) == 0:
			return append(rest, args[i:]...), nil
		case isFlag(word):
			rest = append(rest, word)
			if wantsNext(a.command, word) && i+1 < len(args) {
				i++
				rest = append(rest, args[i])
			}
		default:
			sub := a.command.sub(word)
			if sub == nil {
				return nil, unknownCommand(a.command, word)
			}
			a.command = sub
		}
	}
	return rest, nil
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func unknownCommand(parent *command, word string) error {
	var names []string
	for _, s := range parent.subcommands() {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	f := usagef("%s has no command %q", parent.line(), word)
	if parent.check {
		f.exit = ExitUnknown
	}
	if near := suggest.Nearest(word, names); near != "" {
		f = f.hint("did you mean %s %s?", parent.line(), near)
	}
	return f.hint("%s --help", parent.line())
}

// wantsNext reports whether the flag takes the next word as its value, as far as
// this can be said before the command is known.
func wantsNext(c *command, word string) bool {
	if strings.Contains(word, "=") {
		return false
	}
	if name, long := strings.CutPrefix(word, "--"); long {
		f := c.anyFlag(name)
		return f != nil && takesValue(f)
	}
	for i, r := range word[1:] {
		f := c.anyFlag(string(r))
		if f == nil {
			return false
		}
		if takesValue(f) {
			return i+1+len(string(r)) == len(word)
		}
	}
	return false
}

// anyFlag looks a flag up among the global ones, then in the command and below.
func (c *command) anyFlag(name string) *pflag.Flag {
	if f := findFlag(newFlags(globalFlags), name); f != nil {
		return f
	}
	return c.ownFlag(name)
}

func (c *command) ownFlag(name string) *pflag.Flag {
	if f := findFlag(newFlags(c.flags), name); f != nil {
		return f
	}
	for _, s := range c.subcommands() {
		if f := s.ownFlag(name); f != nil {
			return f
		}
	}
	return nil
}

// long takes one --name, --name=value or --name value; used counts the following
// words it consumed.
func (a *arguments) long(word string, next []string) (used int, err error) {
	name, value, joined := strings.Cut(word, "=")
	f := findFlag(a.flags, name)
	switch {
	case f == nil || len(name) == 1:
		return 0, a.unknownFlag("--"+name, name)
	case takesValue(f) && joined:
		a.add(f, value)
		return 0, nil
	case takesValue(f):
		return a.next(f, "--"+name, next)
	case !joined:
		a.add(f, f.NoOptDefVal)
		return 0, nil
	}
	if _, err := strconv.ParseBool(value); err != nil || f.Value.Type() != "bool" {
		return 0, usagef("flag --%s takes no value, got %q", name, value).hint("%s --help", a.command.line())
	}
	a.add(f, value)
	return 0, nil
}

// short takes one word of joined one-letter flags.
func (a *arguments) short(word string, next []string) (used int, err error) {
	if word[0] == 'p' && len(word) > 1 && findFlag(newFlags(a.command.flags), "p") == nil {
		return 0, usagef("-p takes no value: a password does not belong on a command line").
			hint("-p alone asks for it; --password-file, FAILWISE_PASSWORD and ~/.my.cnf hold it")
	}
	for i, r := range word {
		f := findFlag(a.flags, string(r))
		if f == nil {
			return 0, a.unknownFlag("-"+string(r), word)
		}
		if !takesValue(f) {
			a.add(f, f.NoOptDefVal)
			continue
		}
		if tail := word[i+len(string(r)):]; tail != "" {
			a.add(f, strings.TrimPrefix(tail, "="))
			return 0, nil
		}
		return a.next(f, "-"+string(r), next)
	}
	return 0, nil
}

// next takes the value of a flag from the following word. A word that is itself
// a flag of this command is no value: the user forgot one.
func (a *arguments) next(f *pflag.Flag, shown string, next []string) (int, error) {
	if len(next) == 0 || a.isKnownFlag(next[0]) {
		return 0, usagef("flag %s needs a value", shown).hint("%s --help", a.command.line())
	}
	a.add(f, next[0])
	return 1, nil
}

func (a *arguments) isKnownFlag(word string) bool {
	if word == "--" {
		return true
	}
	if !isFlag(word) {
		return false
	}
	name, long := strings.CutPrefix(word, "--")
	if long {
		name, _, _ = strings.Cut(name, "=")
	} else {
		name = word[1:2]
	}
	return findFlag(a.flags, name) != nil
}

func (a *arguments) add(f *pflag.Flag, value string) {
	switch f.Name {
	case helpFlag:
		a.help = value != "false"
	case versionFlag:
		a.version = value != "false"
	default:
		a.given = append(a.given, flagValue{f.Name, value})
	}
}

func (a *arguments) unknownFlag(shown, word string) error {
	var names []string
	for _, f := range listFlags(a.flags) {
		names = append(names, f.Name)
	}
	f := usagef("%s has no flag %s", a.command.line(), shown)
	if name, _, _ := strings.Cut(word, "="); name == "password" {
		return f.hint("a password does not belong on a command line; -p asks for it, --password-file, FAILWISE_PASSWORD and ~/.my.cnf hold it")
	}
	if near := suggest.Nearest(word, names); near != "" {
		f = f.hint("did you mean --%s?", near)
	}
	return f.hint("%s --help", a.command.line())
}

// invocation is the run that the arguments ask for.
func (a *arguments) invocation(p Process, root *command) (*invocation, error) {
	for _, g := range a.given {
		if err := setFlag(a.flags, g.name, g.value); err != nil {
			return nil, a.command.badFlag(g, err)
		}
	}
	in := &invocation{Process: p, flags: a.flags, operands: a.operands, command: a.command, root: root}
	return in, in.prepare()
}
