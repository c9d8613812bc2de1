package commands

import (
	"github.com/spf13/pflag"

	"failwise/check"
	"failwise/commands/suggest"
	"failwise/rules"
)

// noEvidence are the outcomes that tell nothing about the node: something on this
// side kept the check from finding out.
var noEvidence = map[rules.Outcome]Exit{
	rules.UnknownHost:        ExitCritical, // a node that cannot be found is of no use to anyone
	rules.WrongCredentials:   ExitUnknown,
	rules.OpenFileLimitError: ExitUnknown,
	rules.NetworkUnreachable: ExitUnknown,
	rules.Undefined:          ExitUnknown,
}

// exitByState is the exit code of an outcome that noEvidence does not name.
func exitByState(s rules.State) Exit {
	switch s {
	case rules.Online:
		return ExitOK
	case rules.Suspect:
		return ExitWarning
	case rules.Stopped, rules.Timeout:
		return ExitCritical
	default:
		return ExitUnknown
	}
}

// exitRules turns an outcome and its state into an exit code.
type exitRules map[rules.Outcome]Exit

func (e exitRules) of(o rules.Outcome, s rules.State) Exit {
	if code, found := e[o]; found {
		return code
	}
	if code, found := noEvidence[o]; found {
		return code
	}
	return exitByState(s)
}

// exitFlags are the flags that change exit codes.
func exitFlags(f *pflag.FlagSet) {
	f.StringArray("ok-on", nil, "exit 0 on `OUTCOME` (repeatable)")
	f.StringArray("warning-on", nil, "exit 1 on `OUTCOME` (repeatable)")
	f.StringArray("critical-on", nil, "exit 2 on `OUTCOME` (repeatable)")
}

// exitRules reads the flags that change exit codes.
func (in *invocation) exitRules() (exitRules, error) {
	e := exitRules{}
	for _, f := range []struct {
		name string
		code Exit
	}{{"ok-on", ExitOK}, {"warning-on", ExitWarning}, {"critical-on", ExitCritical}} {
		for _, word := range in.StringSlice(f.name) {
			o, err := rules.ParseOutcome(word)
			if err != nil {
				f := usagef("--%s: unknown outcome %q", f.name, word)
				if near := suggest.Nearest(word, outcomeNames()); near != "" {
					return nil, f.hint("did you mean %s?", near)
				}
				return nil, f.hint("failwise rules lists all outcomes")
			}
			if before, twice := e[o]; twice && before != f.code {
				return nil, usagef("outcome %s is given two exit codes", o)
			}
			e[o] = f.code
		}
	}
	return e, nil
}

// outcomeNames lists the keys of the catalogue.
func outcomeNames() []string {
	var names []string
	for o := rules.Outcome(1); o.Valid(); o++ {
		names = append(names, o.String())
	}
	return names
}

// thresholds are -w and -c.
type thresholds struct{ warn, crit check.Range }

// thresholdFlags are the two, for times if unit says so.
func thresholdFlags(f *pflag.FlagSet, what string) {
	f.StringP("warning", "w", "", "exit 1 if "+what+" is outside of `RANGE` ([@]start:end, such as 1s or 5:10)")
	f.StringP("critical", "c", "", "exit 2 if "+what+" is outside of `RANGE`")
}

// thresholds reads a pair of flags with one of check's parsers.
func (in *invocation) thresholds(warning, critical string, parse func(string) (check.Range, error)) (thresholds, error) {
	var t thresholds
	var err error
	for _, f := range []struct {
		name string
		into *check.Range
	}{{warning, &t.warn}, {critical, &t.crit}} {
		if *f.into, err = parse(in.String(f.name)); err != nil {
			return t, usagef("%s: --%s: %w", in.command.line(), f.name, err).hint("%s --help", in.command.line())
		}
	}
	return t, nil
}

// of is the verdict on a value.
func (t thresholds) of(v float64) Exit {
	switch {
	case t.crit.Alerts(v):
		return ExitCritical
	case t.warn.Alerts(v):
		return ExitWarning
	default:
		return ExitOK
	}
}
