package commands

import (
	"fmt"
	"slices"
	"time"

	"failwise/failover"
	"failwise/failover/replay"
	"failwise/rules"
)

// maxReplayEvents bounds the events in the JSON output of replay, so that its
// memory does not grow with the timeline.
const maxReplayEvents = 100_000

// replayView shows what a replay does: one line an event, and with several sides
// a column for each.
type replayView struct {
	in    *invocation
	paint painter
	sides []replay.Side
	// differ: the first difference was shown.
	differ bool
	began  bool
	start  time.Time
	date   string
	// kept are the events of each side for JSON, and more counts those left out.
	kept [][]failover.Event
	more int64
}

func newReplayView(in *invocation, sides []replay.Side) *replayView {
	return &replayView{in: in, paint: in.paint(Stdout), sides: sides, kept: make([][]failover.Event, len(sides))}
}

// letter names a side in the columns.
func letter(side int) string { return string(rune('A' + side%26)) }

// events shows the events of one moment.
func (v *replayView) events(at time.Duration, groups [][]failover.Event) {
	if v.in.JSON() {
		v.keep(groups)
		return
	}
	v.header()
	moment := v.paint.dim(v.moment(at))
	for _, row := range merge(groups) {
		line := replay.Line(row.event)
		if len(v.sides) == 1 {
			fmt.Fprintf(v.in.Out, "%s  %s\n", moment, v.colour(row.event, line))
			continue
		}
		columns, note := "", ""
		for side := range v.sides {
			if row.sides[side] {
				columns += letter(side) + " "
			} else {
				columns += v.paint.dim(". ")
			}
		}
		if !v.differ && slices.Contains(row.sides, false) {
			v.differ, note = true, "   <- first difference"
		}
		fmt.Fprintf(v.in.Out, "%s  %s %s%s\n", moment, columns, v.colour(row.event, line), note)
	}
}

// header says which column is which side.
func (v *replayView) header() {
	if v.began || len(v.sides) == 1 {
		return
	}
	v.began = true
	for i, s := range v.sides {
		fmt.Fprintf(v.in.Out, "%s = %s\n", letter(i), s.Name)
	}
	fmt.Fprintln(v.in.Out)
}

// mergedEvent is an event and the sides on which it happened.
type mergedEvent struct {
	event failover.Event
	sides []bool
}

// merge brings the events of one moment into one list. What happened on several
// sides stands once.
func merge(groups [][]failover.Event) []mergedEvent {
	var rows []mergedEvent
	for side, group := range groups {
		from := 0
		for _, ev := range group {
			line := replay.Line(ev)
			i := slices.IndexFunc(rows, func(r mergedEvent) bool { return !r.sides[side] && replay.Line(r.event) == line })
			if i < 0 {
				row := mergedEvent{ev, make([]bool, len(groups))}
				row.sides[side] = true
				rows = slices.Insert(rows, min(from, len(rows)), row)
				from++
				continue
			}
			rows[i].sides[side] = true
			from = i + 1
		}
	}
	return rows
}

// moment writes the time of an event line. A date stands on a line of its own when
// it changes.
func (v *replayView) moment(at time.Duration) string {
	if v.start.IsZero() {
		return fmt.Sprintf("%10s", at)
	}
	t := v.start.Add(at)
	if date := t.Format(time.DateOnly); date != v.date {
		v.date = date
		fmt.Fprintln(v.in.Out, v.paint.dim(date))
	}
	if t.Nanosecond() == 0 {
		return t.Format("15:04:05    ")
	}
	return t.Format("15:04:05.000")
}

// clock writes a time of the timeline in full.
func (v *replayView) clock(at time.Duration) string {
	if v.start.IsZero() {
		return at.String()
	}
	t := v.start.Add(at)
	if t.Nanosecond() == 0 {
		return t.Format(time.DateTime)
	}
	return t.Format("2006-01-02 15:04:05.000")
}

func (v *replayView) colour(ev failover.Event, line string) string {
	switch ev.Kind {
	case failover.FailoverDecided, failover.PromotionEnded, failover.ReplicaFailed:
		return v.paint.red(line)
	case failover.Held, failover.Alerted, failover.Stalled:
		return v.paint.yellow(line)
	case failover.Healed, failover.Promoted, failover.Recovered:
		return v.paint.green(line)
	default:
		return line
	}
}

