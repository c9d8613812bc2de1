package suggest

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"warning", "critical", "timeout", "socket", "ssl-mode", "config"}
	for _, c := range []struct{ word, want string }{
		{"warnning", "warning"},
		{"waring", "warning"},
		{"Timeuot", "timeout"},
		{"crit", "critical"},
		{"conf", "config"},
		{"x", ""},
		{"", ""},
		{"flavour", ""},
		{"ssl_mode", "ssl-mode"},
	} {
		if got := Nearest(c.word, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}
