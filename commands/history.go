package commands

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"failwise/failover/journal"
)

func historyCommand() *command {
	return &command{
		name:    "history",
		summary: "show what happened: events, failovers, policy and rule changes; export probes for replay",
		about: "Reads the journal of a cluster, whether or not a watcher runs. --export writes every probe as a timeline\n" +
			"that `failwise replay` takes, so that an incident can be played under other rules the next morning.",
		examples: []example{
			{"history --since 24h", "the last day"},
			{"history --since 2026-11-30T03:00:00Z --until 2026-11-30T04:00:00Z", ""},
			{"history --export csv --since 1h", "a timeline: failwise history --export csv | failwise replay - --rules my.properties"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("since", "", "from `TIME` on: RFC 3339, \"2006-01-02 15:04:05\", 15:04[:05] or an age such as 24h")
			f.String("until", "", "up to `TIME`")
			f.String("node", "", "about node `NAME` only")
			f.String("export", "", "write the probes as a timeline in `FORMAT`: csv or jsonl")
			f.Bool("probes", false, "show every probe too")
		},
		run: runHistory,
	}
}

func runHistory(ctx context.Context, in *invocation) error {
	c, err := in.cluster()
	if err != nil {
		return err
	}
	now := time.Now()
	var q journal.Query
	for name, t := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !in.IsSet(name) {
			continue
		}
		if *t, err = parseMoment(in.String(name), now); err != nil {
			return usagef("--%s: %v", name, err).hint("use 2006-01-02T15:04:05Z, \"2006-01-02 15:04:05\", 15:04 or an age such as 24h")
		}
	}
	if name := in.String("node"); name != "" {
		n, ok := c.Node(name)
		if !ok {
			return usagef("cluster %s has no node %s", c.Name, name).hint("its nodes are %s", strings.Join(c.NodeNames(), ", "))
		}
		q.Node = n.Name
	}
	dir, err := in.clusterDir(c)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(in.Out)
	write, err := in.historyWriter(out)
	if err != nil {
		return err
	}
	found := false
	for rec, err := range journal.Read(ctx, dir, q) {
		var damaged *journal.LineError
		if errors.As(err, &damaged) {
			in.remark("%v", damaged)
			continue
		}
		if err != nil {
			return refused(fmt.Errorf("journal: %w", err))
		}
		found = true
		if err := write(rec); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if !found {
		in.remark("the journal of cluster %s has nothing in that time", c.Name)
	}
	return nil
}

// historyWriter writes records in the format that was asked for.
func (in *invocation) historyWriter(out *bufio.Writer) (func(journal.Record) error, error) {
	switch format := in.String("export"); {
	case format == "csv":
		w := csv.NewWriter(out)
		if err := w.Write([]string{"time", "node", "outcome", "elapsed_ms"}); err != nil {
			return nil, err
		}
		return func(r journal.Record) error {
			if r.Kind != journal.Probe {
				return nil
			}
			err := w.Write([]string{jsonTime(r.Time), r.Node, r.Outcome.String(), strconv.FormatFloat(r.Elapsed.Seconds()*1000, 'f', 3, 64)})
			w.Flush()
			return errors.Join(err, w.Error())
		}, nil
	case format == "jsonl":
		w := json.NewEncoder(out)
		return func(r journal.Record) error {
			if r.Kind != journal.Probe {
				return nil
			}
			return w.Encode(timelineRow{jsonTime(r.Time), r.Node, r.Outcome.String(), r.Elapsed.Seconds() * 1000})
		}, nil
	case format != "":
		return nil, usagef("--export takes csv or jsonl, not %q", format)
	case in.JSON():
		w := json.NewEncoder(out)
		return func(r journal.Record) error {
			if r.Kind == journal.Probe && !in.Bool("probes") {
				return nil
			}
			return w.Encode(r)
		}, nil
	}
	paint := in.paint(Stdout)
	return func(r journal.Record) error {
		if !in.tells(r) {
			return nil
		}
		text := r.Message
		if r.Kind == journal.Probe {
			text = strings.TrimSpace(r.Outcome.String() + " " + text)
		}
		line := fmt.Sprintf("%s %-9s %-8s %s", paint.dim(r.Time.Local().Format("2006-01-02 15:04:05.000")), r.Kind, r.Node, text)
		_, err := fmt.Fprintln(out, in.folded(line))
		return err
	}, nil
}

// timelineRow is a row of a timeline in JSON lines.
type timelineRow struct {
	Time      string  `json:"time"`
	Node      string  `json:"node"`
	Outcome   string  `json:"outcome"`
	ElapsedMS float64 `json:"elapsed_ms"`
}

// tells reports whether a record belongs into the story for a reader: not every
// probe and fact, and no repeated waiting.
func (in *invocation) tells(r journal.Record) bool {
	switch r.Kind {
	case journal.Probe:
		return in.Bool("probes")
	case journal.Fact, journal.KindUnset:
		return in.Verbosity() > 0
	case journal.Event:
		var ev struct {
			Kind string `json:"event"`
		}
		_ = json.Unmarshal(r.Data, &ev) // an unknown event is told
		switch ev.Kind {
		case "confirm", "probe_others", "ask_coordinator", "back_to_fence":
			return in.Verbosity() > 0
		}
		return true
	case journal.Decision:
		var d struct {
			Operation string `json:"operation"`
		}
		return json.Unmarshal(r.Data, &d) == nil && d.Operation != "" || in.Verbosity() > 0
	case journal.Step:
		return !strings.Contains(r.Message, " begun")
	case journal.Start, journal.Rules, journal.Topology, journal.Policy, journal.Note, journal.Dropped, journal.Stop:
	}
	return true
}
