package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxFileSize is the largest statemap file, in bytes.
const MaxFileSize = 1 << 20

// Document is a statemap file that has been read but not applied.
type Document struct {
	// Name is the file's name as it was given to [Read].
	Name string
	// Settings are the file's settings in its order, unknown ones included.
	Settings []Setting
	// Overrides are the rules that the file gives in full, in the catalogue's
	// order. With a problem that rejects the file they lack the bad ones.
	Overrides []Override
	// Comments are the file's comment lines.
	Comments []Comment
	// Problems are in the order of the file.
	Problems []Problem

	lines []string
}

// Setting is one key and its value.
type Setting struct {
	Key, Value     string
	KeyAt, ValueAt Span
	// Outcome and Attribute are 0 where the key names none.
	Outcome   Outcome
	Attribute Attribute
}

// Override is a whole rule that a file gives.
type Override struct {
	Outcome Outcome
	Rule    Rule
	// Settings are the ones that count, the last of each; those of window and
	// heal are nil if not given.
	Settings [NumAttributes]*Setting
}

// At returns the place of the attribute's value, or that of the rule's first
// setting when the file does not give the attribute.
func (v Override) At(a Attribute) Span {
	if s := v.Settings[a]; s != nil {
		return s.ValueAt
	}
	return v.first().KeyAt
}

// first returns the setting that stands first in the file.
func (v Override) first() *Setting {
	var first *Setting
	for _, s := range v.Settings {
		if s != nil && (first == nil || s.KeyAt.before(first.KeyAt)) {
			first = s
		}
	}
	return first
}

func (s Span) before(t Span) bool {
	return s.Line < t.Line || s.Line == t.Line && s.Column < t.Column
}

// Line returns the text of a line, counted from 1, without its end; "" for a line
// the file does not have.
func (d *Document) Line(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	return d.lines[n-1]
}

// Read reads a statemap file with the places of everything in it. It never fails:
// what is wrong is in the document's Problems, all of it in one pass.
func Read(name string, src []byte) *Document { return read(name, src, nil) }