// finish shows the summary.
func (v *replayView) finish(r *replay.Report) error {
	if v.in.JSON() {
		return v.in.printJSON(v.report(r))
	}
	if r.Skipped > 0 {
		v.in.remark("%d of %d rows skipped", r.Skipped, r.Rows+r.Skipped)
	}
	v.header()
	out := v.in.Out
	if len(v.sides) == 1 {
		fmt.Fprintln(out, v.paint.bold(r.Sides[0].Verdict(v.clock)))
		return nil
	}
	fmt.Fprintln(out)
	for i, s := range r.Sides {
		fmt.Fprintf(out, "%s %s: %s\n", letter(i), s.Name, v.paint.bold(s.Verdict(v.clock)))
	}
	if d := r.Difference; d != nil {
		fmt.Fprintf(out, "first difference: %s", v.clock(d.At))
		if d := r.Decision; d != nil {
			fmt.Fprintf(out, "; first different decision: %s", v.clock(d.At))
		}
		fmt.Fprintln(out)
		return nil
	}
	fmt.Fprintln(out, "no difference")
	return nil
}

// keep keeps events for JSON, as many as memory allows.
func (v *replayView) keep(groups [][]failover.Event) {
	for side, group := range groups {
		room := max(0, maxReplayEvents-len(v.kept[side]))
		n := min(room, len(group))
		v.kept[side] = append(v.kept[side], group[:n]...)
		v.more += int64(len(group) - n)
	}
}

// replayReport is the JSON output of replay.
type replayReport struct {
	Rows          int64            `json:"rows"`
	Skipped       int64            `json:"skipped"`
	Start         string           `json:"start,omitempty"`
	From          float64          `json:"from"`
	To            float64          `json:"to"`
	ProbeInterval float64          `json:"probe_interval"`
	Sides         []replaySideJSON `json:"sides"`
	Difference    *float64         `json:"difference,omitempty"`
	Decision      *float64         `json:"decision_difference,omitempty"`
	MoreEvents    int64            `json:"more_events,omitempty"`
}

type replaySideJSON struct {
	Name       string            `json:"name"`
	Verdict    string            `json:"verdict"`
	Failovers  int               `json:"failovers"`
	FailoverAt *float64          `json:"failover_at,omitempty"`
	Promoted   string            `json:"promoted,omitempty"`
	Alerts     int               `json:"alerts"`
	Holds      []replayHoldJSON  `json:"holds"`
	Alarms     []replayAlarmJSON `json:"alarms"`
	Events     []failover.Event  `json:"events"`
}

type replayHoldJSON struct {
	Reason failover.Reason `json:"reason"`
	First  float64         `json:"first"`
	Last   float64         `json:"last"`
	Count  int             `json:"count"`
}

type replayAlarmJSON struct {
	Outcome rules.Outcome `json:"outcome"`
	Count   int           `json:"count"`
	Expired int           `json:"expired"`
	Longest float64       `json:"longest"`
}

func (v *replayView) report(r *replay.Report) replayReport {
	report := replayReport{
		Rows: r.Rows, Skipped: r.Skipped, Start: jsonTime(r.Start), From: r.First.Seconds(), To: r.Last.Seconds(),
		ProbeInterval: r.ProbeInterval.Seconds(), MoreEvents: v.more,
	}
	for i, s := range r.Sides {
		side := replaySideJSON{
			Name: s.Name, Verdict: s.Verdict(v.clock), Failovers: s.Failovers, Promoted: s.Promoted, Alerts: s.Alerts,
			Holds: []replayHoldJSON{}, Alarms: []replayAlarmJSON{}, Events: v.kept[i],
		}
		if s.First != nil {
			side.FailoverAt = secondsOf(s.First.At)
		}
		for _, h := range s.Holds {
			side.Holds = append(side.Holds, replayHoldJSON{h.Reason, h.First.Seconds(), h.Last.Seconds(), h.Count})
		}
		for _, a := range s.Alarms {
			side.Alarms = append(side.Alarms, replayAlarmJSON{a.Outcome, a.Count, a.Expired, a.Longest.Seconds()})
		}
		if side.Events == nil {
			side.Events = []failover.Event{}
		}
		report.Sides = append(report.Sides, side)
	}
	if r.Difference != nil {
		report.Difference = secondsOf(r.Difference.At)
	}
	if r.Decision != nil {
		report.Decision = secondsOf(r.Decision.At)
	}
	return report
}

func secondsOf(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
