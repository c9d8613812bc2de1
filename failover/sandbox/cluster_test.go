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
