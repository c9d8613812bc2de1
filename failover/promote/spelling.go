package promote

import (
	"context"
	"fmt"

	"failwise/check"
	"failwise/failover/mysql"
)

// spelling names statements as package mysql sends them to one node, for the
// plan's text.
type spelling struct {
	flavour mysql.Flavour
	// newer is MySQL 8.0.23 and later, with SOURCE and REPLICA.
	newer bool
	// sourceVariable is the name of the semi-sync source variable's middle part.
	sourceVariable string
}

// spellingOf goes by the node's version at its latest login, or asks; a node that was
// never reached is spelled like the given fallback.
func spellingOf(ctx context.Context, n *Node, fallback spelling) spelling {
	if n == nil || n.Session == nil {
		return fallback
	}
	v, known := n.Session.KnownVersion()
	if !known {
		var err error
		if v, err = n.Session.Version(ctx); err != nil {
			return fallback
		}
	}
	s := spelling{flavour: v.Flavour, sourceVariable: "master"}
	if v.Flavour == mysql.MySQL {
		s.newer = v.AtLeast(8, 0, 23)
		if v.AtLeast(8, 0, 26) {
			s.sourceVariable = "source"
		}
	}
	return s
}

func (s spelling) mariaDB() bool { return s.flavour == mysql.MariaDB }

// threads spells START, STOP and RESET; what is empty, IO_THREAD, SQL_THREAD or ALL.
func (s spelling) threads(verb, what string) string {
	if what != "" {
		what = " " + what
	}
	switch {
	case s.mariaDB():
		return verb + " SLAVE ''" + what
	case s.newer:
		return verb + " REPLICA" + what + " FOR CHANNEL ''"
	default:
		return verb + " SLAVE" + what + " FOR CHANNEL ''"
	}
}

func (s spelling) change(host string, port int, account bool) string {
	prefix, head, gtid, tail := "MASTER_", "CHANGE MASTER TO ", "MASTER_AUTO_POSITION=1", " FOR CHANNEL ''"
	switch {
	case s.mariaDB():
		head, gtid, tail = "CHANGE MASTER '' TO ", "MASTER_USE_GTID=slave_pos", ""
	case s.newer:
		prefix, head, gtid = "SOURCE_", "CHANGE REPLICATION SOURCE TO ", "SOURCE_AUTO_POSITION=1"
	}
	login, retry := "", ""
	if account {
		retry = fmt.Sprintf(", %sCONNECT_RETRY=<as the others>", prefix)
		login = fmt.Sprintf(", %sUSER='<replication.user>', %sPASSWORD='<replication.password_file>'", prefix, prefix)
	}
	return fmt.Sprintf("%s%sHOST='%s', %sPORT=%d%s, %s, %sHEARTBEAT_PERIOD=<as before>%s%s", head, prefix, host, prefix, port, login, gtid, prefix, retry, tail)
}

func (s spelling) waitForGTID() string {
	if s.mariaDB() {
		return "SELECT MASTER_GTID_WAIT('<received>', <limit>)"
	}
	return "SELECT WAIT_FOR_EXECUTED_GTID_SET('<received>', <limit>)"
}

func (s spelling) semiSyncSource(on string) string {
	return "SET GLOBAL rpl_semi_sync_" + s.sourceVariable + "_enabled=" + on
}

func (s spelling) readBack() string {
	if s.mariaDB() {
		return "SELECT @@global.read_only"
	}
	return "SELECT @@global.read_only, @@global.super_read_only, @@global.offline_mode"
}

// on turns texts into the statements of one node.
func on(node string, texts ...string) []Statement {
	list := make([]Statement, len(texts))
	for i, text := range texts {
		list[i] = Statement{Node: node, SQL: text}
	}
	return list
}

func prove(watcher uint64) string { return check.HeartbeatUpsert(watcher) }
