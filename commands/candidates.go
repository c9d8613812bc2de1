package commands

import (
	"context"
	"fmt"
	"strings"

	"failwise/failover/journal"
	"failwise/failover/topology"
)

func candidatesCommand() *command {
	return &command{
		name:    "candidates",
		summary: "show which replica would be promoted, in which order, and why the others would not",
		about: "Judges every replica by the rules that a failover and a switch use, reading the nodes now. Exit code 1\n" +
			"when nobody could be promoted.",
		examples: []example{{"candidates", ""}, {"candidates --json", "with transactions and losses"}},
		run: func(ctx context.Context, in *invocation) error {
			c, err := in.cluster()
			if err != nil {
				return err
			}
			t, reader, err := in.readTopology(ctx, c)
			if err != nil {
				return err
			}
			defer func() { _ = reader.Close() }()
			state, err := in.loadState(ctx, c)
			if err != nil {
				in.remark("%v: shunned nodes and maintenance are not known", err)
			}
			choice := topology.Choose(contestOf(t, state))
			if in.JSON() {
				if err := in.printJSON(choice); err != nil {
					return err
				}
			} else {
				in.printCandidates(t, choice)
			}
			if choice.Winner == "" {
				return exitWith(ExitRefused)
			}
			return nil
		},
	}
}

// contestOf is the question who may be promoted, with what a watcher left behind.
func contestOf(t topology.Topology, s journal.State) topology.Contest {
	q := topology.Contest{Topology: t, Shunned: map[string]string{}, InMaintenance: map[string]string{}}
	for name, sh := range s.Shunned {
		q.Shunned[name] = sh.Reason
	}
	for name, p := range s.NodePolicy {
		if p.Mode == "maintenance" && !p.Ended(t.Time) {
			q.InMaintenance[name] = p.Reason
		}
	}
	return q
}

func (in *invocation) printCandidates(t topology.Topology, choice topology.Choice) {
	paint := in.paint(Stdout)
	primary := t.Primary
	switch {
	case primary == "":
		primary = "not certain: see failwise topology"
	case t.PrimaryDead:
		primary += " (it cannot be read)"
	}
	unread := t.Unread()
	if unread != nil {
		// Every node is rejected for that, so it comes before them.
		in.printRefusal(choice)
	} else {
		fmt.Fprintf(in.Out, "primary: %s\n", primary)
	}
	for _, v := range choice.Verdicts {
		if !v.Eligible {
			fmt.Fprintf(in.Out, " -  %-12s %s\n", v.Node, paint.red("not eligible"))
			for _, r := range v.Rejections {
				in.printIndented(fmt.Sprintf("%s: %s", r.Rule, r.Reason))
				in.printIndented("hint: " + r.Fix)
			}
			continue
		}
		mark := "   "
		if v.Node == choice.Winner {
			mark = paint.green("next")
		}
		fmt.Fprintf(in.Out, "%2d. %-12s %s %s\n", v.Rank, v.Node, mark, v.Reason)
		if v.LacksCount > 0 {
			in.printIndented(fmt.Sprintf("lacks %d transactions of its siblings: %s", v.LacksCount, v.Lacks))
		}
		switch {
		case !choice.LossKnown:
		case v.LossCount > 0:
			in.printIndented(paint.yellow(fmt.Sprintf("would lose %d transactions that the primary was seen to have: %s", v.LossCount, v.Loss)))
		default:
			in.printIndented("would lose nothing that the primary was seen to have")
		}
	}
	if choice.Winner == "" && unread == nil {
		in.printRefusal(choice)
	}
}

// printRefusal says why nobody can be promoted.
func (in *invocation) printRefusal(choice topology.Choice) {
	fmt.Fprintln(in.Out, in.paint(Stdout).red(in.folded("nobody can be promoted: "+choice.Refusal)))
	if choice.Fix != "" {
		fmt.Fprintln(in.Out, in.folded("hint: "+choice.Fix))
	}
}

// printIndented prints text below a node, wrapped to the terminal.
func (in *invocation) printIndented(text string) { in.printIndentedBy(6, text) }

func (in *invocation) printIndentedBy(columns int, text string) {
	width := in.Width(Stdout)
	if width <= 0 {
		width = 80
	}
	indent := strings.Repeat(" ", columns)
	fmt.Fprintln(in.Out, indent+strings.Join(wrap(text, max(40, width-columns)), "\n"+indent))
}
