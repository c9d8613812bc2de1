package rules

// description is what people are told about an outcome.
type description struct {
	cause     string
	reproduce string
}

// descriptions are indexed by outcome.
var descriptions = [outcomeEnd]description{
	OK: {
		"all phases were done within the budget and the answer is right",
		"any healthy server",
	},
	SocketIOError: {
		"the TCP connection was refused, or reset before the login was done",
		"`kill -9` the server process; a firewall rule `reject with tcp reset` looks the same",
	},
	SocketConnectTimeout: {
		"no TCP connection in time",
		"`nft add rule inet filter input tcp dport 3306 drop`",
	},
	LoginResponseTimeout: {
		"TCP is up, but the greeting or the answer to the login did not come in time",
		"`kill -STOP` the server process (once its backlog is full this becomes socket_connect_timeout)",
	},
	NoRouteToHost: {
		"the network says that the host cannot be reached",
		"`ip route add unreachable ADDRESS`, or an address of the local network that nobody has",
	},
	SendQueryTimeout: {
		"the login worked, the statement could not be written in time",
		"a scripted server that stops reading; a real one buffers a short statement",
	},
	QueryExecTimeout: {
		"the statement was sent, nothing came back in time",
		"`LOCK TABLES t WRITE` in one session, `--query 'SELECT COUNT(*) FROM t'` in the probe",
	},
	QueryResultsTimeout: {
		"the answer began, the rows did not come in time (servers hold back answers up to 16 KB, so that a stall of SELECT 1 shows as query_exec_timeout)",
		"`--query \"SELECT REPEAT('x', 20000) UNION ALL SELECT SLEEP(60)\"`",
	},
	HostIsDown: {
		"the kernel says that the host is down",
		"a router that answers ICMP host unknown: `nft add rule inet filter input tcp dport 3306 reject with icmp 7`; BSD and macOS say so of a silent neighbour",
	},
	UnknownHost: {
		"the name does not resolve, or not in time",
		"a name that ends in `.invalid`",
	},
	TooManyConnections: {
		"the server, or the account, has no connection left",
		"`SET GLOBAL max_connections = 10` and ten sessions of other users",
	},
	WrongCredentials: {
		"the server refuses the monitoring account: password, lock, expiry, or an authentication plugin that one side lacks",
		"`ALTER USER … ACCOUNT LOCK`, or a wrong password",
	},
	MySQLError: {
		"another server error before the statement",
		"no account for this host (1130), or `max_connect_errors` aborted handshakes (1129)",
	},
	MySQLPrematureEOF: {
		"the connection was closed cleanly during greeting or login, and again at the second attempt",
		"a proxy without a backend: `socat TCP-LISTEN:3307,fork,reuseaddr EXEC:true`",
	},
	QueryExecutionFailed: {
		"a server error in answer to the probe's statement",
		"`--query 'SELECT * FROM nowhere.nothing'`",
	},
	QueryResultFailed: {
		"an error while the rows were read, or an answer that is not the expected one",
		"a scripted server, or a proxy that answers by itself",
	},
	QueryTooLarge: {
		"the statement is larger than the packet limit, ours or the server's",
		"a `--query` longer than max_allowed_packet",
	},
	OpenFileLimitError: {
		"this side has no file, port or buffer left",
		"`prlimit --nofile=8 failwise check connect …`",
	},
	SocketNoIO: {
		"connected, but nothing can be read or written for another reason",
		"a scripted connection",
	},
	UnexpectedException: {
		"an error that no other outcome names",
		"a unix socket that this user may not open",
	},
	UntrappedCondition: {
		"reserved; accepted in files, never the result of a probe",
		"never",
	},
	Undefined: {
		"no probe has ended yet",
		"the first moments of `watch`",
	},
	NetworkUnreachable: {
		"this side's network, a router or a local policy does not let the packet out",
		"`ip route add prohibit ADDRESS`, or no default route",
	},
	TLSError: {
		"the handshake or a certificate failed, TLS was required and not offered, or the server demands it",
		"`--ssl-mode VERIFY_IDENTITY` and a name that is not in the certificate",
	},
	ReadOnly: {
		"the insert probe was refused on a node that should be writable",
		"`SET GLOBAL read_only = ON` on the primary, or a server started with innodb_read_only or innodb_force_recovery",
	},
	DiskFull: {
		"the insert probe's write failed for want of space",
		"a full disk under the heartbeat table when its tablespace must grow; most often the write hangs instead (write_timeout)",
	},
	StorageError: {
		"the insert probe's write failed on the storage beneath",
		"MariaDB's binary log on a file system that went read-only; a read-only data directory makes the server abort instead",
	},
	WriteTimeout: {
		"login and reads work, the insert probe's write or its commit did not return in time",
		"`FLUSH TABLES WITH READ LOCK` in another session",
	},
	NotOnline: {
		"stands for every bad outcome, in rules with a window; never the result of a probe",
		"never",
	},
}

// Cause says in one sentence, without capital or full stop, what makes a probe
// end in o.
func (o Outcome) Cause() string {
	if !o.Valid() {
		return ""
	}
	return descriptions[o].cause
}
