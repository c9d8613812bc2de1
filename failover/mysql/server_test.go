package mysql

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/gtid"
	"failwise/failover/sandbox"
)

func TestRealServers(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, map[string]func(*testing.T, lab){
		"status tells who a server is and whom it follows":           statusOfPrimaryAndReplica,
		"a watching user can read the status":                        statusAsMonitor,
		"a missing grant degrades the fact and not the node":         statusWithoutGrants,
		"a proving write arrives at a replica by its GTID":           proveAndWait,
		"waiting for what does not come ends at its limit":           waitTimesOut,
		"a blocked read_only is pending until it is cancelled":       pendingReadOnly,
		"killing clients spares replicas and ourselves":              killClients,
		"a change of source keeps every other option":                changeSourceKeepsOptions,
		"a demoted primary becomes a replica with given credentials": rejoin,
		"starving starts a stopped SQL thread and loses nothing":     starveKeepsReceived,
		"a lock that would hang a promotion is found":                findLocks,
		"purged transactions are known":                              findPurged,
		"a killed session connects again on demand":                  reconnect,
		"an error of a statement with a password does not show it":   secretStaysSecret,
		"MySQL's offline mode and super_read_only fence":             fence,
		"set algebra agrees with the server's functions":             algebra,
		"open transactions are listed by age":                        transactions,
	})
}

func statusOfPrimaryAndReplica(t *testing.T, l lab) {
	primary, replica := l.status(t, l.act(t, 0)), l.status(t, l.act(t, 1))
	if !primary.Writable() || replica.Writable() {
		t.Errorf("writable: primary %v, replica %v", primary.Writable(), replica.Writable())
	}
	if primary.ServerID != l.Node(0).ServerID() || primary.Port != l.Node(0).Port() || !strings.HasPrefix(l.Version(), fmt.Sprintf("%d.%d.", primary.Version.Major, primary.Version.Minor)) {
		t.Errorf("identity: %+v", primary)
	}
	if channels, known := primary.Channels.Get(); !known || len(channels) != 0 {
		t.Errorf("the primary has channels: %v %v", channels, known)
	}
	channels, known := replica.Channels.Get()
	if !known || len(channels) != 1 {
		t.Fatalf("the replica's channels: %v %v", channels, known)
	}
	c := channels[0]
	if c.SourceHost != l.Node(0).Host() || c.SourcePort != l.Node(0).Port() || c.IO != ThreadYes || c.SQL != ThreadYes ||
		!c.AutoPosition || c.SourceServerID != primary.ServerID || c.SourceUUID != primary.ServerUUID || c.Delay != 0 || len(c.Filters) != 0 {
		t.Errorf("channel: %+v", c)
	}
	if lag, known := c.Lag.Get(); !known || lag > time.Minute {
		t.Errorf("lag %v %v", lag, known)
	}
	if period, known := c.HeartbeatPeriod.Get(); !known || period != time.Second {
		t.Errorf("heartbeat period %v %v, want 1s", period, known)
	}
	if !primary.LogBin || !replica.LogReplicaUpdates || replica.GTIDMode != "ON" {
		t.Errorf("settings: %+v", replica)
	}
	if got := replica.Progress().Compare(primary.Progress(), gtid.Set{}); got != gtid.Equal {
		t.Errorf("replica %+v is %v of primary %+v", replica.Progress(), got, primary.Progress())
	}
	if errant := replica.Progress().Errant(primary.Progress(), primary.ServerUUID, primary.ServerID); !errant.IsEmpty() {
		t.Errorf("errant: %s", errant)
	}
}

func statusAsMonitor(t *testing.T, l lab) {
	l.status(t, l.open(t, l.server(t, l.Node(1), l.Accounts().Monitor)))
}

func statusWithoutGrants(t *testing.T, l lab) {
	s := l.open(t, l.server(t, l.Node(1), l.Accounts().App))
	st, err := s.Status(within(t, 5*time.Second))
	ok(t, "status", err)
	if st.Channels.IsKnown() || len(st.Unknown) == 0 {
		t.Errorf("channels known: %v, unknown: %v", st.Channels.IsKnown(), st.Unknown)
	}
	if st.ServerID != l.Node(1).ServerID() || st.ReadOnly != ReadOnlyOn {
		t.Errorf("plain facts: %+v", st)
	}
}

func proveAndWait(t *testing.T, l lab) {
	primary, replica := l.act(t, 0), l.act(t, 1)
	for range 5 {
		position, err := primary.Prove(within(t, 5*time.Second), 77)
		ok(t, "prove", err)
		reached, err := replica.WaitForGTID(within(t, 10*time.Second), position, 9*time.Second)
		ok(t, "wait", err)
		if !reached {
			t.Fatalf("%s never came", position)
		}
	}
	if l.isMariaDB() {
		return // the acting user passes read_only there, and the write would be errant
	}
	const readOnly = 1290
	if _, err := replica.Prove(within(t, 5*time.Second), 77); Number(err) != readOnly {
		t.Errorf("proving on a replica: %v, want error %d", err, readOnly)
	}
}

