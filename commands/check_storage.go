package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"failwise/check/storage"
)

// storageReport is one element of the JSON output's "details" of check storage.
type storageReport struct {
	storage.Result
	Status string   `json:"status"`
	Alerts []string `json:"alerts,omitempty"`
}

func checkStorageCommand() *command {
	return &command{
		name:     "storage",
		operands: "PATH…",
		summary:  "check the disk under a path without hanging with it",
		about: "One block of 4 KiB is written and synced, and one block of an existing file read, past the page cache; free\n" +
			"space and inodes, a read-only mount, I/O errors, requests that do not finish and the machine's I/O pressure\n" +
			"are looked at. A child process does it, which is left behind if the disk does not answer. PATH is a\n" +
			"directory, or a file whose own blocks are to be read. Nothing is left in it.\n\n" +
			"Thresholds are FIGURE=RANGE with FIGURE one of " + figureNames() + ";\n" +
			"write and read are in seconds or durations, in_flight is a number of requests, all others are in percent. A\n" +
			"RANGE alone is for write and read; FIGURE= removes a threshold. A stalled, full, read-only or failing disk is\n" +
			"CRITICAL whatever the thresholds.",
		examples: []example{
			{"check storage /var/lib/mysql", "with the built-in thresholds"},
			{"check storage /var/lib/mysql /var/log/mysql -w 50ms -c space=5:", "own thresholds, two disks side by side"},
			{"check storage /var/lib/mysql --no-write -t 5s -v", "as a user who may only read, with the evidence"},
		},
		flags: func(f *pflag.FlagSet) {
			f.StringArrayP("warning", "w", nil, "exit 1 if `FIGURE=RANGE` alerts (repeatable; default "+defaultsText(storage.DefaultWarning())+")")
			f.StringArrayP("critical", "c", nil, "exit 2 if `FIGURE=RANGE` alerts (repeatable; default "+defaultsText(storage.DefaultCritical())+")")
			f.Bool("no-write", false, "do not write, for users who may not")
		},
		min: 1,
		max: -1,
		run: func(ctx context.Context, in *invocation) error {
			warn, err := in.storageThresholds("warning", storage.DefaultWarning())
			if err != nil {
				return err
			}
			crit, err := in.storageThresholds("critical", storage.DefaultCritical())
			if err != nil {
				return err
			}
			options := storage.Options{Paths: distinct(in.Operands())}
			if in.Bool("no-write") {
				options.Writes = -1
			}
			return in.runCheck(ctx, func(ctx context.Context, at *stage) (checkReport, error) {
				at.set("the probe of " + strings.Join(options.Paths, ", "))
				results := storage.Check(ctx, options)
				if errors.Is(ctx.Err(), context.Canceled) {
					return checkReport{}, ctx.Err()
				}
				return storageVerdict(results, warn, crit), nil
			})
		},
	}
}

