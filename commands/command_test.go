package commands

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// testProcess is a process without a terminal and without an environment.
func testProcess(in string) (Process, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return Process{
		Build: Build{Version: "1.2.3"},
		In:    strings.NewReader(in), Out: &out, Err: &errs,
		Getenv:       func(string) string { return "" },
		Environ:      func() []string { return nil },
		IsTerminal:   func(Stream) bool { return false },
		Width:        func(Stream) int { return 0 },
		ReadPassword: func() ([]byte, error) { return nil, io.EOF },
		Notify:       func(chan<- os.Signal, ...os.Signal) func() { return func() {} },
	}, &out, &errs
}

// TestEveryCommandIsDocumented holds what help, completion and the reference rely on.
func TestEveryCommandIsDocumented(t *testing.T) {
	for _, c := range tree().visible() {
		if c.summary == "" || strings.HasSuffix(c.summary, ".") || strings.Contains(c.summary, "\n") {
			t.Errorf("%s: summary %q is not one line without a full stop", c.line(), c.summary)
		}
		if len(c.examples) == 0 {
			t.Errorf("%s: no example", c.line())
		}
		for _, e := range c.examples {
			if problem := checkExample(c, e.line); problem != "" {
				t.Errorf("%s: example %q: %s", c.line(), e.line, problem)
			}
		}
		for _, b := range c.branches {
			if s := b.make(); s.name != b.name {
				t.Errorf("%s: branch %s makes %s", c.line(), b.name, s.name)
			}
		}
		if (c.run == nil) == (len(c.branches) == 0) {
			t.Errorf("%s: needs either a run function or subcommands", c.line())
		}
		for _, f := range listFlags(newFlags(c.flags)) {
			global := newFlags(globalFlags)
			if global.Lookup(f.Name) != nil || f.Shorthand != "" && global.ShorthandLookup(f.Shorthand) != nil {
				t.Errorf("%s: flag %s is a global one", c.line(), f.Name)
			}
			if f.Usage == "" {
				t.Errorf("%s: flag %s has no usage text", c.line(), f.Name)
			} else if takesValue(f) && !strings.Contains(f.Usage, "`") {
				t.Errorf("%s: flag %s does not name its value", c.line(), f.Name)
			}
		}
	}
}

// checkExample parses each program of a pipe line that is failwise; one of them
// must be the command.
func checkExample(c *command, line string) string {
	shown := false
	for i, program := range strings.Split(line, "|") {
		words := strings.Fields(program)
		if n := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == "<" || w == "&&" }); n >= 0 {
			words = words[:n]
		}
		if i > 0 {
			if len(words) == 0 || words[0] != "failwise" {
				continue
			}
			words = words[1:]
		}
		a, err := parseArguments(tree(), words)
		if err != nil {
			return err.Error()
		}
		shown = shown || a.command.line() == c.line() || c.run == nil
	}
	if !shown {
		return "it is one of another command"
	}
	return ""
}

// TestArgumentsInAnyOrder uses a small tree, so that it needs no real command.
func TestArgumentsInAnyOrder(t *testing.T) {
	probe := &command{
		name: "probe", max: -1,
		flags: func(f *pflag.FlagSet) {
			f.StringP("warning", "w", "", "")
			f.StringArrayP("on", "x", nil, "")
			f.BoolP("deep", "d", false, "")
		},
		run: func(context.Context, *invocation) error { return nil },
	}
	group := &command{name: "group", branches: []branch{{"probe", func() *command { return probe }}}}
	root := &command{name: "failwise", branches: []branch{{"group", func() *command { return group }}}}
	for _, c := range []struct {
		words string
		want  string // canonical line, or the error
	}{
		{"group probe db1", "failwise group probe -- db1"},
		{"group probe db1 -w 1 db2", "failwise group probe --warning=1 -- db1 db2"},
		{"-w 1 group probe db1", "failwise group probe --warning=1 -- db1"},
		{"-w1 group -u root probe db1 -vd", "failwise --user=root --verbose=+1 group probe --warning=1 --deep=true -- db1"},
		{"group probe -vvw=1 db1", "failwise --verbose=+1 --verbose=+1 group probe --warning=1 -- db1"},
		{"group probe --on a,b -x c", "failwise group probe --on=a,b --on=c --"},
		{"group probe -- -w 1", "failwise group probe -- -w 1"},
		{"group probe -w -- db1", "flag -w needs a value"},
		{"group probe -w -d db1", "flag -w needs a value"},
		{"group probe -w -1 db1", "failwise group probe --warning=-1 -- db1"},
		{"group probe --warning= db1", "failwise group probe --warning= -- db1"},
		{"group probe --deep=false", "failwise group probe --deep=false --"},
		{"group probe --deep=perhaps", `flag --deep takes no value, got "perhaps"`},
		{"group probe --warnning 1", "failwise group probe has no flag --warnning"},
		{"group probe -y", "failwise group probe has no flag -y"},
		{"group probe --w 1", "failwise group probe has no flag --w"},
		{"group prob", `failwise group has no command "prob"`},
		{"group probe -", "failwise group probe -- -"},
		{"group probe --warning", "flag --warning needs a value"},
	} {
		a, err := parseArguments(root, strings.Fields(c.words))
		got := canonical(a)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.words, diff)
		}
	}
}

