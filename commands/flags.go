package commands

import (
	"errors"

	"github.com/spf13/pflag"
)

// newFlags is a set of flags as they are declared; see [command.flags].
func newFlags(declare ...func(*pflag.FlagSet)) *pflag.FlagSet {
	f := pflag.NewFlagSet("failwise", pflag.ContinueOnError)
	f.SortFlags = false // help shows them as they were declared
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "colour":
			name = "color"
		case "flavor":
			name = "flavour"
		}
		return pflag.NormalizedName(name)
	})
	for _, d := range declare {
		if d != nil {
			d(f)
		}
	}
	return f
}

// allFlags are the command's flags and the global ones.
func (c *command) allFlags() *pflag.FlagSet { return newFlags(c.flags, globalFlags) }

// findFlag looks a flag up by its name or its letter, nil if there is none.
func findFlag(f *pflag.FlagSet, name string) *pflag.Flag {
	if len(name) == 1 {
		return f.ShorthandLookup(name)
	}
	return f.Lookup(name)
}

// takesValue is false for a flag that is given alone.
func takesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

// listFlags are the flags in the order of their declaration.
func listFlags(f *pflag.FlagSet) []*pflag.Flag {
	var list []*pflag.Flag
	f.VisitAll(func(each *pflag.Flag) { list = append(list, each) })
	return list
}

// setFlag gives a flag a value. Its error is why the flag does not take it.
func setFlag(f *pflag.FlagSet, name, value string) error {
	err := f.Set(name, value)
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = bad.Unwrap()
	}
	return err
}

// Operands are the words that are no flags.
func (in *invocation) Operands() []string { return in.operands }

// Operand is the operand with this number, counted from 0; "" if there is none.
func (in *invocation) Operand(i int) string {
	if i >= len(in.operands) {
		return ""
	}
	return in.operands[i]
}

// IsSet reports whether the flag was given.
func (in *invocation) IsSet(name string) bool { return in.flags.Changed(name) }

// String is the value of a flag as text, "" if the command has no such flag.
func (in *invocation) String(name string) string {
	if f := in.flags.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// Bool is the value of a flag without value, false if the command has no such flag.
func (in *invocation) Bool(name string) bool {
	on, _ := in.flags.GetBool(name)
	return on
}

// StringSlice is the values of a repeatable flag in the order they were given.
func (in *invocation) StringSlice(name string) []string {
	if f := in.flags.Lookup(name); f != nil {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			return list.GetSlice() // GetStringArray would lose an empty one
		}
	}
	return nil
}
