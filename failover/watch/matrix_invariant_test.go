package watch

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/sandbox"
)

// What the invariants ask is asked as root over the sockets, with statements of
// their own: nothing here trusts the watcher.

// ask reads one value from a node.
func ask(ctx context.Context, n *sandbox.Node, query string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var value sql.NullString
	err := n.Root().QueryRowContext(ctx, query).Scan(&value)
	return value.String, err
}

// flags are what a node's global variables say.
type flags struct {
	readOnly, offline, semiSyncSource bool
}

func flagsOf(ctx context.Context, n *sandbox.Node, flavour sandbox.Flavour) (flags, error) {
	query := "SELECT CONCAT_WS(',', @@global.read_only, 0, @@global.rpl_semi_sync_master_enabled)"
	if flavour == sandbox.MySQL {
		query = "SELECT CONCAT_WS(',', @@global.super_read_only, @@global.offline_mode, @@global.rpl_semi_sync_source_enabled)"
	}
	text, err := ask(ctx, n, query)
	parts := strings.Split(text, ",")
	if err != nil || len(parts) != 3 {
		return flags{}, fmt.Errorf("flags of %s: %q: %w", n.Name(), text, err)
	}
	on := func(s string) bool { return s == "1" || s == "ON" }
	return flags{on(parts[0]), on(parts[1]), on(parts[2])}, nil
}

// extra returns what a node has executed and the primary has not; empty is nothing.
func extra(ctx context.Context, n, primary *sandbox.Node, flavour sandbox.Flavour) (string, error) {
	if flavour == sandbox.MySQL {
		mine, err := ask(ctx, n, "SELECT @@global.gtid_executed")
		if err != nil {
			return "", err
		}
		return ask(ctx, primary, fmt.Sprintf("SELECT GTID_SUBTRACT('%s', @@global.gtid_executed)", mine))
	}
	// The position hides what a replica wrote itself: the state has a last number
	// for each domain and server.
	var last [2]map[string]uint64
	for i, node := range []*sandbox.Node{n, primary} {
		text, err := ask(ctx, node, "SELECT @@global.gtid_binlog_state")
		if err != nil {
			return "", err
		}
		last[i] = map[string]uint64{}
		for entry := range strings.SplitSeq(text, ",") {
			if entry == "" {
				continue
			}
			cut := strings.LastIndex(entry, "-")
			var number uint64
			if _, err := fmt.Sscan(entry[cut+1:], &number); err != nil {
				return "", fmt.Errorf("gtid_binlog_state %q: %w", text, err)
			}
			last[i][entry[:cut]] = number
		}
	}
	var more []string
	for writer, number := range last[0] {
		if number > last[1][writer] {
			more = append(more, fmt.Sprintf("%s-%d…%d", writer, last[1][writer]+1, number))
		}
	}
	return strings.Join(more, ","), nil
}

// eventually asks until the answer is empty, and returns the last one.
func eventually(limit time.Duration, complaint func() string) string {
	for deadline := time.Now().Add(limit); ; {
		text := complaint()
		if text == "" || time.Now().After(deadline) {
			return text
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// followsComplaint says why a node is no sound replica of the primary; empty is none.
func followsComplaint(ctx context.Context, n, primary *sandbox.Node, flavour sandbox.Flavour) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := n.Replication(ctx)
	if err != nil {
		return err.Error()
	}
	if r.Source != primary.Address() || r.IO != "Yes" || r.SQL != "Yes" {
		return fmt.Sprintf("%s does not follow %s: %+v", n.Name(), primary.Name(), r)
	}
	f, err := flagsOf(ctx, n, flavour)
	switch {
	case err != nil:
		return err.Error()
	case !f.readOnly:
		return n.Name() + " is a writable replica"
	case f.offline:
		return n.Name() + " is a replica in offline_mode"
	case f.semiSyncSource:
		return n.Name() + " is a replica whose semi-sync source side is on: its applier would wait for acknowledgements"
	}
	more, err := extra(ctx, n, primary, flavour)
	switch {
	case err != nil:
		return err.Error()
	case more != "":
		return fmt.Sprintf("%s has transactions that %s does not have: %s", n.Name(), primary.Name(), more)
	}
	return ""
}

// primaryComplaint says what is half-done on the primary; empty is nothing.
func primaryComplaint(ctx context.Context, n *sandbox.Node, flavour sandbox.Flavour, followed bool) string {
	f, err := flagsOf(ctx, n, flavour)
	switch {
	case err != nil:
		return err.Error()
	case f.readOnly || f.offline:
		return fmt.Sprintf("the primary %s takes no writes: %+v", n.Name(), f)
	case followed && !f.semiSyncSource:
		return fmt.Sprintf("the primary %s has semi-sync off, which was on", n.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if r, err := n.Replication(ctx); err != nil || r.Source != "" {
		return fmt.Sprintf("the primary %s follows %q (%v)", n.Name(), r.Source, err)
	}
	return ""
}

// alike says where the ledgers of two nodes differ; empty is nowhere.
func alike(ctx context.Context, a, b *sandbox.Node) string {
	const sum = "SELECT CONCAT(COUNT(*), ' rows, sum ', COALESCE(SUM(id), 0)) FROM app.ledger"
	mine, err := ask(ctx, a, sum)
	if err != nil {
		return err.Error()
	}
	its, err := ask(ctx, b, sum)
	switch {
	case err != nil:
		return err.Error()
	case mine != its:
		return fmt.Sprintf("%s has %s, %s has %s", a.Name(), mine, b.Name(), its)
	}
	return ""
}

// sessionsLeft names sessions of the watcher's accounts on a node; empty is none. One that
// idles since before a moment is left out, where that is not zero: a node that was cut off
// hears of the end of a connection only if the kernel happens to tell it, and keeps the
// session for its wait_timeout.
func sessionsLeft(ctx context.Context, n *sandbox.Node, c *sandbox.Cluster, cutOff time.Time) string {
	deaf := ""
	if !cutOff.IsZero() {
		deaf = fmt.Sprintf(" AND NOT (command = 'Sleep' AND time >= %d)", int(time.Since(cutOff).Seconds()))
	}
	text, err := ask(ctx, n, fmt.Sprintf(
		"SELECT GROUP_CONCAT(CONCAT(user, ' ', id, ' ', command, ' ', time, ' s ', COALESCE(state, ''), ' ', COALESCE(info, '')) SEPARATOR '; ') "+
			"FROM information_schema.processlist WHERE user IN ('%s', '%s')%s", c.Accounts().Monitor.User, c.Accounts().Act.User, deaf))
	switch {
	case err != nil:
		return err.Error()
	case text != "":
		return fmt.Sprintf("sessions are left on %s: %s", n.Name(), text)
	}
	return ""
}

// nothingLeft checks what a watcher that has ended leaves behind in its directory.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	d := journal.NewDir(dir)
	open, err := journal.Unfinished(t.Context(), d)
	if err != nil || len(open) > 0 {
		t.Errorf("unfinished operations: %d, %v", len(open), err)
	}
	lease, err := lock.NewFile(d, "checker").Acquire(t.Context())
	if err != nil {
		t.Errorf("the lock is not free: %v", err)
		return
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
