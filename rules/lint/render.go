package lint

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Part is a part of a rendered finding, for colour.
type Part uint8

// The parts.
const (
	PartPlace    Part = iota // file and line
	PartSeverity             // the words warning and error
	PartCode                 // FW203
	PartCaret                // the mark under the source
	PartHint                 // the words risk and hint
)

// Style colours a part of a finding. It must return text that takes as many
// columns as it was given.
type Style func(part Part, severity Severity, text string) string

// Render writes a finding as text: a line "file:line: severity code message", the
// source line with a caret under the place, risks and the hint. A nil style is
// plain text.
func Render(f Finding, style Style) string {
	if style == nil {
		style = func(_ Part, _ Severity, text string) string { return text }
	}
	var b strings.Builder
	place := printable(f.File)
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	fmt.Fprintf(&b, "%s %s %s %s\n", style(PartPlace, f.Severity, place+":"),
		style(PartSeverity, f.Severity, f.Severity.String()), style(PartCode, f.Severity, f.Code), printable(f.Message))
	indent := "    "
	if f.Line > 0 {
		number := fmt.Sprintf("%5d", f.Line)
		source, pad, width := excerpt(f)
		fmt.Fprintf(&b, "%s | %s\n", number, source)
		fmt.Fprintf(&b, "%s | %s%s\n", strings.Repeat(" ", len(number)), strings.Repeat(" ", pad),
			style(PartCaret, f.Severity, strings.Repeat("^", width)))
		indent = strings.Repeat(" ", len(number)+1)
	}
	for _, r := range f.Risks {
		fmt.Fprintf(&b, "%s%s %s\n", indent, style(PartHint, f.Severity, "risk:"), printable(r))
	}
	if f.Hint != "" {
		for _, line := range strings.Split(f.Hint, "\n") {
			fmt.Fprintf(&b, "%s%s %s\n", indent, style(PartHint, f.Severity, "hint:"), printable(line))
		}
	}
	return b.String()
}

// excerptWidth is how much of a source line is shown.
const excerptWidth = 100

// excerpt returns the part of the source line around the place, and where the
// caret begins and how wide it is.
func excerpt(f Finding) (source string, pad, width int) {
	line := []rune(printable(f.Source))
	start := min(max(f.Column-1, 0), len(line))
	width = max(1, min(f.Width, len(line)-start))
	if len(line) <= excerptWidth {
		return strings.TrimRight(string(line), " "), columns(line[:start]), max(1, columns(line[start:min(start+width, len(line))]))
	}
	from := max(0, min(start-excerptWidth/3, len(line)-excerptWidth))
	to := min(len(line), from+excerptWidth)
	cut := line[from:to]
	if from > 0 {
		cut[0] = '…'
	}
	if to < len(line) {
		cut[len(cut)-1] = '…'
	}
	marked := cut[start-from:] // nothing of the line if the place is its end
	return strings.TrimRight(string(cut), " "), columns(cut[:start-from]), max(1, columns(marked[:min(width, len(marked))]))
}

// columns is how many columns of a terminal the text takes: East Asian letters
// and emoji take two, marks that combine with the letter before them none.
func columns(text []rune) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) && !halfWidth(r),
			r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}

// halfWidth reports the narrow forms of Katakana and Hangul.
func halfWidth(r rune) bool { return r >= 0xff61 && r <= 0xffdc }

// printable replaces what would move the cursor or change the terminal; each
// character stays one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '\ufffd'
	}, s)
}
