package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// completeName is the hidden command the shells' scripts call with the words
// before and at the cursor; it prints one proposal a line.
const completeName = "__complete"

var completionScripts = map[string]string{
	"bash": `# bash completion for failwise
_failwise() {
	local IFS=$'\n'
	COMPREPLY=($(failwise ` + completeName + ` -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	if [ "${#COMPREPLY[@]}" -eq 0 ]; then
		compopt -o default
	fi
}
complete -F _failwise failwise
`,
	"zsh": `#compdef failwise
_failwise() {
	local -a proposals
	proposals=("${(@f)$(failwise ` + completeName + ` -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${proposals[*]}" ]]; then
		compadd -a proposals
	else
		_files
	fi
}
compdef _failwise failwise
`,
	"fish": `# fish completion for failwise
function __failwise_complete
	set -l words (commandline -opc) (commandline -ct)
	failwise ` + completeName + ` -- $words[2..-1] 2>/dev/null
end
complete -c failwise -f -a '(__failwise_complete)' -n 'test -n "$(__failwise_complete)"'
`,
}

func completionCommand() *command {
	return &command{
		name:     "completion",
		brief:    true,
		operands: "bash|zsh|fish",
		summary:  "print the completion script of a shell",
		about:    "Load the script from the shell's start-up file, or put it where the shell looks for completions.",
		examples: []example{
			{"completion bash > /etc/bash_completion.d/failwise", "for every user of bash"},
			{"completion zsh > ~/.zfunc/_failwise", "with ~/.zfunc in fpath"},
			{"completion fish > ~/.config/fish/completions/failwise.fish", ""},
		},
		outputs: []string{"text"},
		min:     1, max: 1,
		values: func(*invocation) []string { return []string{"bash", "fish", "zsh"} },
		run: func(_ context.Context, in *invocation) error {
			script, ok := completionScripts[in.Operand(0)]
			if !ok {
				return usagef("no completion for shell %q", in.Operand(0)).hint("failwise completion takes bash, zsh or fish")
			}
			_, err := fmt.Fprint(in.Out, script)
			return err
		},
	}
}

func completeCommand() *command {
	return &command{
		name:     completeName,
		brief:    true,
		operands: "WORD…",
		summary:  "propose words to the shell's completion",
		outputs:  []string{"text"},
		max:      -1,
		hidden:   true,
		run: func(_ context.Context, in *invocation) error {
			for _, p := range in.propose(in.Operands()) {
				fmt.Fprintln(in.Out, p)
			}
			return nil
		},
	}
}

// propose lists what can stand at the last word. Nothing means: files.
func (in *invocation) propose(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	a := arguments{command: in.root}
	rest, err := a.findCommand(in.root, before)
	if err != nil {
		return nil
	}
	if slices.Contains(rest, "--") {
		return nil
	}
	var all []string
	switch {
	case len(before) > 0 && isFlag(before[len(before)-1]) && wantsNext(a.command, before[len(before)-1]):
		all = in.flagValues(a.command, strings.TrimLeft(before[len(before)-1], "-"))
	case strings.HasPrefix(last, "-"):
		for _, f := range listFlags(a.command.allFlags()) {
			all = append(all, "--"+f.Name)
		}
		slices.Sort(all)
	case len(a.command.branches) > 0:
		all = a.command.names()
	case a.command.values != nil:
		all = a.command.values(in)
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, last) })
}

// flagValues proposes the values of a flag that has a fixed set of them.
func (in *invocation) flagValues(c *command, name string) []string {
	f := c.anyFlag(name)
	if f == nil {
		return nil
	}
	switch f.Name {
	case "output":
		return c.accepts()
	case "color":
		return []string{"always", "auto", "never"}
	case "ssl-mode":
		return []string{"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"}
	case "policy":
		return []string{"automatic", "manual"}
	case "cluster":
		return in.clusterNames()
	default:
		return nil
	}
}
