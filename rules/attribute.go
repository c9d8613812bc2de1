package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Attribute is what a setting says about an outcome: the part of its key after
// the dot.
type Attribute uint8

// The attributes. The first three are the triple that a rule needs.
const (
	AttributeState Attribute = iota + 1
	AttributeThreshold
	AttributeAction
	AttributeWindow
	AttributeHeal
	attributeEnd
)

// NumAttributes is one more than the largest Attribute, so that an array of this
// length can be indexed by Attribute.
const NumAttributes = int(attributeEnd)

var attributeNames = [...]string{"", "state", "threshold", "action", "window", "heal"}

func (a Attribute) String() string {
	if a > 0 && a < attributeEnd {
		return attributeNames[a]
	}
	return fmt.Sprintf("attribute(%d)", uint8(a))
}

// ParseAttribute is the inverse of [Attribute.String]; case and surrounding blanks
// do not matter. Its error is an [*UnknownError].
func ParseAttribute(s string) (Attribute, error) {
	i, err := lookUp("attribute", s, attributeNames[:], true)
	return Attribute(i), err
}

// set reads value into the rule's field. message is empty if the value is good.
func (a Attribute) set(r *Rule, value string) (message, hint string) {
	if value == "" {
		return "the value is missing", ""
	}
	var err error
	switch a {
	case AttributeState:
		r.State, err = ParseState(value)
	case AttributeAction:
		r.Action, err = ParseAction(value)
	case AttributeThreshold:
		r.Threshold, message, hint = a.number(value, Never, MaxThreshold)
	case AttributeWindow:
		r.Window, message, hint = a.number(value, 1, MaxThreshold)
	default:
		r.Heal, message, hint = a.number(value, 1, MaxHeal)
	}
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		message, hint = unknown.parts()
	}
	if message != "" {
		if text, _, found := strings.Cut(value, "#"); found {
			if m, _ := a.set(&Rule{}, strings.TrimSpace(text)); m == "" {
				hint = "a comment needs its own line, it cannot follow a value"
			}
		}
	}
	return message, hint
}

// number reads a count of ticks or probes.
func (a Attribute) number(value string, low, high int) (n int, message, hint string) {
	n, err := strconv.Atoi(value)
	if err == nil && n >= low && n <= high {
		return n, "", ""
	}
	switch a {
	case AttributeThreshold:
		hint = fmt.Sprintf("-1 (never), 0 (at once) or up to %d ticks", high)
	case AttributeWindow:
		hint = fmt.Sprintf("1 to %d ticks and not shorter than the threshold; without a window leave the line out", high)
	default:
		hint = fmt.Sprintf("1 to %d online probes in a row", high)
	}
	switch {
	case err == nil, errors.Is(err, strconv.ErrRange):
		return 0, fmt.Sprintf("%s is out of range", shorten(value)), hint
	case isDuration(value):
		hint = "it is counted in ticks, not in time: " + hint
	}
	return 0, fmt.Sprintf("%q is no whole number", shorten(value)), hint
}

func isDuration(s string) bool {
	_, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	return err == nil
}

// Properties writes the rule as the lines of a statemap file, without the
// attributes that are not set.
func (r Rule) Properties(o Outcome) string {
	s := fmt.Sprintf("%s.state = %s\n%s.threshold = %d\n%s.action = %s\n", o, r.State, o, r.Threshold, o, r.Action)
	if r.Window > 0 {
		s += fmt.Sprintf("%s.window = %d\n", o, r.Window)
	}
	if r.Heal > 0 {
		s += fmt.Sprintf("%s.heal = %d\n", o, r.Heal)
	}
	return s
}

// shorten keeps a message readable whatever stands in the file.
func shorten(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
