package mysql

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"failwise/check"
	"failwise/failover"
)

func dialectOf(t *testing.T, version string) dialect {
	t.Helper()
	v, err := ParseVersion(version, "")
	if err != nil {
		t.Fatal(err)
	}
	return dialect{v}
}

func TestVersionIsReadWhateverItsDecoration(t *testing.T) {
	for _, c := range []struct{ version, comment, want string }{
		{"8.4.3", "MySQL Community Server - GPL", "mysql 8.4.3"},
		{"8.0.36-28", "Percona Server (GPL), Release 28", "mysql 8.0.36"},
		{"5.7.44-log", "", "mysql 5.7.44"},
		{"9.7.4-2", "(Debian)", "mysql 9.7.4"},
		{"10.11.19-MariaDB-0+deb12u1-log", "Debian 12", "mariadb 10.11.19"},
		{"5.5.5-10.6.1-MariaDB", "", "mariadb 10.6.1"},
		{"11.4.2", "MariaDB Server", "mariadb 11.4.2"},
		{"8.0", "", "mysql 8.0.0"},
	} {
		v, err := ParseVersion(c.version, c.comment)
		if err != nil || v.String() != c.want {
			t.Errorf("ParseVersion(%q, %q) = %s, %v; want %s", c.version, c.comment, v, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "8", "8.", "v8.0.1"} {
		if v, err := ParseVersion(bad, ""); err == nil {
			t.Errorf("ParseVersion(%q) = %s, want an error", bad, v)
		}
	}
}

func TestStatementsAreSpelledByVersion(t *testing.T) {
	options := SourceOptions{Host: "db'2", Port: 3307, HeartbeatPeriod: 1500 * time.Millisecond, ConnectRetry: 7 * time.Second, RetryCount: 9}
	rejoining := SourceOptions{Host: "db2", Port: 3306, User: "repl", Password: check.NewSecret(`p'w\`)}
	withTLS := rejoining
	withTLS.TLS = &ChannelTLS{CA: "/ca.pem", Verify: true}
	for _, c := range []struct {
		version string
		want    []string
	}{
		{"5.7.44", []string{
			"SHOW SLAVE STATUS", "STOP SLAVE IO_THREAD FOR CHANNEL ''", "RESET SLAVE ALL FOR CHANNEL 'c'",
			`CHANGE MASTER TO MASTER_HOST='db\'2', MASTER_PORT=3307, MASTER_AUTO_POSITION=1, MASTER_HEARTBEAT_PERIOD=1.500, MASTER_CONNECT_RETRY=7, MASTER_RETRY_COUNT=9 FOR CHANNEL ''`,
			`CHANGE MASTER TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_AUTO_POSITION=1 FOR CHANNEL ''`,
			`CHANGE MASTER TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_SSL=1, MASTER_SSL_CA='/ca.pem', MASTER_SSL_VERIFY_SERVER_CERT=1, MASTER_AUTO_POSITION=1 FOR CHANNEL ''`,
			"SELECT WAIT_FOR_EXECUTED_GTID_SET('u:1', 2.000)", "log_slave_updates", "Master_Host Slave_IO_Running Seconds_Behind_Master",
		}},
		{"8.0.22", []string{
			"SHOW REPLICA STATUS", "STOP REPLICA IO_THREAD FOR CHANNEL ''", "RESET REPLICA ALL FOR CHANNEL 'c'",
			`CHANGE MASTER TO MASTER_HOST='db\'2', MASTER_PORT=3307, MASTER_AUTO_POSITION=1, MASTER_HEARTBEAT_PERIOD=1.500, MASTER_CONNECT_RETRY=7, MASTER_RETRY_COUNT=9 FOR CHANNEL ''`,
			`CHANGE MASTER TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_AUTO_POSITION=1 FOR CHANNEL ''`,
			`CHANGE MASTER TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_SSL=1, MASTER_SSL_CA='/ca.pem', MASTER_SSL_VERIFY_SERVER_CERT=1, MASTER_AUTO_POSITION=1 FOR CHANNEL ''`,
			"SELECT WAIT_FOR_EXECUTED_GTID_SET('u:1', 2.000)", "log_slave_updates", "Source_Host Replica_IO_Running Seconds_Behind_Source",
		}},
		{"9.7.4", []string{
			"SHOW REPLICA STATUS", "STOP REPLICA IO_THREAD FOR CHANNEL ''", "RESET REPLICA ALL FOR CHANNEL 'c'",
			`CHANGE REPLICATION SOURCE TO SOURCE_HOST='db\'2', SOURCE_PORT=3307, SOURCE_AUTO_POSITION=1, SOURCE_HEARTBEAT_PERIOD=1.500, SOURCE_CONNECT_RETRY=7, SOURCE_RETRY_COUNT=9 FOR CHANNEL ''`,
			`CHANGE REPLICATION SOURCE TO SOURCE_HOST='db2', SOURCE_PORT=3306, SOURCE_USER='repl', SOURCE_PASSWORD='p\'w\\', GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=1 FOR CHANNEL ''`,
			`CHANGE REPLICATION SOURCE TO SOURCE_HOST='db2', SOURCE_PORT=3306, SOURCE_USER='repl', SOURCE_PASSWORD='p\'w\\', SOURCE_SSL=1, SOURCE_SSL_CA='/ca.pem', SOURCE_SSL_VERIFY_SERVER_CERT=1, SOURCE_AUTO_POSITION=1 FOR CHANNEL ''`,
			"SELECT WAIT_FOR_EXECUTED_GTID_SET('u:1', 2.000)", "log_replica_updates", "Source_Host Replica_IO_Running Seconds_Behind_Source",
		}},
		{"10.11.19-MariaDB", []string{
			"SHOW ALL SLAVES STATUS", "STOP SLAVE '' IO_THREAD", "RESET SLAVE 'c' ALL",
			`CHANGE MASTER '' TO MASTER_HOST='db\'2', MASTER_PORT=3307, MASTER_USE_GTID=slave_pos, MASTER_HEARTBEAT_PERIOD=1.500, MASTER_CONNECT_RETRY=7`,
			`CHANGE MASTER '' TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_USE_GTID=slave_pos`,
			`CHANGE MASTER '' TO MASTER_HOST='db2', MASTER_PORT=3306, MASTER_USER='repl', MASTER_PASSWORD='p\'w\\', MASTER_SSL=1, MASTER_SSL_CA='/ca.pem', MASTER_SSL_VERIFY_SERVER_CERT=1, MASTER_USE_GTID=slave_pos`,
			"SELECT MASTER_GTID_WAIT('u:1', 2.000)", "log_slave_updates", "Master_Host Slave_IO_Running Seconds_Behind_Master",
		}},
	} {
		t.Run(c.version, func(t *testing.T) {
			d := dialectOf(t, c.version)
			got := []string{
				d.showChannels(), d.replication("STOP", ioThread, ""), d.replication("RESET", bothThreads, "c"),
				d.changeSource(options), d.changeSource(rejoining), d.changeSource(withTLS),
				d.waitForGTID("u:1", 2*time.Second), d.logReplicaUpdates(),
				d.column("Source_Host") + " " + d.column("Replica_IO_Running") + " " + d.column("Seconds_Behind_Source"),
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func rowOf(values map[string]string) row {
	r := row{columns: map[string]int{}}
	for k, v := range values {
		r.columns[k] = len(r.values)
		r.values = append(r.values, Known(v))
	}
	return r
}

func TestChannelIsReadInOldAndNewSpelling(t *testing.T) {
	old := rowOf(map[string]string{
		"Master_Host": "db1", "Master_Port": "3306", "Slave_IO_Running": "Connecting", "Slave_SQL_Running": "Yes", "Last_IO_Errno": "2003",
		"Seconds_Behind_Master": "7", "Auto_Position": "1", "Replicate_Do_DB": "app", "Master_UUID": "ABC", "SQL_Delay": "3600",
		"Master_SSL_Allowed": "Yes", "Connect_Retry": "60",
	})
	renamed := map[string]string{}
	for k, i := range old.columns {
		renamed[strings.NewReplacer("Master", "Source", "Slave", "Replica").Replace(k)] = old.values[i].Or("")
	}
	a, errA := dialectOf(t, "5.7.44").channel(old)
	b, errB := dialectOf(t, "8.4.0").channel(rowOf(renamed))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if diff := cmp.Diff(asJSON(t, a), asJSON(t, b)); diff != "" {
		t.Errorf("the spellings differ:\n%s", diff)
	}
	if a.SourceHost != "db1" || a.IO != ThreadConnecting || a.IOErrno != 2003 || a.Lag.Or(0) != 7*time.Second || a.Delay != time.Hour ||
		a.SourceUUID != "abc" || !a.TLS.Enabled || len(a.Filters) != 1 || a.Filters[0] != "replicate_do_db=app" || a.Retry != time.Minute {
		t.Errorf("%+v", a)
	}
}

func TestLagOfNULLIsUnknownAndNotZero(t *testing.T) {
	r := rowOf(map[string]string{"Replica_IO_Running": "No", "Replica_SQL_Running": "No", "Seconds_Behind_Source": ""})
	r.values[r.columns["Seconds_Behind_Source"]] = Fact[string]{}
	c, err := dialectOf(t, "8.4.0").channel(r)
	if err != nil || c.Lag.IsKnown() {
		t.Errorf("lag %v, %v", c.Lag, err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestQuotingIsUndoneByTheServersRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		quoted := quote(in)
		inner := quoted[1 : len(quoted)-1]
		var out strings.Builder
		for i := 0; i < len(inner); i++ {
			c := inner[i]
			if c == '\'' {
				t.Fatalf("bare quote in %s", quoted)
			}
			if c == '\\' {
				i++
				c = map[byte]byte{'0': 0, 'n': '\n', 'r': '\r', 'Z': 0x1a, '\\': '\\', '\'': '\''}[inner[i]]
			}
			out.WriteByte(c)
		}
		if out.String() != in {
			t.Fatalf("%q became %q", in, out.String())
		}
	})
}

func TestWordsParseBack(t *testing.T) {
	for r := ReadOnlyUnknown; r <= ReadOnlyNoLockNoAdmin; r++ {
		if got, err := ParseReadOnly(r.String()); err != nil || got != r {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	for th := ThreadUnknown; th <= ThreadYes; th++ {
		if got, err := ParseThreadState(th.String()); err != nil || got != th {
			t.Errorf("%v: %v, %v", th, got, err)
		}
	}
	for f := FlavourUnknown; f <= MariaDB; f++ {
		if got, err := ParseFlavour(f.String()); err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	for text, writable := range map[string]bool{"0": true, "OFF": true, "1": false, "ON": false, "NO_LOCK": false, "NO_LOCK_NO_ADMIN": false} {
		if r, err := ParseReadOnly(text); err != nil || r.Writable() != writable {
			t.Errorf("read_only %s: writable %v, %v", text, r.Writable(), err)
		}
	}
}

func TestIOErrorsAreClassifiedByNumber(t *testing.T) {
	for errno, want := range map[int]failover.Vote{
		0: failover.VoteUnknown, 2002: failover.VoteLost, 2003: failover.VoteLost, 2013: failover.VoteLost, 2005: failover.VoteUnknown,
		2026: failover.VoteUnknown, 1040: failover.VoteSees, 1045: failover.VoteSees, 1236: failover.VoteSees, 3032: failover.VoteSees,
		3118: failover.VoteSees, 4151: failover.VoteSees, 13114: failover.VoteSees, 13120: failover.VoteSees, 1597: failover.VoteSees,
	} {
		if got := ClassifyIOErrno(errno); got != want {
			t.Errorf("%d is %v, want %v", errno, got, want)
		}
	}
}

func TestErrorsAreOneLineWithNumberAndHintAndNoPassword(t *testing.T) {
	err := newError("connect", "db1", &driver.MySQLError{Number: 1045, Message: "Access denied for user 'x'"}, "")
	const want = "db1: connect: server error 1045: Access denied for user 'x'; check user and password, or whether the server demands TLS"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	wrapped := errors.Join(errors.New("first"), err)
	if Number(wrapped) != 1045 {
		t.Errorf("number %d", Number(wrapped))
	}
	for _, my := range []*driver.MySQLError{{Number: 1064, Message: "near 'hun'"}, {Number: 1, Message: "x hunter2 y"}} {
		if text := newError("change source", "db1", my, "hunter2").Error(); strings.Contains(text, "hun") {
			t.Errorf("password shown: %s", text)
		}
	}
}

func TestOnlyClientsAreKilled(t *testing.T) {
	for _, c := range []struct {
		user, command string
		want          bool
	}{
		{"app", "Sleep", true}, {"root", "Query", true}, {"system user", "Slave_SQL", false}, {"event_scheduler", "Daemon", false},
		{"repl", "Binlog Dump", false}, {"repl", "Binlog Dump GTID", false}, {"x", "Daemon", false},
	} {
		if got := (Process{User: c.user, Command: c.command}).Client(); got != c.want {
			t.Errorf("%s %s is a client: %v", c.user, c.command, got)
		}
	}
}
