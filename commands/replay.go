package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/commands/suggest"
	"failwise/failover"
	"failwise/failover/replay"
	"failwise/rules"
)

// maxSkippedShown is how many skipped rows are named one by one.
const maxSkippedShown = 20

func replayCommand() *command {
	return &command{
		name:     "replay",
		operands: "TIMELINE",
		summary:  "show what the rules would have done on a recorded timeline",
		about: "A timeline is CSV with the header time,node,outcome[,elapsed_ms], or JSON lines\n" +
			"with the same names, or a watcher's journal; - is standard input. Times are\n" +
			"RFC 3339, or durations from 0. The node of the first row is the primary unless\n" +
			"--cluster db1=primary,db2=replica says otherwise.\n\n" +
			"Without --rules and --profile the shipped defaults hold. --against replays the\n" +
			"same rows under other rules beside the first; it can be repeated, and takes a\n" +
			"statemap file or the name of a profile.",
		examples: []example{
			{"replay incident.csv", "would it have failed over, when, or what held it"},
			{"replay incident.csv --rules my.properties --against new.properties", "what a change of rules changes"},
			{"history --export csv | failwise replay - --profile mha", "last night under MHA's rules"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("rules", "", "the statemap `FILE`, on top of the profile")
			f.String("profile", rules.Tungsten.String(), "`PROFILE` of rules and timings: tungsten, couchbase or mha")
			f.StringArray("against", nil, "compare with this statemap `FILE` or profile (repeatable)")
			f.Bool("keep-going", false, "skip rows that cannot be read, and report them")
		},
		min: 1, max: 1,
		run: func(ctx context.Context, in *invocation) error { return in.replay(ctx) },
	}
}

func (in *invocation) replay(ctx context.Context) error {
	o := replay.Options{KeepGoing: in.Bool("keep-going")}
	var err error
	if o.Sides, err = in.sides(); err != nil {
		return err
	}
	if o.Nodes, err = rolesOf(in.String("cluster")); err != nil {
		return err
	}
	name, r := "standard input", in.In
	size := int64(0)
	if operand := in.Operand(0); operand != "-" {
		f, err := os.Open(operand)
		if err != nil {
			return misconfigured(fmt.Errorf("open timeline: %w", err), "failwise history --export csv writes one from the journal")
		}
		defer func() { _ = f.Close() }()
		if st, err := f.Stat(); err == nil {
			size = st.Size()
			if st.IsDir() {
				return misconfigured(fmt.Errorf("open timeline: %s is a directory", operand))
			}
		}
		name, r = operand, f
	}
	return in.replayFrom(ctx, name, r, size, o)
}

func (in *invocation) replayFrom(ctx context.Context, name string, r io.Reader, size int64, o replay.Options) error {
	skipped := 0
	o.Skipped = func(e *replay.FileError) {
		if skipped++; skipped <= maxSkippedShown {
			fmt.Fprintf(in.Err, "failwise: skipped: %s\n", oneLine(e.Error()))
		}
	}
	progress := in.progress(size)
	o.Progress = progress.show
	view := newReplayView(in, o.Sides)
	o.Begin = func(start time.Time) { view.start = start }
	o.Events = view.events
	report, err := replay.Timeline(ctx, name, r, o)
	progress.clear()
	if skipped > maxSkippedShown {
		fmt.Fprintf(in.Err, "failwise: skipped: %d more rows\n", skipped-maxSkippedShown)
	}
	if err != nil {
		return badFile(err)
	}
	return view.finish(report)
}

// sides are the rule sets to replay under, the first by --rules and --profile.
func (in *invocation) sides() ([]replay.Side, error) {
	profile, err := rules.ParseProfile(in.String("profile"))
	if err != nil {
		return nil, usagef("--profile: %v", err)
	}
	first, err := in.side(profile, in.String("rules"))
	if err != nil {
		return nil, err
	}
	first.RecordedRules = in.String("rules") == "" && !in.IsSet("profile")
	sides := []replay.Side{first}
	for _, name := range in.StringSlice("against") {
		other, err := rules.ParseProfile(name)
		if _, missing := os.Stat(name); err == nil && missing != nil {
			side, err := in.side(other, "")
			if err != nil {
				return nil, err
			}
			side.RecordedTimings = false
			sides = append(sides, side)
			continue
		}
		side, err := in.side(profile, name)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	return sides, nil
}

// side is a profile with a statemap file on top, if there is one.
func (in *invocation) side(profile rules.Profile, file string) (replay.Side, error) {
	s := replay.Side{Name: profile.String(), Rules: profile.Rules(), Timings: profile.Timings(), RecordedTimings: !in.IsSet("profile")}
	if file == "" {
		return s, nil
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return s, misconfigured(fmt.Errorf("read statemap: %w", err), "docs/rules.md describes the file")
	}
	m, warnings, err := rules.Parse(file, src, s.Rules)
	for _, w := range warnings {
		in.remark("%s", w.Error())
	}
	if err != nil {
		return s, misconfigured(err, "failwise lint "+file)
	}
	s.Name, s.Rules = filepath.Base(file), m
	return s, nil
}

// rolesOf reads db1=primary,db2=replica.
func rolesOf(text string) ([]failover.Node, error) {
	if text == "" {
		return nil, nil
	}
	var nodes []failover.Node
	primaries := 0
	named := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, word, ok := strings.Cut(strings.TrimSpace(part), "=")
		role, err := failover.ParseRole(word)
		if !ok || name == "" || err != nil {
			return nil, usagef("--cluster: %q is not NODE=primary or NODE=replica", part).
				hint("failwise replay TIMELINE --cluster db1=primary,db2=replica")
		}
		if named[name] {
			return nil, usagef("--cluster names %s twice", name)
		}
		named[name] = true
		if role == failover.Primary {
			primaries++
		}
		nodes = append(nodes, failover.Node{Name: name, Role: role})
	}
	if primaries != 1 {
		return nil, usagef("--cluster names %d primaries, it needs one", primaries)
	}
	return nodes, nil
}

// badFile words an error about a file that a user wrote.
func badFile(err error) error {
	var e *replay.FileError
	if !errors.As(err, &e) {
		return err
	}
	f := misconfigured(err)
	if near := suggest.Nearest(e.Word, e.Known); e.Word != "" && near != "" {
		return f.hint("did you mean %s?", near)
	}
	if e.Word != "" && len(e.Known) <= 20 {
		return f.hint("it is one of %s", strings.Join(e.Known, ", "))
	}
	return f
}

// progressLine shows on a terminal how far a long replay has come.
type progressLine struct {
	in    *invocation
	on    bool
	size  int64
	began time.Time
	shown bool
}

func (in *invocation) progress(size int64) *progressLine {
	return &progressLine{in: in, on: in.IsTerminal(Stderr) && !in.Quiet(), size: size, began: time.Now()}
}

func (p *progressLine) show(bytes, rows int64) {
	if !p.on || time.Since(p.began) < time.Second {
		return
	}
	p.shown = true
	text := fmt.Sprintf("%d rows, %d MB", rows, bytes>>20)
	if p.size > 0 {
		text += fmt.Sprintf(", %d %%", 100*bytes/p.size)
	}
	fmt.Fprintf(p.in.Err, "\r\x1b[K%s", text)
}

func (p *progressLine) clear() {
	if p.shown {
		fmt.Fprint(p.in.Err, "\r\x1b[K")
	}
}
