package mha

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFileIsReadAsMHADoes(t *testing.T) {
	f, err := Parse("app.cnf", []byte("\ufeff# comment\r\n; comment\r\n [ server default ] \r\n"+
		"user = mha \nuser=root\npassword='a#b;c'\nreport_script=/bin/r -x ; a remark\nping_interval=\"5\"\n"+
		"[server1]\rhostname=db1\r[server default]\nport=3307"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range f.Sections {
		for _, each := range s.Settings {
			got = append(got, s.Name+"|"+each.Name+"|"+each.Value)
		}
	}
	want := []string{
		"server default|user|root", "server default|password|a#b;c", "server default|report_script|/bin/r -x",
		"server default|ping_interval|5", "server default|port|3307", "server1|hostname|db1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if s, _ := f.Section("server default").Get("user"); s.Place() != "app.cnf:5" {
		t.Errorf("user stands at %s, want app.cnf:5", s.Place())
	}
}

func TestMistakesInAFileAreLocatedAndTellNoPassword(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"user=mha", "f:1: setting user stands before the first section"},
		{"[server default]\nhunter2", "f:2: neither a setting, a section nor a comment"},
		{"[server default]\n=hunter2", "f:2: neither a setting, a section nor a comment"},
		{"[server default\nuser=hunter2]", "f:1: neither a setting, a section nor a comment (and 1 more)"},
		{"[server default]\npassword=hunter2\x01", "f:2: a character that is no text"},
		{"[server default]\npassword=hunter2\xff", "f:2: a character that is no text"},
		{strings.Repeat("#", MaxFile+1), "f: larger than 1 MB: this is no MHA configuration"},
	} {
		_, err := Parse("f", []byte(tt.text))
		if err == nil || err.Error() != tt.want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%.40q: %v, want %s", tt.text, err, tt.want)
			continue
		}
		var all *Error
		errors.As(err, &all)
		for _, p := range all.Problems {
			if strings.Contains(p.String()+p.Hint, "hunter2") {
				t.Errorf("%.40q: the password is in %q", tt.text, p.String())
			}
		}
	}
}
