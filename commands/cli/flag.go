package cli

import (
	"errors"
	"slices"
	"strconv"
)

// Flag is one flag of a command.
type Flag interface {
	// Names are its name and its aliases, without dashes.
	Names() []string
	// About is its line of help; the word in backquotes stands for its value.
	About() string
	// TakesValue is false for a flag that is given alone.
	TakesValue() bool
	// Default is the value without the flag as a user would write it, "" for the
	// zero value.
	Default() string
	// Set gives it a value; it may be called several times.
	Set(value string) error
	// Get is its value: a string, int, bool, []string, or the [Value] of a
	// ValueFlag.
	Get() any
}

// StringFlag takes any text.
type StringFlag struct {
	Name    string
	Aliases []string
	Usage   string
	Value   string // the default
	given   *string
}

// IntFlag takes a whole number.
type IntFlag struct {
	Name    string
	Aliases []string
	Usage   string
	value   int
}

// BoolFlag is given alone, or with "true" or "false".
type BoolFlag struct {
	Name    string
	Aliases []string
	Usage   string
	value   bool
}

// StringSliceFlag takes one text each time it is given.
type StringSliceFlag struct {
	Name    string
	Aliases []string
	Usage   string
	values  []string
}

// Value is a value of another type. Its String is "" for the zero value.
type Value interface {
	Set(text string) error
	String() string
}

// ValueFlag takes what its Value takes.
type ValueFlag struct {
	Name    string
	Aliases []string
	Usage   string
	Value   Value
}

func names(name string, aliases []string) []string { return append([]string{name}, aliases...) }

// Names implements [Flag].
func (f *StringFlag) Names() []string { return names(f.Name, f.Aliases) }

// About implements [Flag].
func (f *StringFlag) About() string { return f.Usage }

// TakesValue implements [Flag].
func (f *StringFlag) TakesValue() bool { return true }

// Default implements [Flag].
func (f *StringFlag) Default() string { return f.Value }

// Set implements [Flag].
func (f *StringFlag) Set(value string) error {
	f.given = &value
	return nil
}

// Get implements [Flag].
func (f *StringFlag) Get() any {
	if f.given != nil {
		return *f.given
	}
	return f.Value
}

// Names implements [Flag].
func (f *IntFlag) Names() []string { return names(f.Name, f.Aliases) }

// About implements [Flag].
func (f *IntFlag) About() string { return f.Usage }

// TakesValue implements [Flag].
func (f *IntFlag) TakesValue() bool { return true }

// Default implements [Flag].
func (f *IntFlag) Default() string { return "" }

// Set implements [Flag].
func (f *IntFlag) Set(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return errors.New("it is no whole number")
	}
	f.value = n
	return nil
}

// Get implements [Flag].
func (f *IntFlag) Get() any { return f.value }

// Names implements [Flag].
func (f *BoolFlag) Names() []string { return names(f.Name, f.Aliases) }

// About implements [Flag].
func (f *BoolFlag) About() string { return f.Usage }

// TakesValue implements [Flag].
func (f *BoolFlag) TakesValue() bool { return false }

// Default implements [Flag].
func (f *BoolFlag) Default() string { return "" }

// Set implements [Flag].
func (f *BoolFlag) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("it is neither true nor false")
	}
	f.value = on
	return nil
}

// Get implements [Flag].
func (f *BoolFlag) Get() any { return f.value }

// Names implements [Flag].
func (f *StringSliceFlag) Names() []string { return names(f.Name, f.Aliases) }

// About implements [Flag].
func (f *StringSliceFlag) About() string { return f.Usage }

// TakesValue implements [Flag].
func (f *StringSliceFlag) TakesValue() bool { return true }

// Default implements [Flag].
func (f *StringSliceFlag) Default() string { return "" }

// Set implements [Flag].
func (f *StringSliceFlag) Set(value string) error {
	f.values = append(f.values, value)
	return nil
}

// Get implements [Flag].
func (f *StringSliceFlag) Get() any { return slices.Clone(f.values) }

// Names implements [Flag].
func (f *ValueFlag) Names() []string { return names(f.Name, f.Aliases) }

// About implements [Flag].
func (f *ValueFlag) About() string { return f.Usage }

// TakesValue implements [Flag].
func (f *ValueFlag) TakesValue() bool { return true }

// Default implements [Flag].
func (f *ValueFlag) Default() string { return f.Value.String() }

// Set implements [Flag].
func (f *ValueFlag) Set(value string) error { return f.Value.Set(value) }

// Get implements [Flag].
func (f *ValueFlag) Get() any { return f.Value }
