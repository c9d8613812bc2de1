package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/gtid"
	"failwise/failover/sandbox"
)

// lab is a running cluster with what the cases of one test need.
type lab struct {
	*sandbox.Cluster
}

// onBothFlavours runs the cases one after the other on one cluster a flavour.
// Each case leaves the cluster as it found it.
func onBothFlavours(t *testing.T, o sandbox.Options, cases map[string]func(*testing.T, lab)) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(flavour.String(), func(t *testing.T) {
			o.Flavour = flavour
			l := lab{sandbox.ForTest(t, o)}
			for name, run := range cases {
				t.Run(name, func(t *testing.T) { run(t, l) })
				if t.Failed() {
					return // the cluster may be left in any state
				}
			}
		})
	}
}

func (l lab) isMariaDB() bool { return l.Flavour() == sandbox.MariaDB }

// server is how an account reaches a node.
func (l lab) server(t *testing.T, n *sandbox.Node, a sandbox.Account) check.Server {
	t.Helper()
	address, err := check.ParseAddress(n.Address(), 3306)
	if err != nil {
		t.Fatal(err)
	}
	return check.Server{Name: n.Name(), Address: address, User: a.User, Secret: check.NewSecret(a.Password)}
}

// act is an acting session that ends with the test.
func (l lab) act(t *testing.T, i int) *Session {
	t.Helper()
	return l.open(t, l.server(t, l.Node(i), l.Accounts().Act))
}

func (l lab) open(t *testing.T, server check.Server) *Session {
	t.Helper()
	s, err := Open(within(t, 5*time.Second), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// root runs statements as root on a node.
func (l lab) root(t *testing.T, i int, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := l.Node(i).Root().ExecContext(within(t, 20*time.Second), statement); err != nil {
			t.Fatalf("%s: %s: %v", l.Node(i).Name(), statement, err)
		}
	}
}

// hold runs statements as root on a connection of their own and keeps it.
func (l lab) hold(t *testing.T, i int, statements ...string) (conn *sql.Conn, release func()) {
	t.Helper()
	conn, err := l.Node(i).Root().Conn(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(within(t, 10*time.Second), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	released := false
	release = func() {
		if !released {
			released = true
			_ = conn.Raw(func(any) error { return errors.New("close it") })
			_, _ = conn.ExecContext(context.Background(), "UNLOCK TABLES")
			_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
			_ = conn.Close()
		}
	}
	t.Cleanup(release)
	return conn, release
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), d)
	t.Cleanup(cancel)
	return ctx
}

func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// await polls until done, failing after 20 s.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

func (l lab) channel(t *testing.T, s *Session) Channel {
	t.Helper()
	c, err := s.channel(within(t, 5*time.Second), "test", "")
	ok(t, "read channel", err)
	return c
}

func (l lab) status(t *testing.T, s *Session) Status {
	t.Helper()
	st, err := s.Status(within(t, 5*time.Second))
	ok(t, "read status", err)
	if len(st.Unknown) > 0 {
		t.Fatalf("unknown facts: %v", st.Unknown)
	}
	return st
}

// running waits until both threads of the replica run.
func (l lab) running(t *testing.T, s *Session) {
	t.Helper()
	await(t, "both threads run", func() bool {
		c := l.channel(t, s)
		return c.IO == ThreadYes && c.SQL == ThreadYes
	})
}

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
	ok(t, "start IO", replica.StartIO(within(t, 5*time.Second), ""))
	l.running(t, replica)
}

func findLocks(t *testing.T, l lab) {
	s := l.act(t, 1)
	statements := map[string]string{"FLUSH TABLES WITH READ LOCK": "global read lock", "LOCK INSTANCE FOR BACKUP": "backup lock"}
	if l.isMariaDB() {
		if _, err := l.Node(1).Root().ExecContext(within(t, 5*time.Second), "INSTALL SONAME 'metadata_lock_info'"); err != nil {
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

func TestVotesOfRealReplicas(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, map[string]func(*testing.T, lab){
		"a living primary is seen, with and without a bounce": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteSees)
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteSees)
			if !b.Bounced || b.LeftStopped {
				t.Errorf("%+v", b)
			}
			l.running(t, s)
		},
		"a replica with a stopped SQL thread is never bounced": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			ok(t, "stop SQL", s.StopSQL(within(t, 5*time.Second), ""))
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteUnknown)
			if b.Bounced || l.channel(t, s).IO != ThreadYes {
				t.Errorf("%+v", b)
			}
			ok(t, "start SQL", s.StartSQL(within(t, 5*time.Second), ""))
		},
		"an IO thread stopped by an operator knows nothing": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			ok(t, "stop IO", s.StopIO(within(t, 5*time.Second), ""))
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteUnknown)
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteUnknown)
			if b.Bounced {
				t.Errorf("%+v", b)
			}
			ok(t, "start IO", s.StartIO(within(t, 5*time.Second), ""))
			l.running(t, s)
		},
		"a server error comes from a living primary": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			locked := "ALTER USER '" + l.Accounts().Repl.User + "'@'%' ACCOUNT LOCK"
			unlocked := strings.Replace(locked, " LOCK", " UNLOCK", 1)
			l.root(t, 0, "SET GLOBAL read_only=OFF", locked)
			b := s.Bounce(within(t, 10*time.Second), "")
			l.root(t, 0, unlocked)
			vote(t, b, failover.VoteSees)
			if b.Channel.IOErrno != 3118 && b.Channel.IOErrno != 4151 {
				t.Errorf("errno %d", b.Channel.IOErrno)
			}
			l.wakeAll(t)
		},
		"a frozen primary is lost": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			active := sandbox.Break(t, "freeze", l.Node(0))
			look := s.Look(within(t, 10*time.Second), VoteOptions{}) // heartbeats stop
			b := s.Bounce(within(t, 15*time.Second), "")
			ok(t, "heal", active.Heal(context.Background()))
			vote(t, look, failover.VoteLost)
			vote(t, b, failover.VoteLost)
			l.wakeAll(t)
		},
		"a killed primary is lost without a bounce": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteSees)
			connected := time.Now()
			active := sandbox.Break(t, "kill", l.Node(0))
			b := s.Look(within(t, 10*time.Second), VoteOptions{Connected: connected})
			bounced := s.Bounce(within(t, 10*time.Second), "")
			ok(t, "heal", active.Heal(context.Background()))
			vote(t, b, failover.VoteLost)
			vote(t, bounced, failover.VoteLost)
			t.Logf("look took %s, bounce %s", b.Took, bounced.Took)
			l.wakeAll(t)
		},
	})
}

func (l lab) wakeAll(t *testing.T) {
	t.Helper()
	for i := 1; i < len(l.Nodes()); i++ {
		s := l.act(t, i)
		await(t, "connected again", func() bool {
			_, err := s.Wake(within(t, 10*time.Second), "")
			ok(t, "wake", err)
			return l.channel(t, s).IO == ThreadYes
		})
	}
}

func vote(t *testing.T, b Ballot, want failover.Vote) {
	t.Helper()
	t.Logf("%s in %s: %s", b.Vote, b.Took.Round(time.Millisecond), b.Evidence)
	if b.Vote != want {
		t.Errorf("vote %s, want %s: %+v", b.Vote, want, b)
	}
}
