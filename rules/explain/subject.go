package explain

import "failwise/rules"

// subject is what there is to say about an outcome whatever the rules are.
type subject struct {
	// still is why nothing is done about it, and protects what that protects
	// from.
	still, protects []string
	// acts is why it fails a node, where it does.
	acts []string
	// blind is what it cannot tell.
	blind      []string
	neighbours []neighbour
}

// neighbour is an outcome that a fault of the same kind may show as.
type neighbour struct {
	outcome rules.Outcome
	differs string
}

// Texts that several outcomes share. Constants, so that the table below is made by
// the compiler and not at each start.
const (
	stillAlive = "The server has just accepted a login: it lives. A slow primary is not a dead primary, and the cluster sits still on purpose."
	stillSame  = "Whatever makes it slow (a lock, a backup, a stalled disk, a burst of load) is most often gone before a promotion would be done, or follows the load to the next primary."

	lifeStill = "Only a living server sends an error number. Whatever is wrong, the process runs and a failover would not mend it."
	lifeActs  = "It ships as none; these rules made it fatal, although the number proves that the server lives."

	ownStill = "It speaks of this side, not of the node: the node may be in best health."
	ownActs  = "It ships as none; these rules made it fatal, although it says nothing about the node."

	stallSessions = "Which sessions wait for what: that is in SHOW PROCESSLIST."
	stallOthers   = "Statements other than the probe's: a table or a disk it does not touch may be stalled without any of this."
)

// Lists that several outcomes share.
var (
	stallProtects = []string{
		"A failover on every long lock: FLUSH TABLES WITH READ LOCK, an ALTER or a backup stop statements for minutes on a healthy server.",
		"A failover in the rush hour: the replica that takes over gets the same load with a cold cache, is slow as well, and is failed next.",
		"A write outage for a read stall: a promotion stops all writes while the old primary is fenced and the new one catches up.",
	}
	stallActs = []string{
		"It ships as none; these rules made it fatal. The server accepts logins and is failed all the same.",
		"Nobody can contradict: a replica or a route only sees the port, and a hung server still answers there.",
	}
)

