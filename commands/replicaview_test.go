package commands

import (
	"errors"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
	"failwise/failover/mysql"
	"failwise/failover/topology"
)

// replicaNode is a healthy MySQL replica db2 of db1, both at the same position.
func replicaNode(t *testing.T, change func(*mysql.Status, *mysql.Channel)) replicaView {
	t.Helper()
	set, err := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-100")
	if err != nil {
		t.Fatal(err)
	}
	version := mysql.Version{Flavour: mysql.MySQL, Major: 8, Minor: 4, Patch: 3}
	primary := topology.Node{Reading: topology.Reading{Name: "db1", Status: mysql.Status{
		Version: version, ServerUUID: "3e11fa47-71ca-11e1-9e33-c80aa9429562", Executed: set, ReadOnly: mysql.ReadOnlyOff,
	}}}
	channel := mysql.Channel{SourceHost: "db1", SourcePort: 3306, IO: mysql.ThreadYes, SQL: mysql.ThreadYes, Lag: mysql.Known(time.Duration(0))}
	status := mysql.Status{Version: version, Executed: set, ReadOnly: mysql.ReadOnlyOn}
	change(&status, &channel)
	if !status.Channels.IsKnown() && len(status.Unknown) == 0 {
		status.Channels = mysql.Known([]mysql.Channel{channel})
	}
	replica := topology.Node{Reading: topology.Reading{Name: "db2", Status: status}}
	return replicaView{
		node: replica, topology: topology.Topology{Primary: "db1", Nodes: []topology.Node{primary, replica}},
		heartbeat: 500 * time.Millisecond,
	}
}

