//go:build linux

package realtest

import (
	"strings"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

func testStatementLimits(t *testing.T, b bed) {
	t.Run("a locked table", func(t *testing.T) {
		execute(t, b.primary, "CREATE TABLE failwise.locked (id INT PRIMARY KEY)", "GRANT SELECT ON failwise.locked TO 'fw_monitor'@'%'")
		undo(t, b.primary, "DROP TABLE failwise.locked")
		conn, err := b.primary.Root().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES failwise.locked WRITE"); err != nil {
			t.Fatal(err)
		}
		p := b.prober(t, b.primary, check.Connect, check.Options{Query: "SELECT COUNT(*) FROM failwise.locked", Limits: check.Limits{Total: time.Second}})
		expect(t, p.Probe(t.Context()), rules.QueryExecTimeout, 0)
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("max_execution_time", func(t *testing.T) {
		query := "SET STATEMENT max_statement_time=0.1 FOR SELECT SLEEP(3)"
		if b.Flavour() == sandbox.MySQL {
			query = "SELECT /*+ MAX_EXECUTION_TIME(100) */ COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c"
		}
		number(t, b.prober(t, b.primary, check.Connect, check.Options{Query: query}).Probe(t.Context()), rules.QueryExecTimeout, 1969, 3024)
	})
	t.Run("an abandoned statement ends by itself", func(t *testing.T) {
		query := "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c"
		p := b.prober(t, b.primary, check.Connect, check.Options{Query: query, Limits: check.Limits{Total: 500 * time.Millisecond}})
		expect(t, p.Probe(t.Context()), rules.QueryExecTimeout, 0)
		deadline := time.Now().Add(10 * time.Second)
		for len(sessions(t, b.primary)) > 0 {
			if time.Now().After(deadline) {
				t.Fatal("the statement still runs")
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Run("wrong statement", func(t *testing.T) {
		number(t, b.prober(t, b.primary, check.Connect, check.Options{Query: "SELECT nothing"}).Probe(t.Context()), rules.QueryExecutionFailed, 1054)
	})
	t.Run("larger than the server takes", func(t *testing.T) {
		execute(t, b.primary, "SET GLOBAL max_allowed_packet=1048576")
		undo(t, b.primary, "SET GLOBAL max_allowed_packet=16777216")
		query := "SELECT '" + strings.Repeat("x", 2<<20) + "'"
		r := b.prober(t, b.primary, check.Connect, check.Options{Query: query}).Probe(t.Context())
		expect(t, r, rules.QueryTooLarge, 0)
	})
}

func testLargeAnswers(t *testing.T, b bed) {
	// More than the 16 KB that both servers collect before they send.
	query := "SELECT REPEAT('x', 2000), SLEEP(0.05) FROM (WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n+1 FROM r WHERE n<200) SELECT n FROM r) t"
	p := b.prober(t, b.primary, check.Connect, check.Options{Query: query, Limits: check.Limits{Total: 2 * time.Second}})
	expect(t, inTime(t, 2*time.Second, func() check.Result { return p.Probe(t.Context()) }), rules.QueryResultsTimeout, 0)
}

func testOfflineMode(t *testing.T, b bed) {
	if b.Flavour() != sandbox.MySQL {
		t.Skip("MariaDB has no offline mode")
	}
	held := b.prober(t, b.primary, check.Select, check.Options{})
	expect(t, held.Probe(t.Context()), rules.OK, 0)
	execute(t, b.primary, "SET GLOBAL offline_mode=ON")
	undo(t, b.primary, "SET GLOBAL offline_mode=OFF")
	number(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.MySQLError, 3032)
	number(t, held.Probe(t.Context()), rules.MySQLError, 3032)
}
