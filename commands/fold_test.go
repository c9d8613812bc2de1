package commands

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"no terminal", "one two three", 0, "one two three"},
		{"fits", "one two", 7, "one two"},
		{"breaks at the last blank", "one two three", 8, "one two\nthree"},
		{"a long word stays whole", "abcdefghij kl mn", 5, "abcdefghij\nkl mn"},
		{"under its column", "  -u  log in as somebody", 14, "  -u  log in\n      as\n      somebody"},
		{"under its text", "  fix: do this and that", 16, "  fix: do this\n    and that"},
		{"colour has no width", "\x1b[31mone\x1b[0m two three", 8, "\x1b[31mone\x1b[0m two\nthree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fold(c.text, c.width); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestReflow(t *testing.T) {
	long := strings.Repeat("word ", 19) + "end"
	if got, want := reflow(long+"\nmore\nshort\n\nnext\n  list"), long+" more\nshort\n\nnext\n  list"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHelpFitsTheTerminal looks at every command's page.
func TestHelpFitsTheTerminal(t *testing.T) {
	var walk func(c *command)
	walk = func(c *command) {
		p, out, _ := testProcess("")
		p.IsTerminal = func(Stream) bool { return true }
		p.Width = func(Stream) int { return 0 }
		if err := writeHelp(p, c); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if visible(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  failwise ") {
				t.Errorf("%s: %d columns: %s", c.line(), visible(line), line)
			}
		}
		for _, s := range c.subcommands() {
			walk(s)
		}
	}
	walk(tree())
}
