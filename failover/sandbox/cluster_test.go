package sandbox_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"failwise/failover/sandbox"
)

// eachFlavour runs a test on every flavour, one after the other.
func eachFlavour(t *testing.T, test func(t *testing.T, f sandbox.Flavour)) {
	for _, f := range sandbox.Flavours() {
		t.Run(f.String(), func(t *testing.T) { test(t, f) })
	}
}

func connect(t *testing.T, config *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestClusterReplicatesAndKnowsItsAccounts(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f sandbox.Flavour) {
		begin := time.Now()
		c := sandbox.ForTest(t, sandbox.Options{Flavour: f, SemiSync: true})
		t.Logf("three %s %s nodes up in %s", f, c.Version(), time.Since(begin))
		ctx := t.Context()
		for _, account := range []sandbox.Account{c.Accounts().Monitor, c.Accounts().Act, c.Accounts().App} {
			for _, n := range c.Nodes() {
				if err := connect(t, n.Config(account)).PingContext(ctx); err != nil {
					t.Errorf("%s on %s: %v", account, n.Name(), err)
				}
			}
		}
		monitor := connect(t, c.Node(0).Config(c.Accounts().Monitor))
		if _, err := monitor.ExecContext(ctx, "INSERT INTO failwise.heartbeat (id,ts) VALUES (7, NOW(3))"); err != nil {
			t.Fatal(err)
		}
		if err := c.AwaitSync(ctx, c.Node(0)); err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Nodes()[1:] {
			var rows int
			if err := n.Root().QueryRowContext(ctx, "SELECT COUNT(*) FROM failwise.heartbeat").Scan(&rows); err != nil || rows != 2 {
				t.Errorf("%s has %d rows, want 2 (error: %v)", n.Name(), rows, err)
			}
			status, err := n.Replication(ctx)
			if err != nil || status.Source != c.Node(0).Address() || status.IO != "Yes" || status.SQL != "Yes" {
				t.Errorf("%s replicates as %+v (error: %v)", n.Name(), status, err)
			}
			if _, err := connect(t, n.Config(c.Accounts().App)).ExecContext(ctx, "INSERT INTO app.ledger VALUES (1,'x')"); err == nil {
				t.Errorf("%s takes writes", n.Name())
			}
		}
	})
}

func TestPerformanceSchemaTellsWhatTopologyReads(t *testing.T) {
	c := sandbox.ForTest(t, sandbox.Options{Flavour: sandbox.MySQL, Nodes: 2, AdminPort: true})
	ctx := t.Context()
	sandbox.Break(t, "locked", c.Node(1))
	for query, n := range map[string]*sandbox.Node{
		"SELECT COUNT(*) FROM performance_schema.replication_connection_status WHERE SERVICE_STATE='ON'":                       c.Node(1),
		"SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE='ON'":                          c.Node(1),
		"SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_TYPE='GLOBAL' AND LOCK_DURATION='EXPLICIT'":       c.Node(1),
		"SELECT COUNT(*) FROM performance_schema.processlist WHERE COMMAND='Binlog Dump GTID'":                                 c.Node(0),
		"SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND='Query' AND PROCESSLIST_ID=CONNECTION_ID()": c.Node(0),
		"SELECT COUNT(*) FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'":                                   c.Node(0),
	} {
		config := n.Config(c.Accounts().Act) // who has PROCESS
		config.Addr = n.AdminAddress()
		var rows int
		if err := connect(t, config).QueryRowContext(ctx, query).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%s on %s: %d, want 1 (error: %v)", query, n.Name(), rows, err)
		}
	}
}

func TestSemiSyncAndAdminPort(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f sandbox.Flavour) {
		c := sandbox.ForTest(t, sandbox.Options{Flavour: f, Nodes: 2, SemiSync: true, AdminPort: true})
		pattern := "Rpl_semi_sync_source_clients"
		if f == sandbox.MariaDB {
			pattern = "Rpl_semi_sync_master_clients"
		}
		eventually(t, "the replica acknowledges", func() bool {
			var name string
			var clients int
			if err := c.Node(0).Root().QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+pattern+"'").Scan(&name, &clients); err != nil {
				t.Fatal(err)
			}
			return clients == 1
		})
		config := c.Node(0).Config(c.Accounts().Act)
		config.Addr = c.Node(0).AdminAddress()
		sandbox.Break(t, "full", c.Node(0))
		if err := connect(t, config).PingContext(t.Context()); err != nil {
			t.Errorf("the admin port of a full server: %v", err)
		}
	})
}
