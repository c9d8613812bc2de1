package explain

import (
	"fmt"
	"strings"

	"failwise/rules"
)

// All explains every outcome, in the catalogue's order.
func All(m *rules.Map, setup Setup, role Role) []Page {
	pages := make([]Page, 0, rules.NumOutcomes-1)
	for _, o := range rules.Outcomes() {
		if p, err := Explain(Question{Outcome: o, Rules: m, Setup: setup, Role: role}); err == nil {
			pages = append(pages, p)
		}
	}
	return pages
}

// column is one column of the table; narrow terminals lose those with the highest
// drop first.
type column struct {
	head string
	drop int
	cell func(Page) string
}

var columns = []column{
	{"OUTCOME", 0, func(p Page) string { return p.Outcome.String() }},
	{"STATE", 0, func(p Page) string { return p.Rule.State.String() }},
	{"THRESHOLD", 0, func(p Page) string {
		if p.Rule.Window > 0 {
			return fmt.Sprintf("%d of %d", p.Rule.Threshold, p.Rule.Window)
		}
		return fmt.Sprint(p.Rule.Threshold)
	}},
	{"TIME", 1, func(p Page) string {
		switch {
		case p.Rule.ThresholdTime == nil:
			return "never"
		case p.Rule.Threshold == 0:
			return "at once"
		}
		return number(*p.Rule.ThresholdTime)
	}},
	{"ACTION", 0, func(p Page) string { return p.Rule.Action.String() }},
	{"FROM", 3, func(p Page) string { return p.Rule.Origin }},
	{"ACTS AFTER", 2, func(p Page) string {
		if len(p.Roles) == 0 || p.Roles[0].Timing == nil {
			return "-"
		}
		t := p.Roles[0].Timing.Acts
		return number(t.Earliest) + " to " + number(t.Latest)
	}},
}

// Table writes pages as one table, a line each, for a terminal of width columns,
// [DefaultWidth] if that is not positive. Columns that do not fit are left out.
func Table(pages []Page, width int, style Style) string {
	w := newWriter(width, style, rules.StateUnset)
	shown := columns
	for drop := 3; drop > 0 && total(widths(shown, pages)) > w.width; drop-- {
		var fewer []column
		for _, c := range shown {
			if c.drop < drop {
				fewer = append(fewer, c)
			}
		}
		shown = fewer
	}
	sizes := widths(shown, pages)
	line := func(cell func(column) string) string {
		var b strings.Builder
		for i, c := range shown {
			fmt.Fprintf(&b, "%-*s  ", sizes[i], cell(c))
		}
		return strings.TrimRight(b.String(), " ")
	}
	w.WriteString(w.style(KindHeading, w.state, line(func(c column) string { return c.head })) + "\n")
	for _, p := range pages {
		w.WriteString(w.style(KindState, p.Rule.State, line(func(c column) string { return c.cell(p) })) + "\n")
	}
	return w.String()
}

func widths(shown []column, pages []Page) []int {
	sizes := make([]int, len(shown))
	for i, c := range shown {
		sizes[i] = len(c.head)
		for _, p := range pages {
			sizes[i] = max(sizes[i], len([]rune(c.cell(p))))
		}
	}
	return sizes
}

func total(sizes []int) int {
	n := 0
	for _, s := range sizes {
		n += s + 2
	}
	return n - 2
}