func waitTimesOut(t *testing.T, l lab) {
	never := "0-999-999999"
	if !l.isMariaDB() {
		never = "00000000-0000-0000-0000-000000000001:1"
	}
	reached, err := l.act(t, 1).WaitForGTID(within(t, 10*time.Second), never, 200*time.Millisecond)
	if err != nil || reached {
		t.Errorf("reached %v, %v; want false", reached, err)
	}
}

func pendingReadOnly(t *testing.T, l lab) {
	s := l.act(t, 0)
	l.root(t, 0, "CREATE TABLE IF NOT EXISTS app.held (id INT)")
	_, release := l.hold(t, 0, "LOCK TABLES app.held WRITE")
	err := s.SetReadOnly(within(t, 300*time.Millisecond), true)
	if !errors.Is(err, ErrPending) {
		t.Fatalf("set read_only behind a lock: %v, want ErrPending", err)
	}
	if _, _, pending := s.Pending(); !pending {
		t.Error("nothing is pending")
	}
	if _, err := s.ReadFlags(within(t, 100*time.Millisecond)); !errors.Is(err, ErrBusy) {
		t.Errorf("second statement: %v, want ErrBusy", err)
	}
	const interrupted = 1317
	if err := s.Cancel(within(t, 5*time.Second)); Number(err) != interrupted {
		t.Errorf("cancel: %v, want error %d", err, interrupted)
	}
	flags, err := s.ReadFlags(within(t, 5*time.Second))
	if err != nil || !flags.Open() {
		t.Errorf("flags after cancel: %+v, %v", flags, err)
	}
	release()
}

func killClients(t *testing.T, l lab) {
	s := l.act(t, 0)
	app := l.server(t, l.Node(0), l.Accounts().App)
	victim := l.open(t, app)
	spared := l.open(t, app)
	killed, err := s.KillClients(within(t, 5*time.Second), spared.ConnectionID())
	ok(t, "kill", err)
	if killed < 1 {
		t.Errorf("killed %d", killed)
	}
	before := victim.ConnectionID()
	if _, err := victim.scalar(within(t, 5*time.Second), "test", "SELECT 1"); err == nil && victim.ConnectionID() == before {
		t.Error("the victim lives")
	}
	if _, err := spared.scalar(within(t, 5*time.Second), "test", "SELECT 1"); err != nil {
		t.Errorf("the spared one: %v", err)
	}
	c := l.channel(t, l.act(t, 1))
	if c.IO != ThreadYes {
		t.Errorf("the replica's IO thread is %v", c.IO)
	}
}

func findLocks(t *testing.T, l lab) {
	s := l.act(t, 1)
	statements := map[string]string{"FLUSH TABLES WITH READ LOCK": "global read lock", "LOCK INSTANCE FOR BACKUP": "backup lock"}
	if l.isMariaDB() {
		if _, err := l.Node(1).Root().ExecContext(within(t, 5*time.Second), "INSTALL SONAME 'metadata_lock_info'"); err != nil {
			if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
				t.Fatal(err)
			}
			t.Skipf("the metadata_lock_info plugin is not here: %v", err)
		}
		defer l.root(t, 1, "UNINSTALL SONAME 'metadata_lock_info'")
		delete(statements, "LOCK INSTANCE FOR BACKUP")
	}
	if locks, known, err := s.Locks(within(t, 5*time.Second)); err != nil || !known || len(locks) != 0 {
		t.Fatalf("without a lock: %v %v %v", locks, known, err)
	}
	for statement, kind := range statements {
		conn, release := l.hold(t, 1, statement)
		_ = conn
		locks, known, err := s.Locks(within(t, 5*time.Second))
		if err != nil || !known || len(locks) != 1 || locks[0].Kind != kind || locks[0].Session == 0 {
			t.Errorf("%s: %v %v %v", statement, locks, known, err)
		}
		if len(locks) == 1 {
			ok(t, "kill the holder", s.Kill(within(t, 5*time.Second), locks[0].Session))
		}
		release()
		await(t, "the lock is gone", func() bool {
			locks, _, err := s.Locks(within(t, 5*time.Second))
			return err == nil && len(locks) == 0
		})
	}
}