func TestPanicBecomesOneLine(t *testing.T) {
	p, out, errs := testProcess("")
	p.Environ = nil
	p.Out = panicking{}
	if code := Main([]string{"failwise", "version"}, p); code != int(ExitInternal) {
		t.Errorf("exit code %d, want %d", code, ExitInternal)
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "failwise: internal error: disk gone at command_test.go:") {
		t.Errorf("stderr:\n%s", errs)
	}
	if out.Len() > 0 {
		t.Errorf("stdout: %q", out)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("disk\ngone") }

func TestFlagsTakeValues(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"version --port x", `failwise version: invalid value "x" for flag --port: it is no port (1 to 65535)`},
		{"version -P 0", `failwise version: invalid value "0" for flag --port: it is no port (1 to 65535)`},
		{"version -P 65536", `failwise version: invalid value "65536" for flag --port: it is no port (1 to 65535)`},
		{"version --timeout soon", `failwise version: invalid value "soon" for flag --timeout: "soon" is no duration (like 10s, 250ms or 1m30s)`},
		{"version --verbose=2", `flag --verbose takes no value, got "2"`},
		{"version -psecret", "-p takes no value: a password does not belong on a command line"},
		{"version --colour=blue", `--color takes auto, always or never, not "blue"`},
	} {
		p, _, errs := testProcess("")
		code := Main(append([]string{"failwise"}, strings.Fields(c.words)...), p)
		if got, _, _ := strings.Cut(errs.String(), "\n"); code != int(ExitUsage) || got != "failwise: "+c.want {
			t.Errorf("%s: exit %d: %s", c.words, code, got)
		}
		if strings.Contains(errs.String(), "secret") {
			t.Errorf("%s: a password is shown: %s", c.words, errs)
		}
	}
	a, err := parseArguments(tree(), strings.Fields("demo -H a,b --flavor mysql -vv --host c --host= -P 03306 x"))
	if err != nil {
		t.Fatal(err)
	}
	a.operands = nil
	p, _, _ := testProcess("")
	in, err := a.invocation(p, tree())
	if err != nil {
		t.Fatal(err)
	}
	got := []any{in.StringSlice("host"), in.String("port"), in.String("flavour"), in.Verbosity(), in.IsSet("flavour"), in.IsSet("fault"), in.String("fault"), in.Bool("keep"), in.String("nothing"), in.Bool("nothing"), in.Operand(0)}
	want := []any{[]string{"a,b", "c", ""}, "3306", "mysql", 2, true, false, "kill", false, "", false, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// canonical is a command line in one order: global flags, the command, its flags,
// operands.
func canonical(a arguments) string {
	var global, local string
	for _, f := range a.given {
		word := " --" + f.name + "=" + f.value
		if newFlags(globalFlags).Lookup(f.name) != nil {
			global += word
		} else {
			local += word
		}
	}
	return strings.Join(append([]string{"failwise" + global, a.command.title() + local, "--"}, a.operands...), " ")
}

// Who reads help in a pager or a file has 80 columns too, and copies the examples.
func TestHelpFitsIntoEightyColumns(t *testing.T) {
	var look func(c *command)
	look = func(c *command) {
		p, out, _ := testProcess("")
		if err := writeHelp(p, c); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > helpColumns {
				t.Errorf("%s: %d columns: %s", c.line(), n, line)
			}
		}
		for _, e := range c.examples {
			if line := "  failwise " + e.line; !strings.Contains(out.String(), line+"\n") {
				t.Errorf("%s: the example is broken over two lines: %s", c.line(), line)
			}
		}
		for _, name := range c.names() {
			look(c.sub(name))
		}
	}
	look(tree())
}
