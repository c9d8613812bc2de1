package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"failwise/rules"
)

// Kind is a kind of words on a page, for colour.
type Kind uint8

// The kinds.
const (
	KindHeading Kind = iota // the headings
	KindState               // the outcome and the words for its state
	KindDim                 // numbers of columns, places of files
)

// Style colours words on a page; state is that of the page's rule. It must return
// text that takes as many columns as it was given.
type Style func(kind Kind, state rules.State, text string) string

func plain(_ Kind, _ rules.State, text string) string { return text }

// DefaultWidth is the width of a page when nothing else is known, in columns.
const DefaultWidth = 80

// minWidth is the smallest width that is obeyed.
const minWidth = 60

// writer lays out text within a width.
type writer struct {
	strings.Builder
	width int
	style Style
	state rules.State
}

func newWriter(width int, style Style, state rules.State) *writer {
	if width <= 0 {
		width = DefaultWidth
	}
	if style == nil {
		style = plain
	}
	return &writer{width: max(width, minWidth), style: style, state: state}
}

// heading begins a section.
func (w *writer) heading(text string) {
	w.WriteString("\n" + w.style(KindHeading, w.state, text) + "\n")
}

// wrap writes text in lines of the width, after first on the first line and rest
// on the others.
func (w *writer) wrap(first, rest, text string) {
	prefix, line := first, ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(prefix)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > w.width:
			w.WriteString(prefix + line + "\n")
			prefix, line = rest, word
		default:
			line += " " + word
		}
	}
	w.WriteString(prefix + line + "\n")
}

// list writes one item a paragraph.
func (w *writer) list(items []string) {
	for _, item := range items {
		w.wrap("  - ", "    ", item)
	}
}

// Text lays the page out for a terminal of width columns, [DefaultWidth] if that
// is not positive. A nil style is plain text.
func (p Page) Text(width int, style Style) string {
	w := newWriter(width, style, p.Rule.State)
	w.WriteString(w.style(KindState, w.state, p.Outcome.String()) + "\n")
	if p.Via != "" {
		w.wrap("  ", "  ", p.Via)
	}
	w.wrap("  ", "  ", capital(p.Cause)+".")
	w.wrap("  ", "  ", "Proves: "+p.Proves+".")
	if numbers := p.numbers(); numbers != "" {
		w.wrap("  ", "  ", "Numbers: "+numbers+".")
	}
	w.WriteString("\n")
	w.wrap("  ", "  ", p.Verdict)

	p.writeRule(w)
	for _, part := range p.Roles {
		w.heading("What it does to a " + string(part.Role))
		w.list(part.Effect)
		part.Timing.write(w)
	}
	switch {
	case p.Rule.State == rules.Online:
	case p.Rule.Fatal:
		w.section("Why it acts", p.Why)
	default:
		w.section("Why the cluster sits still", p.Why)
		w.section("What that protects from", p.Protects)
	}
	if len(p.Resets) > 0 {
		w.heading("What resets the count")
		w.list(p.Resets)
		if len(p.Keeps) > 0 {
			w.wrap("  - ", "    ", "The count goes on under "+join(p.Keeps)+".")
		}
	}
	w.section("What it is blind to", p.Blind)
	p.writeAlternatives(w)
	p.writeNeighbours(w)
	return w.String()
}

// section writes a heading and its items, if there are any.
func (w *writer) section(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	w.heading(heading)
	w.list(items)
}

// writeRule writes the rule in force and where it comes from.
func (p Page) writeRule(w *writer) {
	r := p.Rule
	w.heading("Rule")
	w.wrap("  state      ", "             ", w.style(KindState, w.state, r.State.String()))
	threshold := fmt.Sprint(r.Threshold)
	switch {
	case r.Threshold < 0:
		threshold += ": never expires"
	case r.Threshold == 0:
		threshold += ": expires at once"
	default:
		threshold += fmt.Sprintf(" ticks of %s: %s", number(r.Tick), inWords(*r.ThresholdTime))
	}
	w.wrap("  threshold  ", "             ", threshold)
	w.wrap("  action     ", "             ", r.Action.String())
	if r.Window > 0 {
		w.wrap("  window     ", "             ", fmt.Sprintf("%d ticks: %s", r.Window, inWords(*r.WindowTime)))
	} else if r.Heal > 1 {
		w.wrap("  heal       ", "             ", fmt.Sprintf("%d online probes in a row", r.Heal))
	}
	from := "profile " + r.Profile
	if r.Origin != from {
		from = r.Origin + ", " + from
	}
	w.wrap("  from       ", "             ", from)
	for _, below := range r.Replaces {
		w.wrap("  replaces   ", "             ", fmt.Sprintf("%s (%s)", below.Rule, below.Origin))
	}
}

