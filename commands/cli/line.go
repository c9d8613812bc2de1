package cli

import (
	"fmt"
	"slices"
)

// Line is a command line that was read: flags with what they were given, and the
// operands.
type Line struct {
	flags    []Flag
	given    map[Flag]int
	operands []string
}

// NewLine is a line on which no flag was given yet. Where two flags have the same
// name, the first one counts.
func NewLine(flags []Flag, operands []string) *Line {
	return &Line{flags: flags, given: map[Flag]int{}, operands: operands}
}

// ValueError is a value that a flag does not take.
type ValueError struct {
	Flag, Value string
	Err         error
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("invalid value %q for flag --%s: %v", e.Value, e.Flag, e.Err)
}

func (e *ValueError) Unwrap() error { return e.Err }

// Set gives a flag a value. Its error is a [*ValueError].
func (l *Line) Set(name, value string) error {
	f := l.flag(name)
	if err := f.Set(value); err != nil {
		return &ValueError{Flag: name, Value: value, Err: err}
	}
	l.given[f]++
	return nil
}

// flag finds a flag that the command has. That it has none is a mistake of the
// program.
func (l *Line) flag(name string) Flag {
	if f := Find(l.flags, name); f != nil {
		return f
	}
	panic(fmt.Sprintf("no flag --%s", name))
}

// Find looks a flag up by its name or alias, nil if there is none.
func Find(flags []Flag, name string) Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// Get is the value of the flag, nil if the command has no such flag.
func (l *Line) Get(name string) any {
	if f := Find(l.flags, name); f != nil {
		return f.Get()
	}
	return nil
}

// Count is how often the flag was given.
func (l *Line) Count(name string) int { return l.given[Find(l.flags, name)] }

// IsSet reports whether the flag was given.
func (l *Line) IsSet(name string) bool { return l.Count(name) > 0 }

// String is the value of a [StringFlag], "" if the command has no such flag.
func (l *Line) String(name string) string {
	s, _ := l.Get(name).(string)
	return s
}

// Bool is the value of a [BoolFlag], false if the command has no such flag.
func (l *Line) Bool(name string) bool {
	on, _ := l.Get(name).(bool)
	return on
}

// StringSlice is the values of a [StringSliceFlag] in the order they were given.
func (l *Line) StringSlice(name string) []string {
	values, _ := l.Get(name).([]string)
	return values
}

// Operands are the words that are no flags.
func (l *Line) Operands() []string { return l.operands }

// Operand is the operand with this number, counted from 0; "" if there is none.
func (l *Line) Operand(i int) string {
	if i >= len(l.operands) {
		return ""
	}
	return l.operands[i]
}
