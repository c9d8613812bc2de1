package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/check"
)

func TestOptionFileDialect(t *testing.T) {
	for _, c := range []struct{ name, text, user, password, err string }{
		{"plain", "[client]\nuser=a\npassword=b\n", "a", "b", ""},
		{"blanks around", "  [client]\n  user = a \n password =  b  \n", "a", "b", ""},
		{"quotes", "[client]\npassword=\"b # c\"\nuser='a b'", "a b", "b # c", ""},
		{"comment without a blank", "[client]\npassword=b#c\n", "", "b", ""},
		{"comments", "# x\n; y\n[client]\n#user=z\nuser=a\n", "a", "", ""},
		{"escapes", `[client]` + "\n" + `password="a\s\"\\\tb\q"`, "", "a \"\\\tb\\q", ""},
		{"later wins", "[failwise]\nuser=a\n[client]\nuser=b\n", "b", "", ""},
		{"client-mariadb", "[client-mariadb]\nuser=a\n", "a", "", ""},
		{"other groups", "[mysqld]\nuser=a\n[client]\nport=3306\n", "", "", ""},
		{"other options", "[client]\nprompt=x\ndefault-character-set=utf8\nloose-user=a\n", "a", "", ""},
		{"bare password", "[client]\npassword\nuser=a\n", "a", "", ""},
		{"windows line ends", "[client]\r\nuser=a\r\npassword=b\r\n", "a", "b", ""},
		{"no group", "user=a\n", "", "", ":1: an option stands before the first [group]"},
		{"open group", "[client\nuser=a\n", "", "", ":1: the group's name has no closing ]"},
		{"bad mode", "[client]\nssl_mode=maybe\n", "", "", `:2: unknown ssl-mode "maybe"`},
		{"bad directive", "!inclued /x\n", "", "", `:1: unknown directive "!inclued"`},
		{"missing include", "!include /nonexistent/x\n", "", "", ":1: option file /nonexistent/x: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := ReadOptionFile(write(t, "my.cnf", c.text), Sources{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if o.User != c.user || o.Password.Reveal() != c.password {
				t.Errorf("user %q password %q, want %q %q", o.User, o.Password.Reveal(), c.user, c.password)
			}
		})
	}
}

func TestOptionFileIncludes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"my.cnf":      "[client]\nuser=first\n!include sub/one.cnf\n!includedir " + dir + "/sub\nssl-ca=/ca.pem\n",
		"sub/one.cnf": "[client]\nuser=second\n",
		"sub/two.cnf": "[client]\npassword=third\nssl\n",
		"sub/not.txt": "[client]\nuser=wrong\n",
		"loop.cnf":    "!include loop.cnf\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := ReadOptionFile(filepath.Join(dir, "my.cnf"), Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if o.User != "second" || o.Password.Reveal() != "third" || o.TLS.Mode != check.TLSRequired || o.TLS.CA != "/ca.pem" {
		t.Errorf("%+v", o)
	}
	if _, err := ReadOptionFile(filepath.Join(dir, "loop.cnf"), Sources{}); err == nil || !strings.Contains(err.Error(), "more than 10 deep") {
		t.Errorf("a loop: %v", err)
	}
}

func FuzzOptionFile(f *testing.F) {
	f.Add("[client]\nuser=a\npassword=\"b\\\"c\" # d\nport=1\nssl-mode=REQUIRED")
	f.Add("!include x\n[failwise]\nssl=0")
	f.Add("[client]\npassword='")
	f.Fuzz(func(t *testing.T, text string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := optionParser{}
			// Depth at its limit: nothing of this machine is included.
			if err := p.parse("f", []byte(text), maxOptionDepth); err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("error of several lines: %q", err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("hangs")
		}
	})
}