func ranges(t *testing.T, warn, crit string) thresholds {
	t.Helper()
	w, err := check.ParseTimeRange(warn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := check.ParseTimeRange(crit)
	if err != nil {
		t.Fatal(err)
	}
	return thresholds{warn: w, crit: c}
}

func TestReplicaVerdicts(t *testing.T) {
	ahead, err := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-93")
	if err != nil {
		t.Fatal(err)
	}
	stray, err := gtid.Parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-100,3e11fa47-71ca-11e1-9e33-c80aa9429563:1-2")
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(*mysql.Status, *mysql.Channel) {}
	for _, c := range []struct {
		name    string
		broken  func(*mysql.Status, *mysql.Channel)
		limits  replicaLimits
		adjust  func(*replicaView)
		want    Exit
		summary string
		perf    string
	}{
		{name: "healthy", broken: nothing, want: ExitOK,
			summary: "db2 from db1:3306: lag 0s, 0 transactions behind db1, heartbeat 500ms old (mysql 8.4.3)",
			perf:    "lag=0s transactions_behind=0;;;0 heartbeat_age=0.5s"},
		{name: "lag above -w", broken: func(_ *mysql.Status, c *mysql.Channel) { c.Lag = mysql.Known(30 * time.Second) },
			limits: replicaLimits{lag: ranges(t, "10s", "60s")}, want: ExitWarning, summary: "lag 30s", perf: "lag=30s;10;60"},
		{name: "lag above -c", broken: func(_ *mysql.Status, c *mysql.Channel) { c.Lag = mysql.Known(61 * time.Second) },
			limits: replicaLimits{lag: ranges(t, "10s", "60s")}, want: ExitCritical, summary: "lag 1m1s"},
		{name: "lag NULL is unknown, not 0", broken: func(_ *mysql.Status, c *mysql.Channel) { c.Lag = mysql.Fact[time.Duration]{} },
			want: ExitUnknown, summary: "lag is unknown", perf: "lag=U"},
		{name: "lag NULL with a stopped thread is that thread's", broken: func(_ *mysql.Status, c *mysql.Channel) {
			c.Lag, c.SQL, c.SQLErrno, c.SQLError = mysql.Fact[time.Duration]{}, mysql.ThreadNo, 1062, "Duplicate\nentry"
		}, want: ExitCritical, summary: "SQL thread is stopped with error 1062 (Duplicate entry)"},
		{name: "delay is honoured", broken: func(_ *mysql.Status, c *mysql.Channel) {
			c.Delay, c.Lag = time.Hour, mysql.Known(time.Hour+5*time.Second)
		}, limits: replicaLimits{lag: ranges(t, "10s", "60s")}, want: ExitOK, summary: "lag 5s beyond the delay of 1h0m0s", perf: "lag=5s;10;60"},
		{name: "IO thread connecting", broken: func(_ *mysql.Status, c *mysql.Channel) { c.IO, c.IOErrno = mysql.ThreadConnecting, 2003 },
			want: ExitCritical, summary: "IO thread is connecting with error 2003"},
		{name: "IO thread preparing has logged in", broken: func(_ *mysql.Status, c *mysql.Channel) { c.IO = mysql.ThreadPreparing }, want: ExitOK},
		{name: "transactions behind", broken: func(s *mysql.Status, _ *mysql.Channel) { s.Executed = ahead },
			limits: replicaLimits{behind: ranges(t, "5", "")}, want: ExitWarning, summary: "7 transactions behind db1", perf: "transactions_behind=7;5;;0"},
		{name: "errant", broken: func(s *mysql.Status, _ *mysql.Channel) { s.Executed = stray }, want: ExitWarning,
			summary: "it has errant transactions 3e11fa47-71ca-11e1-9e33-c80aa9429563:1-2"},
		{name: "writable", broken: func(s *mysql.Status, _ *mysql.Channel) { s.ReadOnly = mysql.ReadOnlyOff }, want: ExitWarning, summary: "it is writable"},
		{name: "filters are told", broken: func(_ *mysql.Status, c *mysql.Channel) { c.Filters = []string{"replicate_do_db=a|b"} },
			want: ExitOK, summary: "filtered (replicate_do_db=a|b)"},
		{name: "no replica", broken: func(s *mysql.Status, _ *mysql.Channel) { s.Channels = mysql.Known([]mysql.Channel{}) },
			want: ExitCritical, summary: "it is no replica"},
		{name: "status not readable", broken: func(s *mysql.Status, _ *mysql.Channel) { s.Unknown = []string{"channels: error 1227"} },
			want: ExitUnknown, summary: "its replication status cannot be read: channels: error 1227"},
		{name: "old heartbeat", broken: nothing, limits: replicaLimits{heartbeat: ranges(t, "", "0.4")}, want: ExitCritical, summary: "heartbeat 500ms old", perf: "heartbeat_age=0.5s;;0.4"},
		{name: "wanted heartbeat unknown", broken: nothing, limits: replicaLimits{heartbeat: ranges(t, "", "1")},
			adjust: func(v *replicaView) { v.heartbeatErr = errNoHeartbeat }, want: ExitUnknown, summary: "the heartbeat table is empty", perf: "heartbeat_age=U;;1"},
		{name: "heartbeat that nobody wants", broken: nothing, adjust: func(v *replicaView) { v.heartbeatErr = errors.New("no") }, want: ExitOK},
		{name: "the younger heartbeat counts", broken: func(_ *mysql.Status, c *mysql.Channel) { c.HeartbeatAge = mysql.Known(100 * time.Millisecond) },
			limits: replicaLimits{heartbeat: ranges(t, "", "0.4")}, want: ExitOK, summary: "heartbeat 100ms old"},
		{name: "primary not known", broken: nothing, adjust: func(v *replicaView) { v.topology.Primary = "" }, want: ExitOK,
			summary: "0 transactions received and not applied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := replicaNode(t, c.broken)
			v.limits = c.limits
			if c.adjust != nil {
				c.adjust(&v)
			}
			r := v.report()
			if r.exit != c.want || !strings.Contains(r.summary, c.summary) {
				t.Errorf("%s - %s, want %s - …%s…", r.exit.Word(), r.summary, c.want.Word(), c.summary)
			}
			if perf := check.JoinPerfdata(r.perfdata); !strings.Contains(perf, c.perf) {
				t.Errorf("%s, want …%s…", perf, c.perf)
			}
		})
	}
}