func findPurged(t *testing.T, l lab) {
	s := l.act(t, 1)
	position, err := l.act(t, 0).Prove(within(t, 5*time.Second), 80)
	ok(t, "prove", err)
	if reached, err := s.WaitForGTID(within(t, 10*time.Second), position, 9*time.Second); err != nil || !reached {
		t.Fatal(reached, err)
	}
	l.root(t, 1, "FLUSH BINARY LOGS")
	rows, err := s.run(within(t, 5*time.Second), "test", "SHOW BINARY LOGS", "")
	ok(t, "list logs", err)
	await(t, "the logs can be purged", func() bool {
		l.root(t, 1, "PURGE BINARY LOGS TO '"+rows[len(rows)-1].text("Log_name")+"'")
		if !l.isMariaDB() {
			return !l.status(t, s).Purged.IsEmpty()
		}
		text, err := s.PurgedPosition(within(t, 5*time.Second))
		ok(t, "purged position", err)
		return text != ""
	})
	st := l.status(t, s)
	if l.isMariaDB() {
		text, _ := s.PurgedPosition(within(t, 5*time.Second))
		purged, err := gtid.ParsePosition(text)
		if err != nil || !st.Progress().Applied.Reaches(purged) {
			t.Errorf("purged %q, %v; applied %s", text, err, st.Progress().Applied)
		}
	} else if !st.Executed.Contains(st.Purged) {
		t.Errorf("purged %s", st.Purged)
	}
}

func TestFullServerIsReachedByItsAdminPort(t *testing.T) {
	onBothFlavours(t, sandbox.Options{AdminPort: true, Nodes: 1}, map[string]func(*testing.T, lab){
		"full": func(t *testing.T, l lab) {
			sandbox.Break(t, "full", l.Node(0))
			server := l.server(t, l.Node(0), l.Accounts().Act)
			admin, err := check.ParseAddress(l.Node(0).AdminAddress(), 3306)
			ok(t, "admin address", err)
			server.AdminPort = admin.Port()
			// One session above the limit is kept for administrators: it may be free.
			first, second := l.open(t, server), l.open(t, server)
			l.status(t, first)
			l.status(t, second)
			if !first.ViaAdminPort() && !second.ViaAdminPort() {
				t.Error("neither session went to the admin port")
			}
		},
	})
}

func reconnect(t *testing.T, l lab) {
	s, killer := l.act(t, 1), l.act(t, 1)
	before := s.ConnectionID()
	ok(t, "kill", killer.Kill(within(t, 5*time.Second), before))
	_, _ = s.scalar(within(t, 5*time.Second), "test", "SELECT 1") // may meet the dead connection
	l.status(t, s)
	if s.ConnectionID() == before {
		t.Error("still the killed session")
	}
}

func secretStaysSecret(t *testing.T, l lab) {
	const secret = "s3cr'et\\pass"
	s := l.act(t, 1) // its threads run: the change is refused
	err := s.ChangeSource(within(t, 5*time.Second), SourceOptions{Host: "h", Port: 1, User: "u", Password: check.NewSecret(secret)})
	if err == nil || strings.Contains(err.Error(), "s3cr") {
		t.Errorf("got %v", err)
	}
	_, err = s.run(within(t, 5*time.Second), "test", "CHANGE NOTHING TO '"+"s3cret"+"'", "s3cret")
	if Number(err) != 1064 || strings.Contains(err.Error(), "s3c") {
		t.Errorf("got %v", err)
	}
	server := l.server(t, l.Node(1), l.Accounts().Act)
	server.Secret = check.NewSecret("wrong-s3cret")
	if _, err := Open(within(t, 5*time.Second), server); Number(err) != 1045 || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func fence(t *testing.T, l lab) {
	s := l.act(t, 0)
	flavour := MariaDB
	if !l.isMariaDB() {
		flavour = MySQL
		ok(t, "offline", s.SetOfflineMode(within(t, 5*time.Second), true))
	} else if err := s.SetOfflineMode(within(t, 5*time.Second), true); !errors.Is(err, ErrUnsupported) {
		t.Errorf("offline_mode on MariaDB: %v", err)
	}
	ok(t, "read-only", s.SetReadOnlyFirmly(within(t, 5*time.Second)))
	flags, err := s.ReadFlags(within(t, 5*time.Second))
	if err != nil || !flags.Fenced(flavour) || flags.Open() {
		t.Errorf("flags %+v, %v", flags, err)
	}
	if !l.isMariaDB() {
		ok(t, "online", s.SetOfflineMode(within(t, 5*time.Second), false))
	}
	ok(t, "open", s.SetReadOnly(within(t, 5*time.Second), false))
	flags, err = s.ReadFlags(within(t, 5*time.Second))
	if err != nil || flags.Fenced(flavour) || !flags.Open() {
		t.Errorf("flags %+v, %v", flags, err)
	}
	for i := 1; i <= 2; i++ { // offline mode has dropped the replicas
		replica := l.act(t, i)
		await(t, "connected again", func() bool {
			_, err := replica.Wake(within(t, 10*time.Second), "")
			ok(t, "wake", err)
			return l.channel(t, replica).IO == ThreadYes
		})
	}
}

func transactions(t *testing.T, l lab) {
	s := l.act(t, 0)
	_, release := l.hold(t, 0, "START TRANSACTION", "INSERT INTO app.ledger (id, node) VALUES (-1, 'open')")
	defer release()
	await(t, "the open transaction shows", func() bool {
		list, err := s.Transactions(within(t, 5*time.Second), time.Second)
		ok(t, "list", err)
		return len(list) == 1 && list[0].Age >= time.Second && list[0].ProcessID != 0
	})
}
