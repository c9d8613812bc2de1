package mha

import (
	"slices"
	"testing"
)

func TestCommandIsSplitAsAShellWould(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"/bin/check -s a  -s\tb", []string{"/bin/check", "-s", "a", "-s", "b"}},
		{`/bin/x "a b" 'c "d' e\ f ""`, []string{"/bin/x", "a b", `c "d`, "e f", ""}},
		{`/bin/x "a\"b\c" 'a\b'`, []string{"/bin/x", `a"b\c`, `a\b`}},
		{"/bin/x | logger", []string{"/bin/sh", "-c", `/bin/x | logger "$@"`, "mha"}},
		{`/bin/x "$HOME"`, []string{"/bin/sh", "-c", `/bin/x "$HOME" "$@"`, "mha"}},
		{`/bin/x "a`, []string{"/bin/sh", "-c", `/bin/x "a "$@"`, "mha"}},
	} {
		if got := command(tt.line); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestPasswordsInCommandsAreSeen(t *testing.T) {
	s := secrets{"hunter2", "abc"}
	for _, tt := range []struct {
		before, word string
		want         bool
	}{
		{"", "--password=x", true},
		{"--password", "x", true},
		{"", "--new_master_password=x", true},
		{"", "--mysql-pwd=x", true},
		{"", "--pass=x", true},
		{"", "-phunter2", true},
		{"", "-pabc", true},
		{"-x", "abc", true},
		{"", "u:abc@db1", true},
		{"", "http://h/?k=hunter2", true},
		{"", "/usr/abcd/x", false},
		{"", "--password_file=/etc/x", false},
		{"--password=x", "y", false},
		{"", "--bypass=1", false},
	} {
		if got := s.isSecret(tt.before, tt.word); got != tt.want {
			t.Errorf("%q %q: %v, want %v", tt.before, tt.word, got, tt.want)
		}
	}
}
