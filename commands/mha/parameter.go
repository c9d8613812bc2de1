package mha

import "failwise/commands/suggest"

// Parameter is one setting that MHA knows.
type Parameter struct {
	Name string
	// Server: it counts in a server's own section only; in [server default] MHA
	// takes no notice of it.
	Server bool
	// Becomes is the key that carries it over, "" if it has no equal.
	Becomes string
	// Why says what differs, or why there is no equal; it is written behind the
	// setting in the output's comments. "" where the value says all.
	Why string
	// Quiet keeps the value out of the comments: it is or may hold a password.
	Quiet bool
}

// Parameters lists every setting of MHA 0.53 to 0.58, in the order of MHA's own
// documentation.
func Parameters() []Parameter {
	return []Parameter{
		{Name: "hostname", Server: true, Becomes: "nodes.host"},
		{Name: "ip", Server: true, Becomes: "nodes.host", Why: "the address is connected to, as MHA does, and replicas are pointed to it; hostname is the node's name"},
		{Name: "port", Becomes: "port"},
		{Name: "ssh_host", Server: true, Why: noSSH},
		{Name: "ssh_ip", Server: true, Why: noSSH},
		{Name: "ssh_port", Why: noSSH},
		{Name: "ssh_connection_timeout", Why: noSSH},
		{Name: "ssh_options", Server: true, Why: noSSH + "; a secondary check script takes --options='…' in its command"},
		{Name: "ssh_user", Becomes: "hooks.ssh_user", Why: "failwise opens no SSH session itself; scripts with contract mha are told the user"},
		{Name: "node_label", Server: true, Why: "only MHA's binary log tools read it"},
		{Name: "candidate_master", Server: true, Becomes: "nodes.promote: prefer"},
		{Name: "no_master", Server: true, Becomes: "nodes.promote: never"},
		{Name: "ignore_fail", Server: true, Why: "always so: a replica that is down or broken never stops a failover, it is left out and reported"},
		{Name: "skip_init_ssh_check", Server: true, Why: noSSH},
		{Name: "skip_reset_slave", Why: "the promoted node's replication settings are always removed, or a restart would attach it to the dead primary again"},
		{Name: "user", Becomes: "user", Why: "MHA's account may write on replicas; give probes an account of their own (user) and this one to manage.user: failwise doctor prints the grants"},
		{Name: "password", Becomes: "password_file", Quiet: true, Why: "not copied: put it into the password_file above"},
		{Name: "repl_user", Becomes: "replication.user"},
		{Name: "repl_password", Becomes: "replication.password_file", Quiet: true, Why: "not copied: put it into the replication.password_file above"},
		{Name: "disable_log_bin", Why: "no differential logs are applied: replicas catch up by GTID from the new primary"},
		{Name: "master_pid_file", Why: "MHA hands it to shutdown_script's --pid_file; failwise passes no such argument, write it into the hook's command"},
		{Name: "handle_raw_binlog", Why: noBinlogs},
		{Name: "remote_workdir", Why: noBinlogs},
		{Name: "master_binlog_dir", Why: noBinlogs},
		{Name: "log_level", Why: "watch prints events; -v prints every probe, -q prints none"},
		{Name: "manager_workdir", Why: "journal, state and promotion log are kept below state_dir, one directory a cluster"},
		{Name: "manager_log", Why: "watch writes to standard output, and every event to the journal: failwise history"},
		{Name: "client_bindir", Why: "no mysql client or mysqlbinlog is run to fail over"},
		{Name: "client_libdir", Why: "no mysql client or mysqlbinlog is run to fail over"},
		{Name: "check_repl_delay", Why: "a replica with much to apply is never excluded: catch_up.timeout and catch_up.on_timeout say how long it may take and what then"},
		{Name: "check_repl_filter", Why: "a replica with filters is never promoted; the filters of two nodes are not compared"},
		{Name: "latest_priority", Why: "a node that holds all that the others have comes first; a preferred one that is behind first catches up from it, so nothing is lost either way"},
		{Name: "multi_tier_slave", Why: "a replica of a replica is shown and left alone: it is neither promoted nor repointed"},
		{Name: "ping_interval", Becomes: "tick, probe.interval"},
		{Name: "ping_type", Becomes: "probe.types"},
		{Name: "secondary_check_script", Becomes: "confirm.routes"},
		{Name: "master_ip_failover_script", Becomes: "hooks.fence, hooks.promoted", Why: "it is not called with --command=status"},
		{Name: "master_ip_online_change_script", Becomes: "hooks.fence, hooks.promoted"},
		{Name: "shutdown_script", Becomes: "hooks.fence", Why: "it is not called with --command=status"},
		{Name: "report_script", Becomes: "hooks.finished, hooks.failed"},
		{Name: "init_conf_load_script", Quiet: true, Why: "settings are never made by a program; for passwords use password_command, whose first line of output is the password alone"},
		{Name: "use_gtid_auto_pos", Why: "replication is by GTID only; a cluster without it is refused: failwise doctor says what to set"},
	}
}

const (
	noSSH     = "failwise does not log in to the servers' hosts: fencing and promotion are done by SQL and hooks"
	noBinlogs = "no binary or relay logs are copied between hosts; what no replica has received is reported as lost before anything is done, and semi-sync keeps it from happening"
)

// parameter looks a setting up; the hint is the one that was probably meant.
func parameter(name string) (p Parameter, hint string, known bool) {
	var names []string
	for _, p := range Parameters() {
		if p.Name == name {
			return p, "", true
		}
		names = append(names, p.Name)
	}
	if near := suggest.Nearest(name, names); near != "" {
		return Parameter{}, "did you mean " + near + "?", false
	}
	return Parameter{}, "MHA itself refuses a parameter it does not know", false
}
