package promote_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// failOver kills db1 under a writer and promotes; it gives the new primary.
func (l *lab) failOver() *sandbox.Node {
	l.t.Helper()
	sandbox.Break(l.t, "kill", l.Node(0))
	result, err := promote.Failover(bounded(l.t), l.env(), promote.FailoverRequest{OldPrimary: "db1"})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.node(result.NewPrimary)
}

func TestReturnedPrimaryIsFencedAndRecovered(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		primary := l.failOver()
		// Started by hand, it comes back writable.
		if err := l.Node(0).Start(bounded(t)); err != nil {
			t.Fatal(err)
		}
		sqlExec(t, l.Node(0), "SET GLOBAL read_only=OFF")
		st, err := l.reader.Session(primary.Name()).Status(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := promote.FenceReturned(bounded(t), l.env(), primary.Name(), st.Identity()); err == nil {
			t.Fatal("the primary itself was fenced")
		}
		if _, _, err := promote.FenceReturned(bounded(t), l.env(), "db1", ""); err == nil || l.writable(primary) == false {
			t.Fatalf("fenced without a known primary: %v", err)
		}
		state, why, err := promote.FenceReturned(bounded(t), l.env(), "db1", st.Identity())
		if err != nil || state != promote.FenceProved {
			t.Fatalf("%s, %s, %v", state, why, err)
		}
		if l.writable(l.Node(0)) {
			t.Fatal("the returned primary is writable")
		}
		result, err := promote.Recover(bounded(t), l.env(), promote.RecoverRequest{Node: "db1", Primary: primary.Name()})
		if err != nil {
			t.Fatal(err)
		}
		if result.NewPrimary != primary.Name() || result.Demoted == nil || !result.Demoted.Done {
			t.Errorf("result %+v", result)
		}
		for _, n := range l.Nodes() {
			if n != primary {
				l.follows(n, primary)
				l.noErrant(n, primary)
			}
		}
		sibling, mine := l.soleChannel("db2", "db3"), l.soleChannel("db1")
		if mine.Retry != sibling.Retry || mine.RetryCount != sibling.RetryCount || mine.HeartbeatPeriod != sibling.HeartbeatPeriod {
			t.Errorf("db1 tries each %v, %d times, heartbeat %v; its sibling each %v, %d times, heartbeat %v", mine.Retry, mine.RetryCount,
				mine.HeartbeatPeriod, sibling.Retry, sibling.RetryCount, sibling.HeartbeatPeriod)
		}
		// Once more, it is a replica that works: its channel is left as it is.
		retry := "CHANGE MASTER TO MASTER_CONNECT_RETRY=7"
		stop, start := "STOP SLAVE", "START SLAVE"
		if flavour == sandbox.MySQL {
			retry, stop, start = "CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY=7", "STOP REPLICA", "START REPLICA"
		}
		sqlExec(t, l.Node(0), stop, retry, start)
		l.follows(l.Node(0), primary)
		if flavour == sandbox.MySQL {
			sqlExec(t, l.Node(0), "SET GLOBAL offline_mode=ON") // as a fence leaves it
		}
		if _, err := promote.Recover(bounded(t), l.env(), promote.RecoverRequest{Node: "db1", Primary: primary.Name()}); err != nil {
			t.Fatal(err)
		}
		if flags, err := l.reader.Session("db1").ReadFlags(bounded(t)); err != nil || flags.OfflineMode {
			t.Errorf("its clients are kept out: %+v, %v", flags, err)
		}
		if c := l.soleChannel("db1"); c.Retry != 7*time.Second {
			t.Errorf("a working replica was attached anew: %+v", c)
		}
		l.look()
		// And it can be the primary again.
		if _, err := promote.Switch(bounded(t), l.env(), promote.SwitchRequest{OldPrimary: primary.Name(), To: "db1"}); err != nil {
			t.Fatal(err)
		}
		l.follows(primary, l.Node(0))
	})
}

// soleChannel is the channel of the first of the nodes that is not the primary.
func (l *lab) soleChannel(names ...string) mysql.Channel {
	l.t.Helper()
	for _, name := range names {
		channels, err := l.reader.Session(name).Channels(bounded(l.t))
		if err != nil {
			l.t.Fatal(err)
		}
		if len(channels) == 1 {
			return channels[0]
		}
	}
	l.t.Fatalf("none of %v has one channel", names)
	return mysql.Channel{}
}

func TestDivergedPrimaryIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		sqlExec(t, l.Node(1), stopReplica(flavour))
		sqlExec(t, l.Node(2), stopReplica(flavour))
		sqlExec(t, l.Node(0), "INSERT INTO app.ledger (id, node) VALUES (1, 'lost')", "INSERT INTO app.ledger (id, node) VALUES (2, 'lost')")
		primary := l.failOver()
		sqlExec(t, primary, "INSERT INTO app.ledger (id, node) VALUES (3, 'kept')")
		if err := l.Node(0).Start(bounded(t)); err != nil {
			t.Fatal(err)
		}
		result, err := promote.Recover(bounded(t), l.env(), promote.RecoverRequest{Node: "db1", Primary: primary.Name()})
		var diverged *promote.DivergedError
		if !errors.As(err, &diverged) || !errors.Is(err, promote.ErrDiverged) {
			t.Fatalf("error %v, result %+v", err, result)
		}
		if diverged.Count != 2 || diverged.Errant == "" {
			t.Errorf("it names %d transactions: %s", diverged.Count, diverged.Errant)
		}
		if !strings.Contains(err.Error(), diverged.Errant) {
			t.Errorf("the message does not name them: %v", err)
		}
		set, err := gtid.Parse(diverged.Errant)
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		if err := promote.ShowErrant(bounded(t), l.env(), "db1", set, &shown); err != nil {
			t.Fatal(err)
		}
		if n := len(regexp.MustCompile("### INSERT INTO `app`.`ledger`|Table_map table_id: [0-9]+ [(]app.ledger[)]").FindAllString(shown.String(), -1)); n != 2 {
			t.Errorf("%d of 2 transactions are shown:\n%s", n, shown.String())
		}
		time.Sleep(200 * time.Millisecond)
		var rows int
		if err := l.Node(0).Root().QueryRowContext(bounded(t), "SELECT COUNT(*) FROM app.ledger WHERE id=3").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("the diverged node replicates: %d rows, %v", rows, err)
		}
		if l.writable(l.Node(0)) {
			t.Error("the diverged node is writable")
		}
	})
}

func stopReplica(f sandbox.Flavour) string {
	if f == sandbox.MariaDB {
		return "STOP SLAVE IO_THREAD"
	}
	return "STOP REPLICA IO_THREAD"
}