// read is Read with keys of another kind: other returns true for those it took.
func read(name string, src []byte, other func(Setting) bool) *Document {
	d := &Document{Name: name}
	if message, hint := unreadable(src); message != "" {
		d.add(BadSyntax, Span{Line: 1, Column: 1, Width: 1}, 0, message, hint)
		return d
	}
	bad := func(at Span, message, hint string) { d.add(BadSyntax, at, 0, message, hint) }
	found := func(p property) {
		s := Setting{Key: p.key, Value: p.value, KeyAt: p.keyAt, ValueAt: p.valueAt}
		if other != nil && other(s) {
			return
		}
		d.resolve(&s, p)
		d.Settings = append(d.Settings, s)
	}
	d.Comments, d.lines = readProperties(src, found, bad)
	d.collect()
	slices.SortStableFunc(d.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return d
}

// unreadable returns what makes a file no text at all.
func unreadable(src []byte) (message, hint string) {
	switch {
	case len(src) > MaxFileSize:
		return fmt.Sprintf("the file has %d bytes, more than a statemap can have (%d)", len(src), MaxFileSize),
			"is this the right file?"
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		return "the file is UTF-16", "save it as UTF-8"
	case bytes.IndexByte(src, 0) >= 0:
		return "the file has NUL bytes and is no text", "is this the right file?"
	}
	return "", ""
}

func (d *Document) add(kind ProblemKind, at Span, o Outcome, message, hint string) {
	d.Problems = append(d.Problems, Problem{Kind: kind, File: d.Name, At: at, Outcome: o, Message: message, Hint: hint})
}

// resolve finds out which outcome and attribute a key names.
func (d *Document) resolve(s *Setting, p property) {
	key := fold(s.Key)
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 || strings.HasPrefix(key, timingPrefix) {
		hint := "keys are <outcome>.state, .threshold, .action, .window and .heal"
		if strings.HasPrefix(key, timingPrefix) {
			hint = "times and limits are set in failwise.yaml, not here"
		} else if o, err := ParseOutcome(key); err == nil {
			hint = fmt.Sprintf("give %s.state, %s.threshold and %s.action", o, o, o)
		}
		d.add(UnknownOutcome, s.KeyAt, 0, fmt.Sprintf("%q is no setting and is ignored", shorten(s.Key)), hint)
		return
	}
	outcomeAt, attributeAt := s.KeyAt, s.KeyAt
	if n := len(p.dots); n > 0 {
		if last := p.dots[n-1]; last > s.KeyAt.Column && last < s.KeyAt.Column+s.KeyAt.Width {
			outcomeAt.Width = last - s.KeyAt.Column
			attributeAt = Span{Line: s.KeyAt.Line, Column: last + 1, Width: s.KeyAt.Column + s.KeyAt.Width - last - 1}
		}
	}
	o, oErr := ParseOutcome(key[:dot])
	a, aErr := ParseAttribute(key[dot+1:])
	if oErr != nil {
		d.unknown(UnknownOutcome, outcomeAt, 0, oErr, "failwise rules lists all outcomes")
	}
	if aErr != nil {
		d.unknown(UnknownAttribute, attributeAt, o, aErr, "")
	}
	if oErr == nil && aErr == nil {
		s.Outcome, s.Attribute = o, a
	}
}

// unknown reports a word of a key that does not exist.
func (d *Document) unknown(kind ProblemKind, at Span, o Outcome, err error, otherwise string) {
	var u *UnknownError
	if !errors.As(err, &u) {
		return
	}
	message, hint := u.parts()
	d.add(kind, at, o, message+", the setting is ignored", cmp.Or(hint, otherwise))
}

// collect checks the values and puts the rules together.
func (d *Document) collect() {
	var last [NumOutcomes][NumAttributes]*Setting
	var values [NumOutcomes]Rule
	var broken [NumOutcomes]bool
	for i := range d.Settings {
		s := &d.Settings[i]
		if s.Outcome == 0 {
			continue
		}
		if before := last[s.Outcome][s.Attribute]; before != nil {
			d.add(DuplicateKey, s.KeyAt, s.Outcome,
				fmt.Sprintf("%s.%s is set twice, the last one counts", s.Outcome, s.Attribute),
				fmt.Sprintf("line %d has the other one; delete one of them", before.KeyAt.Line))
		}
		last[s.Outcome][s.Attribute] = s
		if message, hint := s.Attribute.set(&values[s.Outcome], s.Value); message != "" {
			broken[s.Outcome] = true
			d.add(BadValue, s.ValueAt, s.Outcome, fmt.Sprintf("%s.%s: %s", s.Outcome, s.Attribute, message), hint)
		}
	}
	for _, o := range Outcomes() {
		d.override(Override{Outcome: o, Rule: values[o], Settings: last[o]}, broken[o])
	}
}

// override adds a rule if the file gives its whole triple.
func (d *Document) override(v Override, broken bool) {
	first := v.first()
	if first == nil {
		return
	}
	var missing []string
	for a := AttributeState; a <= AttributeAction; a++ {
		if v.Settings[a] == nil {
			missing = append(missing, "."+a.String())
		}
	}
	if len(missing) > 0 {
		d.add(IncompleteTriple, first.KeyAt, v.Outcome,
			fmt.Sprintf("%s is ignored: %s not given", v.Outcome, strings.Join(missing, " and ")),
			"an outcome is overridden by .state, .threshold and .action together")
		return
	}
	if broken {
		return
	}
	if err := v.Rule.Validate(); err != nil {
		d.add(BadWindow, v.At(AttributeWindow), v.Outcome, fmt.Sprintf("%s: %s", v.Outcome, err),
			"the alarm expires when threshold of the last window ticks had the outcome")
		return
	}
	d.Overrides = append(d.Overrides, v)
}