// subjects are indexed by outcome.
var subjects = [rules.NumOutcomes]subject{
	rules.OK: {
		still: []string{"Nothing is wrong. An online probe is what heals: it deletes the node's alarms."},
		blind: []string{
			"Everything the probe's statement does not touch: other tables, other users' limits.",
			"Writes, unless insert is among the probe types: a full, read-only or stalled disk answers SELECT 1 from memory.",
		},
		neighbours: []neighbour{{rules.QueryResultFailed, "an answer came, but not the expected one"}},
	},
	rules.SocketIOError: {
		acts: []string{
			"A living host answers a connection to a dead port by itself, within a millisecond: the kernel says that no process listens. No timeout is guessed and no load imitates it, so one refused connection is enough.",
			"Each second of waiting would be a second without writes, and a process that is gone does not come back by being waited for; a restart that does bring it back is a matter of seconds at best.",
			"A refused connection alone is no proof: a firewall rule with REJECT looks exactly the same, with a healthy server behind it. The replicas' votes tell the two apart before anything happens: if the server is dead they have lost it too; behind a firewall they still see it, and one replica that sees it holds the failover.",
		},
		still: []string{
			"These rules do not act on it. It ships with threshold 0 and fail, since the kernel's refusal is the one sharp and instant sign that the process is gone.",
			"A dead process never times out: no other outcome will come in its place.",
		},
		protects: []string{"A failover for a restart that takes a few seconds.", "A failover for a firewall rule with REJECT in front of a healthy server."},
		blind: []string{
			"A firewall's REJECT between the watcher and the node, or a port that is redirected: both refuse in the server's name.",
			"A planned restart: it is refused like a crash. Announce it with failwise policy maintenance --for 10m.",
			"Why the process ended: that is in its error log.",
		},
		neighbours: []neighbour{
			{rules.SocketConnectTimeout, "silence instead of a refusal: the host is gone or packets are dropped"},
			{rules.MySQLPrematureEOF, "closed cleanly rather than reset: a proxy, or a server in shutdown"},
			{rules.LoginResponseTimeout, "the port still accepts but nobody speaks: frozen, or killed with its memory not yet freed"},
		},
	},
	rules.SocketConnectTimeout: {
		acts: []string{
			"Silence is no proof: a lost route, an overloaded switch or a full backlog are silent too. So it is counted, and only a silence that lasts counts.",
			"Probes that end in another outcome of the same kind keep the count running, one that proves the server alive stops its clock, and a good one deletes it.",
		},
		still:    []string{"These rules do not act on it. It ships with threshold 8 and fail."},
		protects: []string{"A failover for a network that is down between the watcher and the node only."},
		blind: []string{
			"Where the packets are lost. Whether it is only the watcher's own way is asked of the replicas and routes before a failover; if every node is silent, the failover is held as isolated.",
			"A host that is alive behind a firewall that drops.",
		},
		neighbours: []neighbour{
			{rules.NoRouteToHost, "the network says by itself that the host is not there"},
			{rules.LoginResponseTimeout, "TCP is up, the server says nothing; a frozen server moves from there to here when its backlog is full"},
			{rules.NetworkUnreachable, "this side's own network refuses to send"},
		},
	},
	rules.LoginResponseTimeout: {
		acts: []string{
			"The kernel accepts connections on behalf of a frozen process, so that TCP alone proves nothing; a server that cannot even greet in time serves nobody new.",
			"It happens to an overloaded server as well. That is why it is counted and a single good probe starts over.",
		},
		still:    []string{"These rules do not act on it. It ships with threshold 8 and fail."},
		protects: []string{"A failover for a server that is overloaded by logins and recovers by itself."},
		blind: []string{
			"Sessions that are already open: in an overloaded server they may still work, in a frozen one they do not.",
			"A name server that the login waits for, where skip_name_resolve is off.",
		},
		neighbours: []neighbour{
			{rules.SocketConnectTimeout, "a frozen server once its backlog of connections is full (81 on MariaDB)"},
			{rules.TooManyConnections, "the server is full, but says so"},
			{rules.QueryExecTimeout, "the login works, the statement hangs"},
		},
	},
	rules.NoRouteToHost: {
		acts: []string{
			"The network itself says that nobody answers at this address: more than silence, less than a refusal. Hence its threshold is a little shorter than that of a timeout.",
		},
		still:      []string{"These rules do not act on it. It ships with threshold 6 and fail."},
		protects:   []string{"A failover for a routing change that is mended within minutes."},
		blind:      []string{"Who said so: the last router, a firewall that rejects with host-prohibited, or this host's own neighbour table."},
		neighbours: []neighbour{{rules.SocketConnectTimeout, "silence; a host that vanished shows first as this, then as no route"}, {rules.NetworkUnreachable, "the whole network cannot be reached"}, {rules.HostIsDown, "the kernel's word for a dead neighbour on some systems"}},
	},
	rules.SendQueryTimeout: {
		still: []string{stillAlive, stillSame}, protects: stallProtects, acts: stallActs,
		blind:      []string{stallSessions, stallOthers},
		neighbours: []neighbour{{rules.QueryExecTimeout, "the statement went out, nothing came back"}},
	},
	rules.QueryExecTimeout: {
		still: []string{stillAlive, stillSame}, protects: stallProtects, acts: stallActs,
		blind: []string{"The difference between a lock, a stalled disk and load: SELECT 1 needs neither locks nor disk, so look at the probe's own --query first.", stallSessions, stallOthers},
		neighbours: []neighbour{
			{rules.QueryResultsTimeout, "the answer had begun"},
			{rules.WriteTimeout, "the same for the insert probe's write, which alerts"},
			{rules.LoginResponseTimeout, "not even the login works"},
		},
	},
	rules.QueryResultsTimeout: {
		still: []string{stillAlive, stillSame}, protects: stallProtects, acts: stallActs,
		blind: []string{"Stalls of small answers: servers hold back up to 16 KB, so that with SELECT 1 a stall shows as query_exec_timeout.", stallSessions, stallOthers},
		neighbours: []neighbour{
			{rules.QueryExecTimeout, "not even the beginning of the answer came"},
			{rules.QueryResultFailed, "the rows broke off with an error"},
			{rules.WriteTimeout, "the same for the insert probe's write, which alerts"},
		},
	},
	rules.HostIsDown: {
		still:    []string{"The kernel's word for a neighbour that does not answer ARP. It is rare, and where it comes the connect timeouts come as well and act."},
		protects: []string{"Acting twice on one fault."},
		acts:     []string{"It ships as none; these rules count it like the other ways of being unreachable."},
		blind:    []string{"Anything beyond the next hop."}, neighbours: []neighbour{{rules.NoRouteToHost, "the same on most systems"}, {rules.SocketConnectTimeout, "silence"}},
	},
	rules.UnknownHost: {
		still: []string{ownStill + " The name server, the resolver's configuration or the name is wrong."}, acts: []string{ownActs},
		protects:   []string{"A failover of healthy primaries when DNS is down."},
		blind:      []string{"The node. Use addresses, or a resolver on this host, to see it when DNS is down."},
		neighbours: []neighbour{{rules.SocketConnectTimeout, "the name was found, its address is silent"}},
	},
	rules.TooManyConnections: {
		still: []string{lifeStill + " It is full: applications that hold connections will hold them on the next primary as well."}, acts: []string{lifeActs},
		protects:   []string{"A failover that moves a connection storm to a server with a cold cache."},
		blind:      []string{"Whether sessions inside still work: use select beside connect, or admin_port (MySQL) and extra_port (MariaDB)."},
		neighbours: []neighbour{{rules.LoginResponseTimeout, "too busy to say even that"}, {rules.WrongCredentials, "the account is refused"}},
	},
	rules.WrongCredentials: {
		still: []string{lifeStill + " The monitoring account is wrong, locked or expired."}, acts: []string{lifeActs},
		protects:   []string{"A failover of every cluster on the day the password expires."},
		blind:      []string{"Everything behind the login: nothing else about the node is known until the account works."},
		neighbours: []neighbour{{rules.TLSError, "the server demands TLS; MariaDB says 1045 for that as well"}, {rules.MySQLError, "this host is blocked or not allowed"}},
	},
	rules.MySQLError: {
		still: []string{lifeStill + " Most often this host is blocked (1129) or not allowed (1130), or the server is being stopped (1053)."}, acts: []string{lifeActs},
		protects:   []string{"A failover because max_connect_errors has shut this one host out."},
		blind:      []string{"A shutdown that somebody ordered: once it is done the connection is refused, and that acts."},
		neighbours: []neighbour{{rules.SocketIOError, "the process is gone"}, {rules.WrongCredentials, "the account is refused"}},
	},
	rules.MySQLPrematureEOF: {
		still:      []string{"Somebody accepted the connection and closed it cleanly, twice in a row. A server in shutdown does that for a moment and then refuses; for longer it is a proxy that has lost its backend."},
		protects:   []string{"A failover for a proxy that is being restarted."},
		acts:       []string{"It ships as none; these rules count it like a server that does not answer."},
		blind:      []string{"Whether a proxy or the server speaks. Point failwise at the servers, not at proxies."},
		neighbours: []neighbour{{rules.SocketIOError, "reset instead of closed"}, {rules.LoginResponseTimeout, "not closed, but silent"}},
	},
	rules.QueryExecutionFailed: {
		still: []string{lifeStill + " The statement is refused: a missing grant or table, a server in a special mode."}, acts: stallActs,
		protects:   []string{"A failover for a table that was dropped or a grant that was revoked."},
		blind:      []string{"Other statements."},
		neighbours: []neighbour{{rules.QueryResultFailed, "the answer began"}, {rules.ReadOnly, "the insert probe is refused"}},
	},
	rules.QueryResultFailed: {
		still: []string{lifeStill + " The answer is not what was asked for."}, acts: stallActs,
		protects:   []string{"A failover for a proxy that rewrites answers."},
		blind:      []string{"Whether the data behind other statements is right."},
		neighbours: []neighbour{{rules.QueryExecutionFailed, "refused before the first row"}, {rules.QueryResultsTimeout, "the rows came too slowly"}},
	},
	rules.QueryTooLarge: {
		still: []string{"The probe's own --query does not fit the packet limit. The server lives and has said so."}, acts: stallActs,
		protects: []string{"A failover because of a line in failwise.yaml."},
		blind:    []string{"The node's health beyond the login."}, neighbours: []neighbour{{rules.QueryExecutionFailed, "another error in answer to the statement"}},
	},
	rules.OpenFileLimitError: {
		still: []string{ownStill + " This host has no file, port or buffer left for a probe."}, acts: []string{ownActs},
		protects:   []string{"A failover of everything because the watcher leaks or its limit is low."},
		blind:      []string{"The node: it was not asked."},
		neighbours: []neighbour{{rules.NetworkUnreachable, "this side's network, rather than its limits"}},
	},
	rules.SocketNoIO: {
		still:      []string{"The connection stands, but reading or writing fails for a reason that is neither the server's death nor a timeout."},
		protects:   []string{"A failover for something nobody understands yet."},
		acts:       []string{"It ships as none; these rules count it like a server that does not answer."},
		blind:      []string{"The cause: see the error number in check connect -v."},
		neighbours: []neighbour{{rules.SocketIOError, "reset"}, {rules.UnexpectedException, "an error without a row of its own"}},
	},
	rules.UnexpectedException: {
		still: []string{"No row of the catalogue names this error. What nobody understands is no ground for a failover."}, acts: []string{ownActs},
		protects: []string{"A failover for a bug."},
		blind:    []string{"The cause: see the evidence in check connect -v."}, neighbours: []neighbour{{rules.SocketNoIO, "the connection stands but carries nothing"}},
	},
	rules.UntrappedCondition: {
		still: []string{"Reserved: no probe ends in it. Files that name it are accepted, for the sake of existing ones."},
		acts:  []string{"No probe ends in it, so this rule never acts."}, neighbours: []neighbour{{rules.UnexpectedException, "what errors without a name end in"}},
	},
	rules.Undefined: {
		still: []string{"The watcher has just started; the first probe has not ended."},
		acts:  []string{"No probe ends in it, so this rule never acts."}, neighbours: []neighbour{{rules.OK, "what the first probe usually says"}},
	},
	rules.NetworkUnreachable: {
		still: []string{ownStill + " This host, a router or a local policy does not let the packet out."}, acts: []string{ownActs},
		protects:   []string{"A failover because the watcher's own network is down."},
		blind:      []string{"The node: no packet reached it."},
		neighbours: []neighbour{{rules.NoRouteToHost, "the network is reached, the host is not"}, {rules.SocketConnectTimeout, "packets are lost without a word"}},
	},
	rules.TLSError: {
		still: []string{"TLS could not be agreed on: a certificate has expired, names somebody else, or one side demands what the other does not offer. A proxy may have said so in the server's place."}, acts: []string{ownActs},
		protects:   []string{"A failover of every cluster in the minute a certificate expires."},
		blind:      []string{"Everything behind the handshake."},
		neighbours: []neighbour{{rules.WrongCredentials, "MariaDB answers 1045 when it demands TLS"}, {rules.MySQLPrematureEOF, "closed without a word"}},
	},
	rules.ReadOnly: {
		still:      []string{"Somebody, or something, has set the primary read-only. A promotion would fight them, and would leave the reason where it is."},
		acts:       []string{"It ships without a threshold; these rules made it fatal, although a server that is read-only is well and was set so."},
		protects:   []string{"A failover in the middle of somebody else's switch, backup or maintenance."},
		blind:      []string{"Who did it. Accounts that pass read_only (CONNECTION_ADMIN, READ ONLY ADMIN) do not see it, so the probe's must not have them."},
		neighbours: []neighbour{{rules.WriteTimeout, "the write hangs instead of being refused"}, {rules.StorageError, "the storage is read-only, not the server"}},
	},
	rules.DiskFull: {
		still:    []string{"Space is a person's matter: purge, extend, move. The replicas store the same data on disks that are often as full, so a failover rarely buys more than hours."},
		acts:     []string{"It ships as alert; these rules made it fatal. The next primary has the same data on a disk that is often as full."},
		protects: []string{"A failover to a server whose disk fills an hour later."},
		blind: []string{
			"A full disk on which the heartbeat's row finds room all the same, and one on which the write hangs (write_timeout). failwise check storage sees the space itself.",
		},
		neighbours: []neighbour{{rules.WriteTimeout, "what a full disk shows as most often: the server waits for space"}, {rules.StorageError, "the disk fails"}},
	},
	rules.StorageError: {
		still:    []string{"The storage beneath fails writes while the server lives on. It alerts at the first sight of it, since it never heals by itself."},
		acts:     []string{"It ships as alert; these rules made it fatal. The storage of this one node is broken, so a replica may well be better off."},
		protects: []string{"A failover for one bad write of a disk that recovers."},
		blind:    []string{"A data directory that turns read-only: both servers abort at the first write, which shows as socket_io_error and acts."}, neighbours: []neighbour{{rules.SocketIOError, "the server aborted because of it"}, {rules.DiskFull, "no space"}, {rules.WriteTimeout, "the write hangs"}},
	},
	rules.WriteTimeout: {
		still:    []string{"Login and reads work, the write does not return. A person is told, with the state that the write waits in; most often it waits for a lock, for a backup, or for the acknowledgement of a replica that is gone."},
		acts:     []string{"It ships as alert; these rules made it fatal, although logins and reads work and most causes (a lock, a backup, a missing replica) are not the server's."},
		protects: []string{"A failover in every backup window.", "A failover because a semi-sync replica is gone, which a promotion makes worse."},
		blind: []string{
			"A read stall: that is query_exec_timeout.",
			"Whether the hung write will still be executed: it will, when what it waits for is over. So it is not sent a second time.",
		},
		neighbours: []neighbour{{rules.QueryExecTimeout, "a statement that only reads hangs"}, {rules.DiskFull, "the write is refused for want of space"}, {rules.ReadOnly, "the write is refused"}},
	},
	rules.NotOnline: {
		still:      []string{"It stands for every bad outcome together, in rules with a window. It ships without one and does nothing."},
		acts:       []string{"It catches a node that fails in changing ways: whatever the outcomes were, so many bad ticks within the window are enough. It is acted on only while the node is not online."},
		protects:   []string{"Adding up faults that have nothing to do with each other."},
		blind:      []string{"What the faults were. Errors that prove the server alive count as well."},
		neighbours: []neighbour{{rules.QueryResultsTimeout, "a window for slow answers alone"}},
	},
}
