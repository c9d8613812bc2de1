package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"failwise/check"
)

func TestPasswordSourcesInOrder(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".my.cnf"), []byte("[client]\nuser=monitor\npassword=from-option-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := write(t, "secret", "from-file\nsecond line\n")
	environ := func(more ...string) []string {
		return append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, more...)
	}
	for _, c := range []struct {
		name    string
		account Account
		sources Sources
		want    string
		source  string
	}{
		{"prompt first", Account{PasswordFile: file, FromFlag: true}, Sources{Environ: environ("FAILWISE_PASSWORD=of-variable"),
			Prompt: func(string) (check.Secret, error) { return check.NewSecret("typed"), nil }}, "typed", "prompt"},
		{"flag beats variable", Account{PasswordFile: file, FromFlag: true}, Sources{Environ: environ("FAILWISE_PASSWORD=of-variable")}, "from-file", "password_file " + file},
		{"variable beats file", Account{PasswordFile: file}, Sources{Environ: environ("FAILWISE_PASSWORD=of-variable")}, "of-variable", "environment FAILWISE_PASSWORD"},
		{"file beats option file", Account{PasswordFile: file}, Sources{Environ: environ("MYSQL_PWD=old")}, "from-file", "password_file " + file},
		{"command", Account{PasswordCommand: []string{"sh", "-c", "echo from-command; echo more"}}, Sources{Environ: environ()}, "from-command", "password_command sh"},
		{"option file beats MYSQL_PWD", Account{}, Sources{Environ: environ("MYSQL_PWD=old")}, "from-option-file", "option file " + home + "/.my.cnf"},
		{"option file of another user", Account{User: "root"}, Sources{Environ: environ("MYSQL_PWD=old")}, "old", "environment MYSQL_PWD"},
		{"MYSQL_PWD", Account{User: "x"}, Sources{Environ: []string{"MYSQL_PWD=old"}}, "old", "environment MYSQL_PWD"},
		{"none", Account{User: "x"}, Sources{}, "", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.account.Variable, c.account.monitor = "FAILWISE_PASSWORD", true
			l, err := c.account.Resolve(t.Context(), c.sources)
			if err != nil {
				t.Fatal(err)
			}
			if l.Secret.Reveal() != c.want || l.Source != c.source {
				t.Errorf("%q from %s, want %q from %s", l.Secret.Reveal(), l.Source, c.want, c.source)
			}
			if c.want != "" && strings.Contains(fmt.Sprintf("%v %+v %#v", l, l, l), c.want) {
				t.Error("the password prints itself")
			}
		})
	}
}

func TestPasswordErrorsNameTheSource(t *testing.T) {
	for _, c := range []struct {
		account Account
		want    string
	}{
		{Account{PasswordFile: "/nonexistent/x"}, "password_file /nonexistent/x: no such file or directory"},
		{Account{PasswordFile: "/dev/zero"}, "password_file /dev/zero: longer than 65536 bytes"},
		{Account{PasswordCommand: []string{"false"}}, "password_command false: exit status 1"},
		{Account{PasswordCommand: []string{"true"}}, "password_command true: it wrote nothing"},
		{Account{PasswordCommand: []string{"sh", "-c", "echo $FAILWISE_PASSWORD$MYSQL_PWD$FAILWISE_MANAGE_PASSWORD | tr -d '\n'"}}, "password_command sh: it wrote nothing"},
		{Account{OptionFile: "/nonexistent/x", monitor: true}, "option file /nonexistent/x: no such file or directory"},
	} {
		_, err := c.account.Resolve(t.Context(), Sources{Environ: []string{"PATH=" + os.Getenv("PATH"), "MYSQL_PWD=p", "FAILWISE_MANAGE_PASSWORD=p"}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestHangingSourcesEndWithTheContext(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]Account{
		"file":            {PasswordFile: fifo},
		"command":         {PasswordCommand: []string{"sleep", "60"}},
		"command's child": {PasswordCommand: []string{"sh", "-c", "sleep 60 & wait"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := a.Resolve(ctx, Sources{Environ: []string{"PATH=" + os.Getenv("PATH")}})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
}

func TestReadableSecretWarns(t *testing.T) {
	file := write(t, "secret", "x\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	var warned []string
	s := Sources{Warn: func(text string) { warned = append(warned, text) }}
	if _, err := (Account{PasswordFile: file}).Resolve(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "every user can read it") {
		t.Errorf("%q", warned)
	}
	warned = nil
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := (Account{PasswordFile: file}).Resolve(t.Context(), s); err != nil || len(warned) > 0 {
		t.Errorf("%v %q", err, warned)
	}
}
