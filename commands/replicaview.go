package commands

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
	"failwise/failover/mysql"
	"failwise/failover/topology"
)

// replicaLimits are the thresholds of check replica.
type replicaLimits struct{ lag, behind, heartbeat thresholds }

// replicaView is all that is known about one replica.
type replicaView struct {
	node         topology.Node
	topology     topology.Topology
	limits       replicaLimits
	heartbeat    time.Duration
	heartbeatErr error

	exit     Exit
	problems []string
	lines    []string
	perfdata []check.Perfdata
	out      replicaReport
}

// replicaReport is the JSON output's "details" of check replica. What is not known
// is null.
type replicaReport struct {
	Node         string          `json:"node"`
	Version      string          `json:"version,omitempty"`
	Error        string          `json:"error,omitempty"`
	ReadOnly     string          `json:"read_only,omitempty"`
	Primary      string          `json:"primary,omitempty"`
	Behind       *uint64         `json:"transactions_behind"`
	Errant       *string         `json:"errant"`
	HeartbeatAge *float64        `json:"heartbeat_age"`
	Channels     []channelReport `json:"channels"`
}

type channelReport struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	IO       string   `json:"io"`
	IOErrno  int      `json:"io_errno"`
	IOError  string   `json:"io_error,omitempty"`
	SQL      string   `json:"sql"`
	SQLErrno int      `json:"sql_errno"`
	SQLError string   `json:"sql_error,omitempty"`
	Lag      *float64 `json:"lag"`
	Delay    float64  `json:"delay"`
	Filters  []string `json:"filters"`
}

func (v *replicaView) judge(e Exit, format string, args ...any) {
	v.exit = worse(v.exit, e)
	if e != ExitOK {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
	}
}

// report judges every aspect and words the result.
func (v *replicaView) report() checkReport {
	v.out = replicaReport{Node: v.node.Name, Version: v.node.Status.Version.String(), ReadOnly: v.node.Status.ReadOnly.String(), Channels: []channelReport{}}
	channels, known := v.node.Status.Channels.Get()
	switch {
	case !known:
		v.judge(ExitUnknown, "its replication status cannot be read: %s", strings.Join(v.node.Status.Unknown, "; "))
	case len(channels) == 0:
		v.judge(ExitCritical, "it is no replica")
	}
	facts := []string{}
	for _, c := range channels {
		facts = append(facts, v.channel(c, len(channels) > 1)...)
	}
	if len(channels) > 0 {
		facts = append(facts, v.transactions()...)
	}
	facts = append(facts, v.beat()...)
	if len(channels) > 0 && v.node.Status.Writable() {
		v.judge(ExitWarning, "it is writable (read_only=OFF)")
	}
	summary := v.node.Name
	if source := sources(channels); source != "" {
		summary += " from " + source
	}
	return checkReport{
		exit: v.exit, summary: summary + ": " + strings.Join(append(v.problems, facts...), ", ") + " (" + v.out.Version + ")",
		perfdata: v.perfdata, evidence: append(v.lines, unknownLines(v.node.Status.Unknown)...), details: v.out,
	}
}

func sources(channels []mysql.Channel) string {
	var list []string
	for _, c := range channels {
		list = append(list, sourceOf(c))
	}
	return strings.Join(list, " and ")
}

func sourceOf(c mysql.Channel) string {
	if strings.Contains(c.SourceHost, ":") {
		return "[" + c.SourceHost + "]:" + strconv.Itoa(c.SourcePort)
	}
	return c.SourceHost + ":" + strconv.Itoa(c.SourcePort)
}

func unknownLines(unknown []string) []string {
	var lines []string
	for _, u := range unknown {
		lines = append(lines, "unknown: "+u)
	}
	return lines
}

// channel judges one channel; facts are for the summary.
func (v *replicaView) channel(c mysql.Channel, several bool) (facts []string) {
	prefix, label := "", "lag"
	if several {
		prefix, label = "channel "+strconv.Quote(c.Name)+": ", "lag_"+c.Name
	}
	v.thread(prefix+"IO", c.IO, c.IOErrno, c.IOError)
	v.thread(prefix+"SQL", c.SQL, c.SQLErrno, c.SQLError)
	report := channelReport{
		Name: c.Name, Source: sourceOf(c), IO: c.IO.String(), IOErrno: c.IOErrno, IOError: oneLine(c.IOError),
		SQL: c.SQL.String(), SQLErrno: c.SQLErrno, SQLError: oneLine(c.SQLError),
		Delay: c.Delay.Seconds(), Filters: append([]string{}, c.Filters...),
	}
	lag, known := c.Lag.Get()
	perf := check.Perfdata{Label: label, Value: math.NaN(), Unit: check.Seconds, Warn: v.limits.lag.warn, Crit: v.limits.lag.crit}
	running := c.IO == mysql.ThreadYes && c.SQL == mysql.ThreadYes
	switch {
	case known:
		// A delayed replica is late by design; only what exceeds the delay counts.
		lag = max(0, lag-c.Delay)
		perf.Value = lag.Seconds()
		seconds := lag.Seconds()
		report.Lag = &seconds
		text := prefix + "lag " + lag.String()
		if c.Delay > 0 {
			text += " beyond the delay of " + c.Delay.String()
		}
		if e := v.limits.lag.of(seconds); e != ExitOK {
			v.judge(e, "%s", text)
		} else {
			facts = append(facts, text)
		}
	case running:
		v.judge(ExitUnknown, "%slag is unknown", prefix)
	default:
		facts = append(facts, prefix+"lag unknown")
	}
	if len(c.Filters) > 0 {
		facts = append(facts, prefix+"filtered ("+strings.Join(c.Filters, " ")+")")
	}
	v.perfdata = append(v.perfdata, perf)
	v.out.Channels = append(v.out.Channels, report)
	v.lines = append(v.lines, fmt.Sprintf("%sfrom %s io=%s sql=%s lag=%s delay=%s", prefix, sourceOf(c), c.IO, c.SQL, report.lagText(), c.Delay))
	return facts
}

