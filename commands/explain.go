package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"failwise/rules"
	"failwise/rules/explain"
)

// explainAllReport is the JSON output of explain all.
type explainAllReport struct {
	Outcomes []explain.Page `json:"outcomes"`
}

func explainCommand() *command {
	return &command{
		name:     "explain",
		brief:    true,
		operands: "[OUTCOME | all]",
		summary:  "say what an outcome leads to under your rules, when, why, and what would change it",
		about: "The rules are those of the configured cluster, or what --rules and --profile give, or the shipped ones.\n" +
			"Times are counted from the real fault and hold while it lasts without a break.\n\n" +
			"--errno looks an error number up: a server's (1040), one with the operating system's number in its message\n" +
			"(1030/28), or the operating system's own (ECONNREFUSED). --phase says where it arrived, or, alone, in which\n" +
			"phase the time was over.",
		examples: []example{
			{"explain login_response_timeout", "from the fault to the failover"},
			{"explain query_results_timeout --rules my.properties --role primary", "before the file goes to production"},
			{"explain --errno 1040", "what an error number means"},
			{"explain --phase execute", "what a probe that hung in a phase means"},
			{"explain all", "one line each"},
		},
		flags: func(f *pflag.FlagSet) {
			rulesFlags(f)
			f.String("role", "", "only for a node of `ROLE` primary or replica")
			f.String("errno", "", "the outcome that error `NUMBER` or name leads to")
			f.String("phase", "", "`PHASE` of the probe: resolve, connect, greeting, login, send, execute or results")
		},
		max:    1,
		values: func(*invocation) []string { return append([]string{"all"}, outcomeNames()...) },
		run:    func(_ context.Context, in *invocation) error { return in.explain() },
	}
}

func (in *invocation) explain() error {
	role, err := explain.ParseRole(in.String("role"))
	if err != nil {
		return usagef("--role: %v", err)
	}
	operand := in.Operand(0)
	var o rules.Outcome
	via := ""
	if operand != "all" {
		if o, via, err = in.asked(operand); err != nil {
			return err
		}
	}
	set, err := in.ruleset()
	if err != nil {
		return err
	}
	style := in.explainStyle()
	if operand == "all" {
		pages := explain.All(set.rules, set.setup(), role)
		if in.JSON() {
			return in.printJSON(explainAllReport{Outcomes: pages})
		}
		return in.write(explain.Table(pages, in.Width(Stdout), style))
	}
	page, err := explain.Explain(explain.Question{Outcome: o, Role: role, Rules: set.rules, Setup: set.setup(), Via: via})
	if err != nil {
		return err
	}
	if in.JSON() {
		return in.printJSON(page)
	}
	return in.write(page.Text(in.Width(Stdout), style))
}

// asked finds the outcome that the operand or the flags mean.
func (in *invocation) asked(operand string) (rules.Outcome, string, error) {
	number := in.String("errno")
	phase := rules.PhaseNone
	if in.IsSet("phase") {
		var err error
		if phase, err = rules.ParsePhase(in.String("phase")); err != nil {
			return 0, "", usagef("--phase: %v", err)
		}
	}
	switch {
	case operand != "" && (number != "" || in.IsSet("phase")):
		return 0, "", usagef("%s takes OUTCOME, or --errno and --phase, not both", in.command.line()).
			hint("failwise explain %s", operand)
	case number != "":
		o, via, err := explain.ByNumber(number, phase)
		if err != nil {
			return 0, "", usagef("--errno: %v", err).hint("server errors are numbers; of the operating system only those that probes meet have names here, like ECONNREFUSED")
		}
		return o, via, nil
	case in.IsSet("phase"):
		o, via := explain.ByPhase(phase)
		return o, via, nil
	case operand == "":
		return 0, "", usagef("%s needs OUTCOME, all, --errno or --phase", in.command.line()).
			hint("failwise explain all")
	}
	o, err := rules.ParseOutcome(operand)
	if err != nil {
		f := usagef("%v", err)
		var u *rules.UnknownError
		if errors.As(err, &u) && u.Suggestion == "" {
			f = f.hint("failwise explain all lists them")
		}
		return 0, "", f
	}
	return o, "", nil
}

// explainStyle colours headings, and words for states by their state.
func (in *invocation) explainStyle() explain.Style {
	paint := in.paint(Stdout)
	return func(kind explain.Kind, state rules.State, text string) string {
		switch kind {
		case explain.KindHeading:
			return paint.bold(text)
		case explain.KindState:
			return paint.state(state, text)
		default:
			return paint.dim(text)
		}
	}
}

// write writes a result that is text already.
func (in *invocation) write(text string) error {
	if _, err := fmt.Fprint(in.Out, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
