package sandbox

import (
	"fmt"
	"strings"
	"time"
)

// templateSettings are the settings a data directory is made with, which must
// stay the same for every start on a copy of it: a changed log size costs a
// rewrite of the log. All are chosen for a short start and little memory.
func templateSettings(f Flavour) []string {
	if f == MariaDB {
		return []string{
			"innodb_log_file_size=8M",
			"innodb_log_buffer_size=2M",
			"innodb_buffer_pool_size=16M",
			"innodb_buffer_pool_dump_at_shutdown=OFF",
			"innodb_buffer_pool_load_at_startup=OFF",
			"innodb_use_native_aio=OFF", // many servers on one machine exhaust fs.aio-max-nr
			"aria_pagecache_buffer_size=1M",
			"key_buffer_size=64K",
			"innodb_doublewrite=OFF", // no sandbox outlives a crash of the machine
			"performance_schema=OFF",
		}
	}
	return []string{
		"innodb_redo_log_capacity=8M",
		"innodb_log_buffer_size=1M",
		"innodb_buffer_pool_size=24M",
		"innodb_buffer_pool_dump_at_shutdown=OFF",
		"innodb_buffer_pool_load_at_startup=OFF",
		"innodb_use_native_aio=OFF",
		"key_buffer_size=64K",
		"innodb_doublewrite=OFF",
		"table_open_cache=400",
		"table_definition_cache=400",
		"loose_mysqlx=OFF",
	}
}

// settings returns the text of a node's option file.
func (n *Node) settings() string {
	o := n.cluster.options
	lines := []string{"[mysqld]"}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	add("datadir=%s", n.dataDir)
	add("socket=%s", n.Socket())
	add("pid_file=%s/pid", n.dir)
	add("log_error=%s/error.log", n.dir)
	add("tmpdir=%s/tmp", n.dir)
	add("bind_address=%s", n.host)
	add("port=%d", n.port)
	add("report_host=%s", n.host)
	add("report_port=%d", n.port)
	add("server_id=%d", n.ServerID())
	add("max_connections=%d", o.MaxConnections)
	add("log_bin=binlog")
	add("relay_log=relay")
	add("binlog_format=ROW")
	if !n.cluster.serverUser.change && n.cluster.serverUser.uid == 0 {
		add("user=root") // both servers refuse to run as root by accident
	}
	if a := n.cluster.authority; a != nil {
		add("ssl_ca=%s", a.CA())
		add("ssl_cert=%s", a.Cert(n.Name()))
		add("ssl_key=%s", a.Key(n.Name()))
	}
	if o.RelayLogRecovery {
		add("relay_log_recovery=ON")
	}
	if o.Durable {
		add("sync_binlog=1")
		add("innodb_flush_log_at_trx_commit=1")
	} else {
		// A killed server loses nothing by it: the kernel has what it wrote.
		add("sync_binlog=0")
		add("innodb_flush_log_at_trx_commit=2")
	}
	lines = append(lines, templateSettings(o.Flavour)...)
	if o.Flavour == MariaDB {
		lines = append(lines, n.mariadbSettings()...)
	} else {
		lines = append(lines, n.mysqlSettings()...)
	}
	return strings.Join(append(lines, o.Config...), "\n") + "\n"
}

func (n *Node) mariadbSettings() []string {
	o := n.cluster.options
	lines := []string{
		"gtid_strict_mode=ON",
		"log_slave_updates=ON",
		"back_log=80", // the size a server of default max_connections has
		fmt.Sprintf("slave_net_timeout=%d", whole(o.NetTimeout)),
	}
	if n.index > 0 {
		lines = append(lines, "read_only=ON")
	}
	if o.AdminPort {
		lines = append(lines, fmt.Sprintf("extra_port=%d", n.adminPort), "extra_max_connections=8")
	}
	if o.SemiSync {
		lines = append(lines,
			"rpl_semi_sync_slave_enabled=ON",
			"rpl_semi_sync_master_wait_point=AFTER_SYNC",
			fmt.Sprintf("rpl_semi_sync_master_timeout=%d", o.SemiSyncTimeout.Milliseconds()))
		if n.index == 0 {
			lines = append(lines, "rpl_semi_sync_master_enabled=ON")
		}
	}
	return lines
}

func (n *Node) mysqlSettings() []string {
	o := n.cluster.options
	lines := []string{
		"gtid_mode=ON",
		"enforce_gtid_consistency=ON",
		"log_replica_updates=ON",
		fmt.Sprintf("replica_net_timeout=%d", whole(o.NetTimeout)),
	}
	lines = append(lines, performanceSchema()...)
	if n.index > 0 {
		lines = append(lines, "super_read_only=ON")
	}
	if o.AdminPort {
		lines = append(lines, "admin_address="+n.host, fmt.Sprintf("admin_port=%d", n.adminPort))
	}
	if o.SemiSync {
		lines = append(lines,
			"plugin_load_add=semisync_source.so",
			"plugin_load_add=semisync_replica.so",
			"loose_rpl_semi_sync_replica_enabled=ON",
			"loose_rpl_semi_sync_source_wait_point=AFTER_SYNC",
			fmt.Sprintf("loose_rpl_semi_sync_source_timeout=%d", o.SemiSyncTimeout.Milliseconds()))
		if n.index == 0 {
			lines = append(lines, "loose_rpl_semi_sync_source_enabled=ON")
		}
	}
	return lines
}

// performanceSchema keeps of MySQL's performance_schema what tells of replication,
// sessions and metadata locks. All else takes half of a server's memory and a
// third of the time of its start.
func performanceSchema() []string {
	lines := []string{
		"performance_schema_instrument='%=OFF'",
		"performance_schema_instrument='wait/lock/metadata/sql/mdl=ON'",
	}
	for _, class := range []string{"memory", "statement", "stage", "mutex", "cond", "file", "socket"} {
		lines = append(lines, "performance_schema_max_"+class+"_classes=0")
	}
	for _, kind := range []string{"waits", "stages", "statements", "transactions"} {
		lines = append(lines,
			"performance_schema_events_"+kind+"_history_size=0",
			"performance_schema_events_"+kind+"_history_long_size=0")
	}
	return append(lines,
		"performance_schema_error_size=0",
		"performance_schema_digests_size=0",
		"performance_schema_max_digest_length=0",
		"performance_schema_max_sql_text_length=0")
}

func whole(d time.Duration) int { return int(d / time.Second) }
