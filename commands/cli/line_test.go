package cli_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"failwise/commands/cli"
)

// even is a value of a type of its own.
type even int

func (e *even) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n%2 != 0 {
		return errors.New("it is not even")
	}
	*e = even(n)
	return nil
}

func (e *even) String() string { return strconv.Itoa(int(*e)) }

func flags() []cli.Flag {
	two := even(2)
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text"},
		&cli.StringFlag{Name: "query"},
		&cli.IntFlag{Name: "port", Aliases: []string{"P"}},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}},
		&cli.StringSliceFlag{Name: "host", Aliases: []string{"H"}},
		&cli.ValueFlag{Name: "even", Value: &two},
		&cli.StringFlag{Name: "query", Value: "the second of its name"},
	}
}

func TestLineWithoutFlagsHasTheDefaults(t *testing.T) {
	l := cli.NewLine(flags(), nil)
	got := []any{l.String("output"), l.String("o"), l.String("query"), l.Get("port"), l.Bool("v"), l.StringSlice("H"), l.Get("even").(*even).String(), l.Operand(0)}
	want := []any{"text", "text", "", 0, false, []string(nil), "2", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, f := range flags() {
		if name := f.Names()[0]; l.IsSet(name) {
			t.Errorf("%s is set", name)
		}
	}
	if l.String("unknown") != "" || l.Bool("unknown") || l.IsSet("unknown") || l.Get("unknown") != nil || l.StringSlice("unknown") != nil {
		t.Error("a flag that the command does not have has a value")
	}
}

func TestLineKeepsWhatFlagsWereGiven(t *testing.T) {
	l := cli.NewLine(flags(), []string{"db1", "db2"})
	for _, s := range [][2]string{
		{"output", "json"}, {"o", "xml"}, {"query", ""}, {"P", "3307"}, {"v", "true"}, {"verbose", "true"},
		{"H", "a,b"}, {"host", "c"}, {"even", "4"},
	} {
		if err := l.Set(s[0], s[1]); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	got := []any{l.String("output"), l.IsSet("query"), l.Get("port"), l.Bool("verbose"), l.Count("v"), l.StringSlice("host"), l.Get("even").(*even).String(), l.Operands(), l.Operand(1)}
	want := []any{"xml", true, 3307, true, 2, []string{"a,b", "c"}, "4", []string{"db1", "db2"}, "db2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLineRefusesValues(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"port", "x", `invalid value "x" for flag --port: it is no whole number`},
		{"verbose", "x", `invalid value "x" for flag --verbose: it is neither true nor false`},
		{"even", "3", `invalid value "3" for flag --even: it is not even`},
	} {
		l := cli.NewLine(flags(), nil)
		err := l.Set(c.flag, c.value)
		var v *cli.ValueError
		if !errors.As(err, &v) || err.Error() != c.want {
			t.Errorf("--%s=%s: got %v, want %s", c.flag, c.value, err, c.want)
		}
		if l.IsSet(c.flag) {
			t.Errorf("--%s=%s: it is set", c.flag, c.value)
		}
	}
}

func TestFlagsTellTheirDefaults(t *testing.T) {
	var got []string
	for _, f := range flags() {
		got = append(got, f.Names()[0]+"="+f.Default()+" "+strconv.FormatBool(f.TakesValue()))
	}
	want := []string{"output=text true", "query= true", "port= true", "verbose= false", "host= true", "even=2 true", "query=the second of its name true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
