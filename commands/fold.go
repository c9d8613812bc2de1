package commands

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// columns is how wide text on a stream may be: the terminal's width, 80 if a
// terminal does not tell, 0 for no bound where the stream is no terminal.
func (p Process) columns(s Stream) int {
	switch width := p.Width(s); {
	case width > 0:
		return width
	case p.IsTerminal(s):
		return 80
	default:
		return 0
	}
}

// folded is text for standard output, its lines as long as the terminal takes.
func (in *invocation) folded(text string) string { return fold(text, in.columns(Stdout)) }

// fold breaks lines at blanks that are longer than width columns; 0 breaks none.
// What follows is indented under the last column of the line, or under its text.
func fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = foldLine(line, width)
	}
	return strings.Join(lines, "\n")
}

func foldLine(line string, width int) string {
	indent := strings.Repeat(" ", hang(line, width))
	var out []string
	for visible(line) > width {
		at := breakAt(line, width, len(indent))
		if at < 0 {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return strings.Join(append(out, line), "\n")
}

// hang is the indent of what is broken off a line: that of its last column if
// there is room right of it, else a little more than the line's own.
func hang(line string, width int) int {
	own := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line, "  "); at > own {
		if column := visible(line[:at]) + 2; column <= width/2 {
			return column
		}
	}
	if own == 0 && !strings.HasPrefix(line, "!") {
		return 0
	}
	return min(own+2, width/2)
}

// breakAt is the byte of the last blank right of the indent and within the width,
// else of the first one beyond; -1 if there is none.
func breakAt(line string, width, indent int) int {
	best := -1
	for i := range line {
		if line[i] != ' ' {
			continue
		}
		column := visible(line[:i])
		switch {
		case column <= indent || strings.TrimSpace(line[:i]) == "":
		case column <= width:
			best = i
		case best < 0:
			return i
		default:
			return best
		}
	}
	return best
}

var colourCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })

// visible counts the columns of text without its colour codes.
func visible(s string) int {
	if strings.Contains(s, "\x1b") {
		s = colourCodes().ReplaceAllString(s, "")
	}
	return utf8.RuneCountInString(s)
}

// reflow joins lines again that were broken because the next word did not fit, so
// that they can be folded to another width.
func reflow(text string) string {
	const broken = 90 // columns; a shorter line ends where its writer wanted
	lines := strings.Split(text, "\n")
	out := lines[:1]
	for i, line := range lines[1:] {
		if before := lines[i]; visible(before) >= broken && line != "" && line[0] != ' ' {
			out = append(out[:len(out)-1:len(out)-1], out[len(out)-1]+" "+line)
			continue
		}
		out = append(out[:len(out):len(out)], line)
	}
	return strings.Join(out, "\n")
}
