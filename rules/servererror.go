package rules

import "slices"

// serverError is one row of the table of server error numbers.
type serverError struct {
	number  uint16
	name    string
	outcome Outcome
	// write restricts the row to the insert probe's statement and commit.
	write bool
	// upTo restricts the row to phases up to this one; PhaseNone is no limit.
	upTo Phase
	// osErrno are the operating system's error numbers in the message without
	// which the row does not apply.
	osErrno []int
	// lost: the number says that the session ended, not that the server is ill.
	lost bool
}

// serverErrors names the numbers that decide by themselves, in whatever phase
// they arrive: MariaDB sends 1317, 1820 and 1969 in later phases than MySQL. The
// names are those of the server error references of MySQL 8.4 and MariaDB.
var serverErrors = []serverError{
	{number: 1040, name: "ER_CON_COUNT_ERROR", outcome: TooManyConnections},
	{number: 1203, name: "ER_TOO_MANY_USER_CONNECTIONS", outcome: TooManyConnections},
	{number: 1226, name: "ER_USER_LIMIT_REACHED", outcome: TooManyConnections},

	{number: 1044, name: "ER_DBACCESS_DENIED_ERROR", outcome: WrongCredentials},
	{number: 1045, name: "ER_ACCESS_DENIED_ERROR", outcome: WrongCredentials},
	// On admin_port; in answer to a statement it names a missing grant.
	{number: 1227, name: "ER_SPECIFIC_ACCESS_DENIED_ERROR", outcome: WrongCredentials, upTo: PhaseLogin},
	{number: 1251, name: "ER_NOT_SUPPORTED_AUTH_MODE", outcome: WrongCredentials},
	{number: 1275, name: "ER_SERVER_IS_IN_SECURE_AUTH_MODE", outcome: WrongCredentials},
	{number: 1524, name: "ER_PLUGIN_IS_NOT_LOADED", outcome: WrongCredentials},
	{number: 1698, name: "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", outcome: WrongCredentials},
	{number: 1820, name: "ER_MUST_CHANGE_PASSWORD", outcome: WrongCredentials},
	{number: 1862, name: "ER_MUST_CHANGE_PASSWORD_LOGIN", outcome: WrongCredentials},
	{number: 3118, name: "ER_ACCOUNT_HAS_BEEN_LOCKED", outcome: WrongCredentials},
	{number: 3955, name: "ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK", outcome: WrongCredentials},
	{number: 4150, name: "ER_USER_IS_BLOCKED", outcome: WrongCredentials},
	{number: 4151, name: "ER_ACCOUNT_HAS_BEEN_LOCKED", outcome: WrongCredentials},

	{number: 3159, name: "ER_SECURE_TRANSPORT_REQUIRED", outcome: TLSError},

	{number: 1042, name: "ER_BAD_HOST_ERROR", outcome: MySQLError},
	{number: 1043, name: "ER_HANDSHAKE_ERROR", outcome: MySQLError},
	{number: 1053, name: "ER_SERVER_SHUTDOWN", outcome: MySQLError},
	{number: 1129, name: "ER_HOST_IS_BLOCKED", outcome: MySQLError},
	{number: 1130, name: "ER_HOST_NOT_PRIVILEGED", outcome: MySQLError},
	{number: 3032, name: "ER_SERVER_OFFLINE_MODE", outcome: MySQLError},

	{number: 1153, name: "ER_NET_PACKET_TOO_LARGE", outcome: QueryTooLarge},
	{number: 1969, name: "ER_STATEMENT_TIMEOUT", outcome: QueryExecTimeout},
	{number: 3024, name: "ER_QUERY_TIMEOUT", outcome: QueryExecTimeout},

	{number: 1036, name: "ER_OPEN_AS_READONLY", outcome: ReadOnly, write: true},
	{number: 1290, name: "ER_OPTION_PREVENTS_STATEMENT", outcome: ReadOnly, write: true},
	{number: 1792, name: "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", outcome: ReadOnly, write: true},
	{number: 1836, name: "ER_READ_ONLY_MODE", outcome: ReadOnly, write: true},
	{number: 3989, name: "ER_SCHEMA_READ_ONLY", outcome: ReadOnly, write: true},
	// 165 is the storage engines' own "table is read only", not an errno.
	{number: 1015, name: "ER_CANT_LOCK", outcome: ReadOnly, write: true, osErrno: []int{165}},

	{number: 1021, name: "ER_DISK_FULL", outcome: DiskFull, write: true},
	{number: 1114, name: "ER_RECORD_FILE_FULL", outcome: DiskFull, write: true},
	{number: 3, name: "EE_WRITE", outcome: DiskFull, write: true, osErrno: noSpace},
	{number: 1026, name: "ER_ERROR_ON_WRITE", outcome: DiskFull, write: true, osErrno: noSpace},
	{number: 1030, name: "ER_GET_ERRNO", outcome: DiskFull, write: true, osErrno: noSpace},

	{number: 3, name: "EE_WRITE", outcome: StorageError, write: true, osErrno: badDisk},
	{number: 1026, name: "ER_ERROR_ON_WRITE", outcome: StorageError, write: true, osErrno: badDisk},
	{number: 1030, name: "ER_GET_ERRNO", outcome: StorageError, write: true, osErrno: badDisk},
	{number: 1598, name: "ER_BINLOG_LOGGING_IMPOSSIBLE", outcome: StorageError, write: true},
	{number: 3675, name: "ER_CANNOT_CREATE_TABLESPACE_FILE", outcome: StorageError, write: true},

	{number: 1205, name: "ER_LOCK_WAIT_TIMEOUT", outcome: WriteTimeout, write: true},
	{number: 1213, name: "ER_LOCK_DEADLOCK", outcome: WriteTimeout, write: true},

	{number: 1317, name: "ER_QUERY_INTERRUPTED", lost: true},
	{number: 1927, name: "ER_CONNECTION_KILLED", lost: true},
	{number: 2006, name: "CR_SERVER_GONE_ERROR", lost: true},
	{number: 2013, name: "CR_SERVER_LOST", lost: true},
	{number: 3169, name: "ER_SESSION_WAS_KILLED", lost: true},
	{number: 4031, name: "ER_CLIENT_INTERACTION_TIMEOUT", lost: true},
}

