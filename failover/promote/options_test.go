package promote_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"failwise/failover/lock"
	"failwise/failover/sandbox"
)

// options are the settings of a node's channel as the server shows them, without
// what says where the source is and how far replication has come.
func (l *lab) options(n *sandbox.Node) map[string]string {
	l.t.Helper()
	query := "SHOW ALL SLAVES STATUS"
	if l.Flavour() == sandbox.MySQL {
		query = "SELECT * FROM performance_schema.replication_connection_configuration JOIN performance_schema.replication_applier_configuration USING (CHANNEL_NAME)"
	}
	rows, err := n.Root().QueryContext(bounded(l.t), query)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		l.t.Fatal(err)
	}
	found := map[string]string{}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new([]byte)
		}
		if err := rows.Scan(values...); err != nil {
			l.t.Fatal(err)
		}
		for i, name := range columns {
			found[name] = string(*values[i].(*[]byte))
		}
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
	for name := range found {
		if l.Flavour() == sandbox.MariaDB && !keptOnMariaDB(name) || name == "HOST" || name == "PORT" {
			delete(found, name)
		}
	}
	return found
}

func keptOnMariaDB(column string) bool {
	for _, prefix := range []string{"Connection_name", "Master_User", "Connect_Retry", "Replicate_", "Master_SSL_", "Master_Bind", "Using_Gtid", "SQL_Delay", "Slave_heartbeat_period", "Parallel_Mode"} {
		if strings.HasPrefix(column, prefix) {
			return true
		}
	}
	return false
}

func (l *lab) allOptions() map[string]map[string]string {
	l.t.Helper()
	all := map[string]map[string]string{}
	for _, n := range l.Nodes()[1:] {
		all[n.Name()] = l.options(n)
	}
	return all
}

func differ(before, after map[string]string) string {
	var changed []string
	for _, name := range sorted(before) {
		if before[name] != after[name] {
			changed = append(changed, fmt.Sprintf("%s was %q, is %q", name, before[name], after[name]))
		}
	}
	return strings.Join(changed, "; ")
}

func TestRepointKeepsTheChannelsOptions(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true, HeartbeatPeriod: 1500 * time.Millisecond})
		change := []string{"STOP SLAVE", "CHANGE MASTER TO MASTER_CONNECT_RETRY=7, MASTER_DELAY=1, IGNORE_SERVER_IDS=(4242), MASTER_HEARTBEAT_PERIOD=1.5", "START SLAVE"}
		if flavour == sandbox.MySQL {
			change = []string{"STOP REPLICA", "CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY=7, SOURCE_RETRY_COUNT=9, SOURCE_DELAY=1, SOURCE_HEARTBEAT_PERIOD=1.5, " +
				"SOURCE_COMPRESSION_ALGORITHMS='zstd,uncompressed', SOURCE_SSL=1, REQUIRE_ROW_FORMAT=1", "START REPLICA"}
		}
		sqlExec(t, l.Node(2), change...)
		before := l.options(l.Node(2))
		if len(before) < 8 {
			t.Fatalf("only %d options are compared: %v", len(before), before)
		}
		l.look()
		sandbox.Break(t, "kill", l.Node(0))
		result, primary := l.promoteFrom("db1")
		if primary != l.Node(1) || len(result.Unpointed()) > 0 {
			t.Fatalf("promoted %s, %+v", primary.Name(), result.Siblings)
		}
		if diff := differ(before, l.options(l.Node(2))); diff != "" {
			t.Errorf("options changed: %s", diff)
		}
		for _, s := range result.Siblings {
			if len(s.Changed) > 0 {
				t.Errorf("%s is reported to have changed: %v", s.Node, s.Changed)
			}
		}
	})
}

// fakeLease is a lock that can be lost.
type fakeLease struct {
	mu   sync.Mutex
	lost bool
}

func (f *fakeLease) Token() lock.Token { return 5 }

func (f *fakeLease) Lost() <-chan struct{} { return nil }

func (f *fakeLease) Release(context.Context) error { return nil }

func (f *fakeLease) Check(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return lock.ErrLost
	}
	return nil
}

func (f *fakeLease) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = true
}
