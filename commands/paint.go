package commands

import (
	"failwise/rules"
)

// sgr is a terminal's code for the look of text, the parameter of ECMA-48's
// "select graphic rendition".
type sgr string

const (
	bold    sgr = "1"
	faint   sgr = "2"
	red     sgr = "31"
	green   sgr = "32"
	yellow  sgr = "33"
	magenta sgr = "35"
)

// painter colours text for one stream, or leaves it as it is.
type painter struct{ on bool }

// paint decides on colour for one stream: --color, then NO_COLOR (any non-empty
// value), then whether the stream is a terminal that can do it.
func (in *invocation) paint(s Stream) painter {
	switch in.String("color") {
	case "always":
		return painter{on: true}
	case "never":
		return painter{}
	}
	return painter{on: in.Getenv("NO_COLOR") == "" && in.Getenv("TERM") != "dumb" && in.IsTerminal(s)}
}

func (in *invocation) checkColour() error {
	switch when := in.String("color"); when {
	case "auto", "always", "never":
		return nil
	default:
		return usagef("--color takes auto, always or never, not %q", when)
	}
}

func (p painter) with(text string, look sgr) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + string(look) + "m" + text + "\x1b[0m"
}

func (p painter) bold(text string) string   { return p.with(text, bold) }
func (p painter) dim(text string) string    { return p.with(text, faint) }
func (p painter) red(text string) string    { return p.with(text, red) }
func (p painter) green(text string) string  { return p.with(text, green) }
func (p painter) yellow(text string) string { return p.with(text, yellow) }

// state colours text as the state of a node.
func (p painter) state(s rules.State, text string) string {
	switch s {
	case rules.Online:
		return p.green(text)
	case rules.Timeout:
		return p.yellow(text)
	case rules.Suspect:
		return p.with(text, magenta)
	case rules.Stopped:
		return p.red(text)
	default:
		return p.dim(text)
	}
}

// exit colours text as the verdict of a check.
func (p painter) exit(e Exit, text string) string {
	switch e {
	case ExitOK:
		return p.green(text)
	case ExitWarning:
		return p.yellow(text)
	case ExitCritical:
		return p.red(text)
	default:
		return p.with(text, magenta)
	}
}
