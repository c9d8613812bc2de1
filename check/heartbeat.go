package check

import "strconv"

// HeartbeatTable is the table into which an insert probe writes.
const HeartbeatTable = "failwise.heartbeat"

// HeartbeatDDL returns the statements that create the heartbeat table, for a
// DBA to run on the primary: probes create nothing by themselves. One row per
// watcher: id is the watcher's own number, ts the primary's UTC time of its
// last write.
func HeartbeatDDL() []string {
	return []string{
		"CREATE DATABASE IF NOT EXISTS failwise",
		"CREATE TABLE IF NOT EXISTS " + HeartbeatTable +
			" (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, ts DATETIME(3) NOT NULL) ENGINE=InnoDB",
	}
}

// HeartbeatUpsert returns the one statement that writes the row of a watcher.
// It needs INSERT and UPDATE on [HeartbeatTable] and autocommit.
func HeartbeatUpsert(watcher uint64) string {
	return "INSERT INTO " + HeartbeatTable + " (id, ts) VALUES (" + strconv.FormatUint(watcher, 10) +
		", UTC_TIMESTAMP(3)) ON DUPLICATE KEY UPDATE ts = UTC_TIMESTAMP(3)"
}