func (c channelReport) lagText() string {
	if c.Lag == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*c.Lag, 'f', -1, 64) + "s"
}

// thread judges one replication thread. Preparing is MariaDB's word for an IO
// thread that has logged in and gets its first event.
func (v *replicaView) thread(name string, state mysql.ThreadState, errno int, text string) {
	if state == mysql.ThreadYes || state == mysql.ThreadPreparing {
		return
	}
	e := ExitCritical
	if state == mysql.ThreadUnknown {
		e = ExitUnknown
	}
	word := map[mysql.ThreadState]string{
		mysql.ThreadNo: "stopped", mysql.ThreadConnecting: "connecting", mysql.ThreadUnknown: "unknown",
	}[state]
	why := ""
	if errno != 0 {
		why = fmt.Sprintf(" with error %d", errno)
		if text != "" {
			why += " (" + shortened(oneLine(text), 120) + ")"
		}
	}
	v.judge(e, "%s thread is %s%s", name, word, why)
}

func shortened(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// transactions counts what the replica lacks and what it has on its own.
func (v *replicaView) transactions() (facts []string) {
	progress := v.node.Status.Progress()
	primary, found := v.topology.Node(v.topology.Primary)
	reference, of := progress, "received and not applied"
	if found && primary.Readable() && primary.Name != v.node.Name {
		reference, of = primary.Status.Progress().ExecutedOnly(), "behind "+primary.Name
		v.out.Primary = primary.Name
		errant := progress.Errant(primary.Status.Progress(), primary.Status.ServerUUID, primary.Status.ServerID)
		text := errant.String()
		v.out.Errant = &text
		if !errant.IsEmpty() {
			// Without their number: on MariaDB a set overstates it.
			v.judge(ExitWarning, "it has errant transactions %s", shortened(text, 120))
		}
	} else {
		v.lines = append(v.lines, "errant transactions: unknown, the primary is not known or not readable")
	}
	count := progress.ExecutedOnly().Lacks(reference, gtid.Set{}).Count()
	v.out.Behind = &count
	v.perfdata = append(v.perfdata, check.Perfdata{
		Label: "transactions_behind", Value: float64(count), Warn: v.limits.behind.warn, Crit: v.limits.behind.crit, Bounds: true, Max: math.Inf(1),
	})
	text := fmt.Sprintf("%d transactions %s", count, of)
	if e := v.limits.behind.of(float64(count)); e != ExitOK {
		v.judge(e, "%s", text)
		return nil
	}
	return []string{text}
}

// beat judges the age of the last heartbeat.
func (v *replicaView) beat() []string {
	limits := v.limits.heartbeat
	v.channelHeartbeats()
	wanted := !limits.warn.IsZero() || !limits.crit.IsZero()
	if v.heartbeatErr != nil {
		v.lines = append(v.lines, "heartbeat: unknown: "+plainServerError(v.heartbeatErr))
		if wanted {
			v.judge(ExitUnknown, "the age of the heartbeat is unknown: %s", plainServerError(v.heartbeatErr))
			v.perfdata = append(v.perfdata, check.Perfdata{Label: "heartbeat_age", Value: math.NaN(), Unit: check.Seconds, Warn: limits.warn, Crit: limits.crit})
		}
		return nil
	}
	seconds := v.heartbeat.Seconds()
	v.out.HeartbeatAge = &seconds
	perf := check.TimePerfdata("heartbeat_age", v.heartbeat)
	perf.Warn, perf.Crit = limits.warn, limits.crit
	v.perfdata = append(v.perfdata, perf)
	text := "heartbeat " + v.heartbeat.Round(time.Millisecond).String() + " old"
	if e := limits.of(seconds); e != ExitOK {
		v.judge(e, "%s", text)
		return nil
	}
	return []string{text}
}

// channelHeartbeats takes the age of the replication channels' own heartbeats into
// account where the server tells it (MySQL). They come only while a source has
// nothing else to send, so that they can be old on a busy healthy replica: the
// younger of both counts.
func (v *replicaView) channelHeartbeats() {
	for _, c := range v.node.Status.Channels.Or(nil) {
		age, known := c.HeartbeatAge.Get()
		if !known {
			continue
		}
		v.lines = append(v.lines, fmt.Sprintf("channel heartbeat from %s: %s old, period %s", sourceOf(c), age.Round(time.Millisecond), c.HeartbeatPeriod.Or(0)))
		if v.heartbeatErr != nil || age < v.heartbeat {
			v.heartbeat, v.heartbeatErr = age, nil
		}
	}
}

// plainServerError is an error of the driver without its prefix.
func plainServerError(err error) string {
	if number, text, ok := serverError(err); ok {
		return fmt.Sprintf("server error %d: %s", number, text)
	}
	switch {
	case errors.Is(err, errNoHeartbeat):
		return "the heartbeat table is empty"
	default:
		return oneLine(err.Error())
	}
}
