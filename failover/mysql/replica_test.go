package mysql

import (
	"errors"
	"slices"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
)

func changeSourceKeepsOptions(t *testing.T, l lab) {
	s := l.act(t, 2)
	before := l.status(t, s).Channels.Or(nil)[0]
	ok(t, "stop", s.StopReplication(within(t, 10*time.Second), ""))
	if l.isMariaDB() {
		l.root(t, 2, "CHANGE MASTER TO MASTER_DELAY=3, MASTER_CONNECT_RETRY=7, MASTER_HEARTBEAT_PERIOD=1.5, IGNORE_DOMAIN_IDS=(9)")
	} else {
		l.root(t, 2, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY=3, SOURCE_CONNECT_RETRY=7, SOURCE_HEARTBEAT_PERIOD=1.5")
	}
	ok(t, "change", s.ChangeSource(within(t, 10*time.Second), SourceOptions{Host: l.Node(1).Host(), Port: l.Node(1).Port(), HeartbeatPeriod: 1500 * time.Millisecond}))
	ok(t, "start", s.StartReplication(within(t, 10*time.Second), ""))
	l.running(t, s)
	c := l.status(t, s).Channels.Or(nil)[0]
	if c.SourcePort != l.Node(1).Port() || c.SourceHost != l.Node(1).Host() {
		t.Errorf("follows %s:%d", c.SourceHost, c.SourcePort)
	}
	if c.Delay != 3*time.Second || c.Retry != 7*time.Second || c.HeartbeatPeriod.Or(0) != 1500*time.Millisecond ||
		c.SourceUser != before.SourceUser || c.TLS != before.TLS || !c.AutoPosition {
		t.Errorf("options changed: %+v, before %+v", c, before)
	}
	if filtered := slices.Contains(c.Filters, "replicate_ignore_domain_ids=9"); filtered != l.isMariaDB() {
		t.Errorf("filters %v", c.Filters)
	}
	ok(t, "stop", s.StopReplication(within(t, 10*time.Second), ""))
	if l.isMariaDB() {
		l.root(t, 2, "CHANGE MASTER TO MASTER_DELAY=0, MASTER_CONNECT_RETRY=1, IGNORE_DOMAIN_IDS=()")
	} else {
		l.root(t, 2, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY=0, SOURCE_CONNECT_RETRY=1")
	}
	ok(t, "change back", s.ChangeSource(within(t, 10*time.Second), SourceOptions{Host: l.Node(0).Host(), Port: l.Node(0).Port(), HeartbeatPeriod: time.Second}))
	ok(t, "start", s.StartReplication(within(t, 10*time.Second), ""))
	l.running(t, s)
}

func rejoin(t *testing.T, l lab) {
	s := l.act(t, 2)
	ok(t, "stop and reset", s.StopAndReset(within(t, 10*time.Second), ""))
	st := l.status(t, s)
	if channels, _ := st.Channels.Get(); len(channels) != 0 {
		t.Fatalf("channels after reset: %+v", channels)
	}
	if l.isMariaDB() {
		ok(t, "set position", s.SetGTIDSlavePos(within(t, 5*time.Second), st.BinlogPos))
	} else if err := s.SetGTIDSlavePos(within(t, 5*time.Second), st.BinlogPos); !errors.Is(err, ErrUnsupported) {
		t.Errorf("gtid_slave_pos on MySQL: %v, want ErrUnsupported", err)
	}
	repl := l.Accounts().Repl
	ok(t, "change", s.ChangeSource(within(t, 5*time.Second), SourceOptions{
		Host: l.Node(0).Host(), Port: l.Node(0).Port(), HeartbeatPeriod: time.Second,
		User: repl.User, Password: check.NewSecret(repl.Password),
	}))
	ok(t, "start", s.StartReplication(within(t, 5*time.Second), ""))
	l.running(t, s)
	position, err := l.act(t, 0).Prove(within(t, 5*time.Second), 78)
	ok(t, "prove", err)
	if reached, err := s.WaitForGTID(within(t, 10*time.Second), position, 9*time.Second); err != nil || !reached {
		t.Errorf("%s: %v %v", position, reached, err)
	}
}

func starveKeepsReceived(t *testing.T, l lab) {
	primary, replica := l.act(t, 0), l.act(t, 1)
	ok(t, "stop SQL", replica.StopSQL(within(t, 5*time.Second), ""))
	var last string
	for range 50 {
		var err error
		last, err = primary.Prove(within(t, 5*time.Second), 79)
		ok(t, "prove", err)
	}
	set := func(text string) gtid.Progress {
		if l.isMariaDB() {
			p, _ := gtid.ParsePosition(text)
			return gtid.Progress{Applied: p}
		}
		s, _ := gtid.Parse(text)
		return gtid.Progress{Executed: s}
	}
	await(t, "the rows are received", func() bool {
		return l.status(t, replica).Progress().Contains(set(last), gtid.Set{})
	})
	ok(t, "starve", replica.Starve(within(t, 10*time.Second), ""))
	c := l.channel(t, replica)
	if c.IO != ThreadNo || c.SQL != ThreadYes {
		t.Errorf("after starving: IO %v, SQL %v", c.IO, c.SQL)
	}
	if reached, err := replica.WaitForGTID(within(t, 10*time.Second), c.ReceivedText(), 9*time.Second); err != nil || !reached {
		t.Errorf("catch up to %s: %v, %v", c.ReceivedText(), reached, err)
	}
	if !l.status(t, replica).Progress().ExecutedOnly().Contains(set(last), gtid.Set{}) {
		t.Error("received rows were lost")
	}
	ok(t, "starve again", replica.Starve(within(t, 10*time.Second), ""))
	ok(t, "stop SQL", replica.StopSQL(within(t, 5*time.Second), ""))
	ok(t, "starve with both threads stopped", replica.Starve(within(t, 10*time.Second), ""))
	if c := l.channel(t, replica); (c.SQL == ThreadYes) == l.isMariaDB() || c.IO != ThreadNo || l.isMariaDB() && !c.IOPos.IsEmpty() {
		t.Errorf("both threads were stopped, now SQL is %v, IO %v, received %s", c.SQL, c.IO, c.IOPos)
	}
	ok(t, "start SQL", replica.StartSQL(within(t, 5*time.Second), ""))
	ok(t, "start IO", replica.StartIO(within(t, 5*time.Second), ""))
	l.running(t, replica)
}