func figureNames() string {
	var names []string
	for _, f := range storage.Figures() {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}

func defaultsText(t storage.Thresholds) string {
	var parts []string
	for _, f := range storage.Figures() {
		if !t[f].IsZero() {
			parts = append(parts, f.String()+"="+t[f].String())
		}
	}
	return strings.Join(parts, " ")
}

// distinct drops repeated paths, whose probes would wait for each other.
func distinct(paths []string) []string {
	var once []string
	for _, p := range paths {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return once
}

func (in *invocation) storageThresholds(flag string, t storage.Thresholds) (storage.Thresholds, error) {
	for _, s := range in.StringSlice(flag) {
		if err := t.Set(s); err != nil {
			return t, usagef("%s: --%s: %w", in.command.line(), flag, err).hint("%s --help", in.command.line())
		}
	}
	return t, nil
}

// storageExit is the verdict on what no threshold is needed for.
func storageExit(c storage.Condition) Exit {
	switch c {
	case storage.OK:
		return ExitOK
	case storage.Full, storage.ReadOnly, storage.IOError, storage.Stalled:
		return ExitCritical
	default:
		return ExitUnknown
	}
}

// storageVerdict words the results of all paths.
func storageVerdict(results []storage.Result, warn, crit storage.Thresholds) checkReport {
	report := checkReport{exit: ExitOK}
	var details []storageReport
	var bad []string
	var pressure *storage.Pressure // of the machine, so told once
	for _, r := range results {
		one := storageReport{Result: r}
		exit := storageExit(r.Condition)
		for _, a := range crit.Alerts(r) {
			one.Alerts = append(one.Alerts, a.String())
			exit = worse(exit, ExitCritical)
		}
		for _, a := range warn.Alerts(r) {
			if crit[a.Figure].Alerts(a.Value) {
				continue
			}
			one.Alerts = append(one.Alerts, a.String())
			exit = worse(exit, ExitWarning)
		}
		one.Status = exit.Word()
		details = append(details, one)
		report.exit = worse(report.exit, exit)

		line := r.Path + ": " + r.Message
		// What makes a disk stall or fill up needs no threshold on top.
		if r.Condition == storage.OK && len(one.Alerts) > 0 {
			line += "; " + strings.Join(one.Alerts, "; ")
		}
		if exit != ExitOK {
			bad = append(bad, line)
		}
		prefix := ""
		if len(results) > 1 {
			prefix = r.Path + " "
			report.lines = append(report.lines, exit.Word()+" - "+line)
		} else {
			report.summary = line
		}
		report.perfdata = append(report.perfdata, storage.Perfdata(r, prefix, warn, crit)...)
		pressure = cmp.Or(pressure, r.Pressure)
		report.evidence = append(report.evidence, storageEvidence(r)...)
	}
	report.perfdata = append(report.perfdata, storage.PressurePerfdata(pressure, warn, crit)...)
	report.details = details
	switch {
	case len(results) == 1:
	case len(bad) == 0:
		report.summary = fmt.Sprintf("%d paths ok", len(results))
	default:
		report.summary = fmt.Sprintf("%d of %d paths: %s", len(bad), len(results), strings.Join(bad, "; "))
	}
	return report
}

// storageEvidence is what -v shows of one path.
func storageEvidence(r storage.Result) []string {
	lines := []string{fmt.Sprintf("%s: condition %s, probed in %.3f s", r.Path, r.Condition, r.Elapsed)}
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if m := r.Mount; m != nil {
		add("mount: %s on %s, %s (%s)", m.Source, m.Point, m.Type, m.Options)
	}
	if l := r.Write; l != nil {
		add("write and sync: %s", storageLatency(l))
	}
	if l := r.Read; l != nil {
		add("read: %s", storageLatency(l))
	}
	if s := r.Space; s != nil {
		add("space: %d of %d bytes free, %d of %d inodes free", s.BytesFree, s.Bytes, s.InodesFree, s.Inodes)
	}
	if d := r.Device; d != nil {
		add("device %s: %d requests in flight, %d finished during the probe, none for %.1f s", d.Name, d.InFlight, d.Finished, d.NoneFinishedFor)
	}
	if p := r.Pressure; p != nil {
		add("pressure: some %.1f%%, full %.1f%% of the last 10 s", p.Some, p.Full)
	}
	if r.HungIn != "" {
		at := ""
		if r.WaitsIn != "" {
			at = ", in the kernel's " + r.WaitsIn
		}
		add("hung in: %s%s", r.HungIn, at)
	}
	for _, n := range r.Notes {
		add("note: %s", n)
	}
	return lines
}

func storageLatency(l *storage.Latency) string {
	text := fmt.Sprintf("%.6f s", l.Seconds)
	if l.Error != "" {
		text += ", " + l.Error
	}
	if l.Direct {
		text += ", past the page cache"
	}
	if l.File != "" {
		text += ", " + l.File
	}
	return text
}