// write lays out the timetable.
func (t *Timing) write(w *writer) {
	if t == nil {
		return
	}
	const name = 24
	row := func(label string, s Span, why string) {
		line := fmt.Sprintf("  %-*s %10s %10s", name, label, number(s.Earliest), number(s.Latest))
		if why == "" || w.width < name+60 {
			w.WriteString(strings.TrimRight(line, " ") + "\n")
			return
		}
		w.wrap(line+"  ", strings.Repeat(" ", utf8.RuneCountInString(line)+2), why)
	}
	w.WriteString("\n")
	w.WriteString(w.style(KindDim, w.state, fmt.Sprintf("  %-*s %10s %10s", name, "from the real fault on", "earliest", "latest")) + "\n")
	for _, s := range t.Steps {
		row("  + "+s.Name, s.Takes, s.Why)
	}
	if t.Acts != t.Expires {
		row("the alarm expires after", t.Expires, "")
	}
	row(t.Of+" after", t.Acts, "")
	if w.width < name+60 {
		for _, s := range t.Steps {
			w.wrap("  - ", "    ", s.Name+": "+s.Why+".")
		}
	}
}

// writeAlternatives writes what would change the outcome's fate.
func (p Page) writeAlternatives(w *writer) {
	if len(p.Alternatives) == 0 {
		return
	}
	w.heading("What would change it, and at which risk")
	for i, a := range p.Alternatives {
		if i > 0 {
			w.WriteString("\n")
		}
		w.wrap("  - ", "    ", capital(a.Title)+":")
		for _, line := range strings.Split(strings.TrimSuffix(a.Rule, "\n"), "\n") {
			w.WriteString("        " + w.style(KindDim, w.state, line) + "\n")
		}
		w.wrap("      gains: ", "             ", a.Gains+".")
		risk := a.Risk
		if len(a.Lint) > 0 {
			risk += " (lint: " + strings.Join(a.Lint, ", ") + ")"
		}
		w.wrap("      risk:  ", "             ", risk+".")
	}
}

// writeNeighbours writes what a like fault may show as instead.
func (p Page) writeNeighbours(w *writer) {
	if len(p.Neighbours) == 0 {
		return
	}
	w.heading("Neighbours")
	for _, n := range p.Neighbours {
		w.wrap("  - ", "    ", fmt.Sprintf("%s (%s): %s.", n.Outcome, n.Rule, n.Differs))
	}
}

// numbers lists the error numbers that lead to the outcome.
func (p Page) numbers() string {
	var all []string
	for _, n := range p.ServerErrors {
		all = append(all, strconv.Itoa(int(n)))
	}
	return strings.Join(append(all, p.Errnos...), ", ")
}

// inWords is [span] for seconds.
func inWords(s float64) string { return span(time.Duration(s * float64(time.Second))) }

// number writes seconds for a column in which they are added up: minutes only
// where seconds would be hard to read.
func number(s float64) string {
	switch {
	case s >= 7200 && int(s)%3600 == 0:
		return fmt.Sprintf("%d h", int(s)/3600)
	case s >= 600 && int(s)%60 == 0:
		return fmt.Sprintf("%d min", int(s)/60)
	}
	return fmt.Sprintf("%g s", s)
}

func join(outcomes []rules.Outcome) string {
	words := make([]string, len(outcomes))
	for i, o := range outcomes {
		words[i] = o.String()
	}
	return strings.Join(words, ", ")
}

// capital raises the first letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
