package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFlavourNamesAreInverse(t *testing.T) {
	for _, f := range Flavours() {
		for _, name := range []string{f.String(), strings.ToUpper(f.String())} {
			if got, err := ParseFlavour(name); err != nil || got != f {
				t.Errorf("ParseFlavour(%q) = %v, %v", name, got, err)
			}
		}
	}
	if f, err := ParseFlavour("oracle"); err == nil {
		t.Errorf("oracle is %v", f)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for name, o := range map[string]Options{
		"want 1 to 9":                        {Nodes: 10},
		"sandbox of -1 nodes":                {Nodes: -1},
		"whole seconds":                      {NetTimeout: 1500 * time.Millisecond},
		"loop storage for node 3":            {LoopBytes: 1 << 28, LoopNodes: []int{3}},
		"loop storage for node -1: the clus": {LoopBytes: 1 << 28, LoopNodes: []int{-1}},
	} {
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: got %v, want %q", o, err, name)
		}
	}
}

func TestAccountPrintsNoPassword(t *testing.T) {
	a := newAccount("repl")
	for _, verb := range []string{"%v", "%s"} {
		if text := fmt.Sprintf(verb, a); text != "repl" {
			t.Errorf("%s prints %q", verb, text)
		}
	}
}

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersionDecidesFlavour(t *testing.T) {
	tests := []struct {
		says    string
		flavour Flavour
		version string
		err     string
	}{
		{"echo mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64", MariaDB, "10.11.19", ""},
		{"echo /usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64", MySQL, "9.7.4", ""},
		{"echo hello", 0, "", "prints no version"},
		{"exit 3", 0, "", "exit status 3"},
	}
	for _, test := range tests {
		b, err := inspect(t.Context(), script(t, test.says))
		if test.err != "" {
			if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %v, want %q", test.says, err, test.err)
			}
			continue
		}
		if err != nil || b.Flavour != test.flavour || b.Version != test.version {
			t.Errorf("%s: got %+v, %v", test.says, b, err)
		}
	}
}

func TestNamedBinaryIsTheOnlyOneTried(t *testing.T) {
	t.Setenv("FAILWISE_MARIADBD", filepath.Join(t.TempDir(), "absent"))
	if b, err := FindBinary(t.Context(), MariaDB); !errors.Is(err, ErrNoServer) {
		t.Errorf("got %+v, %v", b, err)
	}
	t.Setenv("FAILWISE_MYSQLD", script(t, "echo Ver 10.11.19-MariaDB"))
	if b, err := FindBinary(t.Context(), MySQL); err == nil || !strings.Contains(err.Error(), "is a mariadb server") {
		t.Errorf("got %+v, %v", b, err)
	}
}

// verdict is a TB that remembers how a test ended.
type verdict struct {
	testing.TB
	ended chan string
}

func (v verdict) Helper()             {}
func (v verdict) Logf(string, ...any) {}
func (v verdict) Skipf(format string, args ...any) {
	v.ended <- "skip: " + fmt.Sprintf(format, args...)
}
func (v verdict) Fatalf(format string, args ...any) {
	v.ended <- "fail: " + fmt.Sprintf(format, args...)
}

func TestMissingServerSkipsUnlessServersAreRequired(t *testing.T) {
	for required, want := range map[string]string{"": "skip: no server program", "1": "fail: no server program"} {
		t.Setenv("FAILWISE_REQUIRE_SERVERS", required)
		v := verdict{TB: t, ended: make(chan string, 2)}
		skipOrFail(v, fmt.Errorf("%w for mysql", ErrNoServer))
		if got := <-v.ended; !strings.HasPrefix(got, want) {
			t.Errorf("FAILWISE_REQUIRE_SERVERS=%s: got %q, want %q", required, got, want)
		}
		skipOrFail(v, errors.New("the server broke"))
		// After a skip that does not end the test comes the failure as well.
		for got := ""; !strings.HasPrefix(got, "fail: the server broke"); {
			got = <-v.ended
		}
	}
}

// installed returns the MariaDB server of this machine.
func installed(t *testing.T) Binary {
	t.Helper()
	b, err := FindBinary(t.Context(), MariaDB)
	if err != nil {
		skipOrFail(t, err)
	}
	return b
}

func TestTemplateIsMadeOnceByManyAtOnce(t *testing.T) {
	b := installed(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var mu sync.Mutex
	made := 0
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			dir, err := template(context.WithoutCancel(t.Context()), b, func(string) {
				mu.Lock()
				defer mu.Unlock()
				made++
			})
			if err != nil {
				t.Error(err)
			} else if _, err := os.Stat(filepath.Join(dir, "ibdata1")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}

func TestTemplateWithoutCacheDirectory(t *testing.T) {
	b := installed(t)
	temp := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", temp)
	dir, err := template(t.Context(), b, func(string) {})
	if err != nil || !strings.HasPrefix(dir, temp) {
		t.Errorf("got %q, %v", dir, err)
	}
}

func TestSlotsAreNotShared(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := claimSlot(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	second, err := claimSlot(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if first.number == second.number {
		t.Errorf("both hold slot %d", first.number)
	}
	if err := errors.Join(first.release(), second.release()); err != nil {
		t.Error(err)
	}
}

func TestSweepTouchesNoStranger(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	keep := t.TempDir()
	// A record whose pid was given to somebody else since, and a directory that is no sandbox's.
	left := record{Dir: keep, Processes: []process{{Pid: os.Getpid(), Start: 1}}}
	if err := left.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}

func TestErrorPacketOfBlockedHost(t *testing.T) {
	for packet, want := range map[string]bool{
		"\x45\x00\x00\x00\xff\x69\x04Host '127.0.0.28' is blocked": true,
		"\x45\x00\x00\x00\xff\x10\x04Too many connections":         false,
		"\x4a\x00\x00\x00\x0a9.7.4":                                false,
		"":                                                         false,
	} {
		if got := blocked(packet); got != want {
			t.Errorf("%q: blocked = %v", packet, got)
		}
	}
}
