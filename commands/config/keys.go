package config

// Keys returns every setting in the order of the documentation. The caller must
// not change it.
func Keys() []Key { return keys[:] }

// keys is a literal from end to end, so that the compiler lays it out: a check that
// runs every few seconds would pay for its making each time.
var keys = [...]Key{
	// The process, at the top of the file.
	{Name: "state_dir", Kind: Path, Doc: "Where the journal, the state and the promotion log are kept, one directory a cluster. Default: /var/lib/failwise for root, else $XDG_STATE_HOME/failwise or ~/.local/state/failwise."},
	{Name: "metrics", Kind: Text, Doc: "HOST:PORT on which watch serves Prometheus metrics at /metrics. Nothing is served without it."},
	{Name: "log_format", Kind: Text, Default: "logfmt", Choices: []string{"logfmt", "json"}, Doc: "Form of watch's event lines where standard output is no terminal."},
	{Name: "watcher.name", Kind: Text, Doc: "How this watcher calls itself to others. Default: the host's name."},
	{Name: "watcher.id", Kind: Count, Default: "0", Doc: "Number of this watcher's row in the heartbeat table; each watcher of a cluster needs its own. 0 is drawn from the watcher's name."},
	{Name: "journal.max_size", Kind: Count, Unit: "MB", Default: "64", check: checkJournalSize, Doc: "Bound on a cluster's journal, at least 32; the oldest part is dropped first. 0 is no bound."},

	// The nodes and how to log in to them.
	{Name: "nodes", Cluster: true, Kind: Block, Doc: "The servers: a list of addresses, or of blocks with name, host, port, admin_port, promote (never, neutral, prefer), site. Their order is the order of preference."},
	{Name: "user", Cluster: true, Kind: Text, Flag: "user", Doc: "User of probes and status (monitor). Default: the option file's, else the name of the operating system's user."},
	{Name: "password_file", Cluster: true, Kind: Path, Flag: "password-file", Doc: "File whose first line is the password of probes and status (monitor)."},
	{Name: "password_command", Cluster: true, Kind: Command, Doc: "Program whose first line of output is the password of probes and status (monitor). Run without a shell."},
	{Name: "defaults_file", Cluster: true, Kind: Path, Flag: "defaults-file", Doc: "MySQL option file with the groups [client], [client-mariadb], [failwise]. Default: ~/.my.cnf if it exists."},
	{Name: "port", Cluster: true, Kind: Port, Default: "3306", Flag: "port", Doc: "Port of nodes that name none."},
	{Name: "admin_port", Cluster: true, Kind: Port, Doc: "MySQL's admin_port or MariaDB's extra_port of nodes that name none, used when a server has no free connection left."},
	{Name: "ssl_mode", Cluster: true, Kind: Text, Flag: "ssl-mode", check: checkSSLMode, Doc: "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY, as the mysql client. Default: PREFERRED, or VERIFY_CA if ssl_ca is given."},
	{Name: "ssl_ca", Cluster: true, Kind: Path, Flag: "ssl-ca", Doc: "Certificate authorities to trust, PEM."},
	{Name: "ssl_cert", Cluster: true, Kind: Path, Flag: "ssl-cert", Doc: "Client certificate, PEM."},
	{Name: "ssl_key", Cluster: true, Kind: Path, Flag: "ssl-key", Doc: "Key of the client certificate, PEM."},
	{Name: "manage.user", Cluster: true, Kind: Text, Doc: "User of fencing and promotion. Without it the monitoring account is used for both."},
	{Name: "manage.password_file", Cluster: true, Kind: Path, Doc: "File whose first line is the password of fencing and promotion."},
	{Name: "manage.password_command", Cluster: true, Kind: Command, Doc: "Program whose first line of output is the password of fencing and promotion. Run without a shell."},
	{Name: "replication.user", Cluster: true, Kind: Text, Doc: "User of replication, given to a node that never was a replica."},
	{Name: "replication.password_file", Cluster: true, Kind: Path, Doc: "File whose first line is the password of replication, given to a node that never was a replica."},
	{Name: "replication.password_command", Cluster: true, Kind: Command, Doc: "Program whose first line of output is the password of replication, given to a node that never was a replica. Run without a shell."},
	{Name: "replication.ssl", Cluster: true, Kind: Bool, Default: "false", Doc: "Whether such a node replicates over TLS."},
	{Name: "replication.ssl_ca", Cluster: true, Kind: Path, Doc: "Authorities such a node trusts: a path on that node."},
	{Name: "replication.ssl_cert", Cluster: true, Kind: Path, Doc: "Certificate such a node presents: a path on that node."},
	{Name: "replication.ssl_key", Cluster: true, Kind: Path, Doc: "Key of that certificate: a path on that node."},
	{Name: "replication.ssl_verify", Cluster: true, Kind: Bool, Default: "false", Doc: "Whether such a node checks the name in its source's certificate."},

	// The rules and their times.
	{Name: "profile", Cluster: true, Kind: Text, Default: "tungsten", check: checkProfile, Doc: "Set of rules and timings to begin with: tungsten, couchbase or mha."},
	{Name: "statemap", Cluster: true, Kind: Path, Doc: "File of rules that override the profile's; re-read when it changes."},
	{Name: "tick", Cluster: true, Kind: Duration, Profile: true, check: checkPositive, Doc: "Unit of thresholds, windows and settles."},
	{Name: "settle", Cluster: true, Kind: Count, Unit: "ticks", Profile: true, Doc: "How long no other node may enter nearly_down before a primary is failed. 0 is no settle."},
	{Name: "settle_restarts", Cluster: true, Kind: Count, Profile: true, Doc: "How often a settle may start anew."},
	{Name: "quota", Cluster: true, Kind: Count, Unit: "failovers", Profile: true, Doc: "Automatic failovers until the quota is refilled. 0 is no quota."},
	{Name: "quota_refill", Cluster: true, Kind: Text, Default: "manual", check: checkQuotaRefill, Doc: "manual (failwise quota reset), recovered (the old primary is back in sync), or a duration after the last failover."},
	{Name: "age_limit", Cluster: true, Kind: Duration, Profile: true, Doc: "No failover sooner than this after the last finished one. 0 is no limit."},
	{Name: "retry", Cluster: true, Kind: Duration, Profile: true, Doc: "Time between a failed promotion and the next attempt."},
	{Name: "attempts", Cluster: true, Kind: Count, Profile: true, Doc: "Promotions tried in one episode."},
	{Name: "policy", Cluster: true, Kind: Text, Default: "automatic", Choices: []string{"automatic", "manual", "maintenance"}, Flag: "policy", Doc: "Policy mode until failwise policy sets another. A cluster given by flags alone is manual unless --policy says otherwise."},

	// How nodes are looked at.
	{Name: "probe.types", Cluster: true, Kind: List, Default: "connect", Choices: []string{"connect", "select", "insert"}, Doc: "Probe types that run together; a node's outcome is the worst of them."},
	{Name: "probe.interval", Cluster: true, Kind: Duration, Profile: true, check: checkPositive, Doc: "From the start of a probe to the start of the next."},
	{Name: "probe.budget", Cluster: true, Kind: Duration, Profile: true, check: checkPositive, Doc: "Longest that one probe may take, all phases together."},
	{Name: "probe.query", Cluster: true, Kind: Text, Default: "SELECT 1", Doc: "Statement of connect and select probes."},
	{Name: "probe.limits.resolve", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase resolve inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.connect", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase connect inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.greeting", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase greeting inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.login", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase login inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.send", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase send inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.execute", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase execute inside the budget. 0 is what is left of the budget."},
	{Name: "probe.limits.results", Cluster: true, Kind: Duration, Default: "0", Doc: "Limit of the phase results inside the budget. 0 is what is left of the budget."},

	// What happens once an alarm has expired.
	{Name: "confirm.replicas", Cluster: true, Kind: Text, Default: "bounce", Choices: []string{"bounce", "passive", "off"}, Doc: "How replicas are asked whether they see the primary: bounce restarts their IO threads one after the other, passive reads their status only, off asks nobody."},
	{Name: "confirm.routes", Cluster: true, Kind: Block, Doc: "Commands that look at the primary from elsewhere: a list of argument lists, or of blocks with command, contract (failwise, mha), timeout."},
	{Name: "confirm.require", Cluster: true, Kind: Text, Default: "all", Choices: []string{"all", "majority"}, Doc: "When the routes disagree: all holds the failover as soon as one sees the primary, majority unless more confirm its death. A route without an answer holds nothing."},
	{Name: "confirm.timeout", Cluster: true, Kind: Duration, Default: "5s", check: checkPositive, Doc: "Time limit of a route that names none."},
	{Name: "max_lost_transactions", Cluster: true, Kind: Text, Default: "unlimited", check: checkMaxLost, Doc: "Failover holds when more transactions than this are known to be lost; a count or unlimited."},
	{Name: "catch_up.timeout", Cluster: true, Kind: Duration, Default: "60s", check: checkPositive, Doc: "How long a candidate may take to apply what it has received."},
	{Name: "catch_up.on_timeout", Cluster: true, Kind: Text, Default: "next", Choices: []string{"next", "abort", "promote"}, Doc: "What happens then: try the next candidate, undo and hold, or open it without the rest."},
	{Name: "fence.require", Cluster: true, Kind: Text, Default: "none", Choices: []string{"none", "proof"}, Doc: "proof: no node is opened unless the old primary's read-only flag was read back or a fence hook ended with status 0."},
	{Name: "fence.timeout", Cluster: true, Kind: Duration, Default: "3s", check: checkPositive, Doc: "Time limit of fencing by SQL."},
	{Name: "repoint.timeout", Cluster: true, Kind: Duration, Default: "20s", check: checkPositive, Doc: "Time limit of attaching one replica to the new primary."},
	{Name: "verify.timeout", Cluster: true, Kind: Duration, Default: "30s", check: checkPositive, Doc: "Time limit for the proving write to arrive on one replica."},
	{Name: "switch.block", Cluster: true, Kind: Duration, Default: "10s", check: checkPositive, Doc: "How long the candidate of a switch may take to execute everything, from the moment writes are blocked, before the switch undoes itself. Blocking them may itself take as long; opening the candidate comes after it."},
	{Name: "switch.max_lag", Cluster: true, Kind: Duration, Default: "10s", Doc: "Lag of the candidate above which a switch is refused."},
	{Name: "switch.long_transaction", Cluster: true, Kind: Duration, Default: "10s", Doc: "Age of a transaction on the primary above which a switch is refused."},
	{Name: "enforce_read_only", Cluster: true, Kind: Bool, Default: "true", Doc: "Whether a node that should be read-only is set so."},
	{Name: "hooks", Cluster: true, Kind: Block, Doc: "Commands by event (fence, promoted, finished, failed, alert, replica_failed, replica_back, policy): an argument list, or a block with command, timeout, on_failure, contract, script, ssh_user, mha_passwords, or a list of these."},
	{Name: "webhooks", Cluster: true, Kind: Block, Doc: "URLs that get the same JSON: a list of URLs, or of blocks with url, events, timeout."},
	{Name: "lock", Cluster: true, Kind: Block, Default: "file", Doc: "Who may act: file (one acting watcher for a state_dir on this host), or a block etcd with endpoints, ttl, prefix, user, password_file, ca, cert, key; watch does not support etcd yet and refuses such a cluster."},
}
