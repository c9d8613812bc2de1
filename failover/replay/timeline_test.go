package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/failover"
	"failwise/failover/replay"
	"failwise/rules"
)

func side(p rules.Profile) replay.Side {
	return replay.Side{Name: p.String(), Rules: p.Rules(), Timings: p.Timings()}
}

// replayed replays a timeline under the default profile and returns its report and
// its events as lines.
func replayed(t *testing.T, src string, change func(*replay.Options)) (*replay.Report, []string) {
	t.Helper()
	o := replay.Options{Sides: []replay.Side{side(rules.Tungsten)}}
	var events []string
	o.Events = func(at time.Duration, sides [][]failover.Event) {
		for i, group := range sides {
			for _, ev := range group {
				events = append(events, fmt.Sprintf("%d %s %s", i, at, replay.Line(ev)))
			}
		}
	}
	if change != nil {
		change(&o)
	}
	r, err := replay.Timeline(context.Background(), "t.csv", strings.NewReader(src), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

const refused = `time,node,outcome
0s,db1,ok
0s,db2,ok
5s,db1,socket_io_error
5s,db2,ok
`

var refusedEvents = []string{
	"0 5s alarm db1 socket_io_error",
	"0 5s expire db1 socket_io_error count=0",
	"0 5s failover db1",
	"0 5s promoted db2 in place of db1",
}

// The same rows give the same events however they are written.
func TestTimelineFormats(t *testing.T) {
	for name, src := range map[string]string{
		"durations":                refused,
		"crlf":                     strings.ReplaceAll(refused, "\n", "\r\n"),
		"no last end":              strings.TrimSuffix(refused, "\n"),
		"bom":                      "\xef\xbb\xbf" + refused,
		"blank lines":              "\n" + strings.ReplaceAll(refused, "\n", "\n\n"),
		"upper case":               strings.ReplaceAll(strings.ReplaceAll(refused, "time,", "Time,"), "socket_io_error", "SOCKET_IO_ERROR"),
		"blanks":                   strings.ReplaceAll(refused, ",", " , "),
		"quoted":                   "time,node,outcome\n\"0s\",\"db1\",ok\n0s,db2,ok\n5s,\"db1\",\"socket_io_error\"\n5s,db2,ok\n",
		"all quoted":               "\"time\",\"node\",\"outcome\"\r\n\"0s\",\"db1\",\"ok\"\r\n\"0s\",\"db2\",\"ok\"\r\n\"5s\",\"db1\",\"socket_io_error\"\r\n\"5s\",\"db2\",\"ok\"\r\n",
		"quotes and commas within": "time,message,outcome,node\n0s,\"a, b\",\"ok\",db1\n\"0s\",\"\"\"\",ok,\"db2\"\n5s,\"a \"\"b\"\", c\nd\",socket_io_error,\"db1\"\n5s,\"\",\"ok\",\"db2\"\n",
		"more columns":             "elapsed_ms,outcome,node,time\n1,ok,db1,0s\n1,ok,db2,0s\n,socket_io_error,db1,5s\n2.5,ok,db2,5s\n",
		"utc":                      rfc(refused, "2026-03-01T21:11:0%dZ"),
		"utc, millis":              rfc(refused, "2026-03-01T21:11:0%d.000Z"),
		"other zone":               rfc(refused, "2026-03-01T21:11:0%d+01:00"),
		"json": `{"time":"0s","node":"db1","outcome":"ok"}
{"time":"0s","node":"db2","outcome":"ok","elapsed_ms":1.5}
{"time":"5s","node":"db1","outcome":"socket_io_error","message":"connection refused"}
{"time":"5s","node":"db2","outcome":"ok"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, events := replayed(t, src, nil)
			if diff := cmp.Diff(refusedEvents, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if r.Rows != 4 || r.Last != 5*time.Second || r.ProbeInterval != 5*time.Second {
				t.Errorf("report %+v", r)
			}
			s := r.Sides[0]
			if s.Failovers != 1 || s.First.At != 5*time.Second || s.Promoted != "db2" {
				t.Errorf("side %+v", s)
			}
		})
	}
}

// Programs that quote everything are read without a reader for each row.
func TestQuotedRowsCostLittle(t *testing.T) {
	const rows = 10_000
	var b strings.Builder
	b.WriteString("time,node,outcome\n")
	for i := range rows {
		fmt.Fprintf(&b, "\"%ds\",\"db%d\",\"ok\"\n", i/2, 1+i%2)
	}
	allocs := testing.AllocsPerRun(1, func() {
		if r, events := replayed(t, b.String(), nil); r.Rows != rows || len(events) > 0 {
			t.Errorf("report %+v, events %q", r, events)
		}
	})
	if allocs > 2*rows {
		t.Errorf("%.0f allocations for %d rows", allocs, rows)
	}
}

// rfc writes the durations of a timeline as times.
func rfc(src, layout string) string {
	for _, s := range []int{0, 5} {
		src = strings.ReplaceAll(src, fmt.Sprintf("\n%ds,", s), "\n"+fmt.Sprintf(layout, s)+",")
	}
	return src
}

func TestRowsThatAreBad(t *testing.T) {
	head := "time,node,outcome\n0s,db1,ok\n"
	for _, c := range []struct {
		src  string
		line int
		want string
	}{
		{head + "1s,db1,okk", 3, `unknown outcome "okk"`},
		{head + "1s,db1,not_online", 3, "no probe ends in not_online"},
		{head + "1s,db1", 3, "the row has 2 fields, the header 3"},
		{head + "1s,db1,ok,,", 3, "the row has 5 fields"},
		{head + "1s,,ok", 3, "names no node"},
		{head + "soon,db1,ok", 3, `time "soon" is neither`},
		{head + "-1s,db1,ok", 3, "is neither"},
		{head + "2026-03-01T00:00:00Z,db1,ok", 3, "do not mix"},
		{head + "5s,db1,ok\n4s,db1,ok", 4, "before that of the row above"},
		{head + "1s,\"db1,ok", 3, "is never closed"},
		{head + `1s,"db"1,ok`, 3, ""},
		{head + strings.Repeat("x", 2<<20) + "\n", 3, "longer than 1 MiB"},
		{head + "1s,\x1b[31mdb1,ok", 3, "is no name for a node"},
		{head + "1s,db\x00,ok", 3, "is no name for a node"},
		{"time,node\n0s,db1", 1, "no column outcome"},
		{`{"time":"0s","node":"` + strings.Repeat("x", 2<<20), 1, "longer than 1 MiB"},
		{"\x1f\x8b\x08rubbish\n", 1, "zcat t.csv | failwise replay -"},
		{"{\"time\":\"0s\",\"node\":\"db1\",\"outcome\":\"ok\"}\n{\"time\":1}", 2, "time cannot be a number"},
		{"{\"time\":\"0s\",\"node\":\"db1\",\"outcome\":\"ok\"}\n{\"time\":\"1s\"}", 2, `no "outcome"`},
		{"{\"time\":\"0s\",\"node\":\"db1\",\"outcome\":\"ok\"}\nrubbish", 2, "not a JSON object"},
		{`{"time":"0s","kind":"start","data":{"nodes":[{}]}}`, 1, "a node has no name"},
		{"time,node,outcome\n2026-13-01T00:00:00Z,db1,ok", 2, "is not RFC 3339"},
		{"time,node,outcome\n2026-03-01T25:00:00Z,db1,ok", 2, "is not RFC 3339"},
		{"", 0, "is empty"},
		{"time,node,outcome\n", 0, "no row that can be used"},
	} {
		o := replay.Options{Sides: []replay.Side{side(rules.Tungsten)}}
		_, err := replay.Timeline(context.Background(), "t.csv", strings.NewReader(c.src), o)
		var bad *replay.FileError
		if !errors.As(err, &bad) || bad.Line != c.line || !strings.Contains(bad.Msg, c.want) || strings.Contains(bad.Msg, "\n") {
			t.Errorf("%.60q: %v, want line %d %q", c.src, err, c.line, c.want)
		}
	}
}

// Under KeepGoing bad rows are told and skipped, and the rest is replayed.
func TestKeepGoingSkipsBadRowsAndSaysSo(t *testing.T) {
	src := strings.Replace(refused, "5s,db1,", "4s,db1,okk\nrubbish\n1s,db1\n5s,db1,", 1)
	src += strings.Repeat("y", 3<<20) + "\n5s,db2,ok\n"
	var skipped []string
	r, events := replayed(t, src, func(o *replay.Options) {
		o.KeepGoing = true
		o.Skipped = func(e *replay.FileError) { skipped = append(skipped, fmt.Sprint(e.Line)) }
	})
	if diff := cmp.Diff(refusedEvents, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := strings.Join(skipped, " "); got != "4 5 6 9" || r.Skipped != 4 || r.Rows != 5 {
		t.Errorf("skipped lines %s, report %+v", got, r)
	}
}

// Where nobody probed for longer than a watcher may sleep, no ticks are made up.
func TestGapIsAPauseAndNoEvidence(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,node,outcome\n")
	row := func(s int) {
		fmt.Fprintf(&b, "%ds,db1,socket_connect_timeout\n%ds,db2,ok\n", s, s)
	}
	for s := 0; s <= 30; s += 5 {
		row(s)
	}
	for s := 300; s <= 350; s += 5 {
		row(s)
	}
	r, events := replayed(t, b.String(), nil)
	want := []string{
		"0 0s alarm db1 socket_connect_timeout",
		"0 5m0s stalled (no call for 4m30s: this process was paused)",
		"0 5m40s expire db1 socket_connect_timeout count=8",
		"0 5m40s failover db1",
		"0 5m40s promoted db2 in place of db1",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if r.Sides[0].Failovers != 1 {
		t.Errorf("side %+v", r.Sides[0])
	}
}

// However far apart two rows are, the time between them costs nothing.
func TestYearsBetweenRowsCostNothing(t *testing.T) {
	src := "time,node,outcome\n2026-03-01T21:11:00Z,db1,ok\n2026-03-01T21:11:00Z,db2,ok\n2106-03-01T21:11:05Z,db2,ok\n"
	r, events := replayed(t, src, func(o *replay.Options) { o.Sides = []replay.Side{side(rules.Couchbase)} })
	if len(events) != 1 || !strings.Contains(events[0], "stalled") || r.ProbeInterval != 10*time.Minute {
		t.Errorf("events %q, report %+v", events, r)
	}
}

// Expiries between two rows come at their own time.
func TestDeadlinesBetweenRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,node,outcome\n")
	for s := 0; s <= 105; s += 15 {
		fmt.Fprintf(&b, "%ds,db1,socket_connect_timeout\n%ds,db2,ok\n", s, s)
	}
	_, events := replayed(t, b.String(), nil)
	if len(events) < 3 || events[1] != "0 1m20s expire db1 socket_connect_timeout count=8" || events[2] != "0 1m20s failover db1" {
		t.Errorf("events %q", events)
	}
}

// Two rule sets on the storage stall: the story of why a fatal query timeout would
// not have helped and what a window would have done.
func TestStorageStallSideBySide(t *testing.T) {
	src, err := os.ReadFile("testdata/incident/storage-stall.csv")
	if err != nil {
		t.Fatal(err)
	}
	sides := []replay.Side{side(rules.Tungsten)}
	for _, name := range []string{"fatal", "window"} {
		text, err := os.ReadFile("testdata/incident/" + name + ".properties")
		if err != nil {
			t.Fatal(err)
		}
		m, warnings, err := rules.Parse(name, text, rules.Defaults())
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		sides = append(sides, replay.Side{Name: name, Rules: m, Timings: rules.Tungsten.Timings()})
	}
	r, _ := replayed(t, string(src), func(o *replay.Options) { o.Sides = sides })
	clock := func(d time.Duration) string { return r.Start.Add(d).Format(time.TimeOnly) }
	var got []string
	for _, s := range r.Sides {
		got = append(got, s.Name+": "+s.Verdict(clock))
	}
	want := []string{
		"tungsten: would not have failed over: query_results_timeout 4 times (never expires: threshold -1)",
		"fatal: would not have failed over: query_results_timeout 4 times (longest 10m0s, it needs 12m0s without an online probe)",
		"window: would have failed over db1 at 21:23:00 on query_results_timeout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if r.Difference == nil || clock(r.Difference.At) != "21:21:05" || clock(r.Decision.At) != "21:23:00" {
		t.Errorf("differences %+v, %+v", r.Difference, r.Decision)
	}
}

// A side compared with itself does not differ.
func TestSameRulesDoNotDiffer(t *testing.T) {
	r, _ := replayed(t, refused, func(o *replay.Options) { o.Sides = append(o.Sides, o.Sides[0]) })
	if r.Difference != nil || r.Decision != nil {
		t.Errorf("differences %+v, %+v", r.Difference, r.Decision)
	}
}

// A journal's facts hold: roles, policy, votes and ends of promotions.
func TestJournalBringsItsFacts(t *testing.T) {
	start := time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC)
	var b strings.Builder
	line := func(at time.Duration, kind, rest string, data any) {
		fmt.Fprintf(&b, `{"time":%q,"kind":%q%s`, start.Add(at).Format("2006-01-02T15:04:05.000Z07:00"), kind, rest)
		if data != nil {
			text, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, `,"data":%s`, text)
		}
		b.WriteString("}\n")
	}
	fact := func(at time.Duration, f failover.Fact) { line(at, "fact", "", failover.Call{At: at, Fact: &f}) }
	line(0, "start", `,"message":"failwise"`, map[string]any{"nodes": []failover.Node{{Name: "db1"}, {Name: "db2", Role: failover.Primary}}, "policy": failover.Manual})
	for s := range 40 {
		at := time.Duration(s) * time.Second
		line(at, "probe", `,"node":"db1","outcome":"ok"`, nil)
		o := "ok"
		if s >= 5 {
			o = "socket_io_error"
		}
		line(at, "probe", fmt.Sprintf(`,"node":"db2","outcome":%q`, o), nil)
		line(at, "event", `,"node":"db2"`, map[string]string{"event": "heal"})
		switch s {
		case 10:
			fact(at, failover.PolicyIs(failover.Automatic, "", 0, "kim"))
			fact(at, failover.VoteIs("db1", failover.VoteSees, 17))
			fact(at, failover.Answered(17))
		case 20:
			fact(at, failover.VoteIs("db1", failover.VoteLost, 18))
			fact(at, failover.Answered(18))
		case 25:
			fact(at, failover.PromotedTo("db1"))
		}
	}
	r, events := replayed(t, b.String(), nil)
	want := []string{
		"0 5s alarm db2 socket_io_error",
		"0 5s expire db2 socket_io_error count=0",
		"0 5s hold db2 policy_manual",
		"0 10s policy automatic (kim)",
		"0 10s hold db2 replica_sees_primary db1",
		"0 20s failover db2",
		"0 25s promoted db1 in place of db2",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !r.Journal {
		t.Error("it was not seen that this is a journal")
	}
}

// The primary is the node of the first row, unless told otherwise.
func TestRolesCanBeTold(t *testing.T) {
	nodes := []failover.Node{{Name: "db2", Role: failover.Primary}, {Name: "db1"}}
	_, events := replayed(t, refused, func(o *replay.Options) { o.Nodes = nodes })
	if got := events[len(events)-1]; got != "0 5s fail_replica db1" {
		t.Errorf("events %q", events)
	}
}

// A replay can be stopped.
func TestReplayObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := replay.Options{Sides: []replay.Side{side(rules.Tungsten)}}
	_, err := replay.Timeline(ctx, "t.csv", strings.NewReader(string(recorded(40_000))), o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// brokenReader fails after some bytes.
type brokenReader struct{ r io.Reader }

var errDisk = errors.New("input/output error")

func (b *brokenReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errDisk
	}
	return n, err
}

func TestBrokenReaderEndsTheReplay(t *testing.T) {
	o := replay.Options{Sides: []replay.Side{side(rules.Tungsten)}, KeepGoing: true}
	_, err := replay.Timeline(context.Background(), "t.csv", &brokenReader{strings.NewReader(refused)}, o)
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "read timeline t.csv") {
		t.Errorf("error %v", err)
	}
}
