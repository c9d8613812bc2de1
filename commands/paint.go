package commands

import (
	"github.com/fatih/color"

	"failwise/rules"
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

func (p painter) with(text string, attributes ...color.Attribute) string {
	if !p.on || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}

func (p painter) bold(text string) string   { return p.with(text, color.Bold) }
func (p painter) dim(text string) string    { return p.with(text, color.Faint) }
func (p painter) red(text string) string    { return p.with(text, color.FgRed) }
func (p painter) green(text string) string  { return p.with(text, color.FgGreen) }
func (p painter) yellow(text string) string { return p.with(text, color.FgYellow) }

// state colours text as the state of a node.
func (p painter) state(s rules.State, text string) string {
	switch s {
	case rules.Online:
		return p.green(text)
	case rules.Timeout:
		return p.yellow(text)
	case rules.Suspect:
		return p.with(text, color.FgMagenta)
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
		return p.with(text, color.FgMagenta)
	}
}