// Operating system error numbers as servers print them in their messages. They
// are Linux's and equal on the BSDs but for 122 (quota exceeded).
var (
	noSpace = []int{28, 122}
	badDisk = []int{5, 30}
)

// ByServerError returns the outcome of a probe that a server ended with an error
// number. osErrno is the operating system's error number in the message, 0 if it
// has none; phase is where the number arrived; write says that it answers the
// insert probe's statement or commit. A number that no row names is
// [MySQLError] before the statement and [QueryExecutionFailed] in answer to it.
//
// Whether the number only says that the session ended is [LostSession]; such a
// probe tries once more before this answer counts.
func ByServerError(number uint16, osErrno int, phase Phase, write bool) Outcome {
	for i := range serverErrors {
		e := &serverErrors[i]
		if e.number != number || e.lost || e.write && !write {
			continue
		}
		if e.upTo != PhaseNone && phase > e.upTo {
			continue
		}
		if e.osErrno != nil && !slices.Contains(e.osErrno, osErrno) {
			continue
		}
		return e.outcome
	}
	if phase > PhaseLogin {
		return QueryExecutionFailed
	}
	return MySQLError
}

// LostSession reports whether a server's error number says that the session was
// ended (killed, idle for too long), which says little about the server.
func LostSession(number uint16) bool {
	return slices.ContainsFunc(serverErrors, func(e serverError) bool { return e.number == number && e.lost })
}

// ServerErrorName returns the name of a server error number that decides by
// itself, such as ER_CON_COUNT_ERROR for 1040, or "".
func ServerErrorName(number uint16) string {
	for i := range serverErrors {
		if serverErrors[i].number == number {
			return serverErrors[i].name
		}
	}
	return ""
}

// ServerErrors returns the error numbers that lead to o by themselves, ascending
// and each once.
func ServerErrors(o Outcome) []uint16 {
	var numbers []uint16
	for _, e := range serverErrors {
		if e.outcome == o && !e.lost {
			numbers = append(numbers, e.number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
