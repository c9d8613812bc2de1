package doctor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"failwise/check"
	"failwise/failover/mysql"
)

// Bounds of what is reported.
const (
	skewLimit      = 2 * time.Second
	heartbeatLimit = 2 * time.Second
	safeErrors     = 10000 // max_connect_errors
)

// rules is the diagnosis of a server, in the order of its report.
func rules() []rule {
	return []rule{
		{"login", Problem, loginFails},
		{"privileges", Problem, lacksPrivileges},
		{"optional_privileges", Warning, lacksOptional},
		{"too_many_privileges", Warning, hasTooMuch},
		{"one_user", Warning, oneUser},
		{"admin_port", Problem, adminPortFails},
		{"settings", Warning, settingsUnknown},
		{"heartbeat_table", Problem, heartbeatTable},
		{"gtid", Problem, gtidOff},
		{"binary_log", Problem, binaryLogOff},
		{"gtid_strict_mode", Warning, gtidNotStrict},
		{"read_only", Warning, writableReplica},
		{"heartbeat_period", Warning, slowHeartbeat},
		{"net_timeout", Warning, netTimeout},
		{"semi_sync_on_replica", Warning, semiSyncOnReplica},
		{"semi_sync_wait_no_replica", Warning, semiSyncGivesUp},
		{"blocked_host", Warning, blocksProbes},
		{"report_host", Warning, reportHost},
		{"clock", Warning, clockSkew},
	}
}

func (f Facts) setting(names ...string) (string, bool) {
	for _, n := range names {
		if v, found := f.Settings[n]; found {
			return v, true
		}
	}
	return "", false
}

func (f Facts) on(names ...string) bool {
	v, _ := f.setting(names...)
	return v == "1" || strings.EqualFold(v, "ON")
}

func (f Facts) version() mysql.Version { return f.Node.Status.Version }

func (f Facts) mariadb() bool { return f.version().Flavour == mysql.MariaDB }

func serverText(err error) string {
	var e *driver.MySQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("server error %d: %s", e.Number, e.Message)
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func loginFails(f Facts) []found {
	var list []found
	for _, u := range f.Users {
		if u.LoginErr != nil {
			list = append(list, found{
				fmt.Sprintf("user %s cannot log in or read its grants: %s", u.Name, serverText(u.LoginErr)),
				[]string{"failwise check connect " + f.Node.Name + " -v", "failwise doctor --statements prints what creates the users"},
			})
		}
	}
	return list
}

func (f Facts) lacks(optional bool) []found {
	if !f.Node.Readable() {
		return nil
	}
	var list []found
	for _, u := range f.Users {
		if u.LoginErr != nil {
			continue
		}
		var missing []Privilege
		var names, why []string
		for _, p := range Privileges(f.version(), u.Purpose, f.AdminPort) {
			if p.Optional == optional && !p.held(u.Grants) {
				missing = append(missing, p)
				names = append(names, p.Name+" on "+p.Scope)
				why = append(why, p.Why)
			}
		}
		if len(missing) == 0 {
			continue
		}
		text := fmt.Sprintf("user %s (%s) lacks %s", u.Name, u.Purpose, strings.Join(names, ", "))
		if optional {
			text += ": " + strings.Join(why, "; ")
		}
		if roles := u.Grants.Roles(); len(roles) > 0 {
			text += "; what its roles give is not known: " + strings.Join(roles, ", ")
		}
		list = append(list, found{text, Grant(missing, u.Name)})
	}
	return list
}

func lacksPrivileges(f Facts) []found { return f.lacks(false) }

func lacksOptional(f Facts) []found { return f.lacks(true) }

func hasTooMuch(f Facts) []found {
	var list []found
	for _, u := range f.Users {
		if u.Purpose != Monitor || u.LoginErr != nil || !f.Node.Readable() {
			continue
		}
		for _, p := range tooMuch(f.version()) {
			if p.held(u.Grants) {
				list = append(list, found{
					fmt.Sprintf("monitoring user %s has %s: %s", u.Name, p.Name, p.Why),
					[]string{fmt.Sprintf("REVOKE %s ON %s FROM %s;", p.Name, p.Scope, account(u.Name))},
				})
			}
		}
	}
	return list
}

func oneUser(f Facts) []found {
	if len(f.Users) != 1 || !f.Node.Readable() || f.Users[0].LoginErr != nil {
		return nil
	}
	return one(fmt.Sprintf("user %s both probes and acts: it writes through read_only and takes the DBA's spare session", f.Users[0].Name),
		"configure a user of its own for acting: manage.user and manage.password_file")
}

func adminPortFails(f Facts) []found {
	for _, u := range f.Users {
		if u.AdminErr != nil {
			fix := "check admin_port in the configuration and on the server (MySQL: admin_port; MariaDB: extra_port)"
			var e *driver.MySQLError
			if errors.As(u.AdminErr, &e) && e.Number == 1227 {
				fix = Grant([]Privilege{{Name: "SERVICE_CONNECTION_ADMIN", Scope: everywhere}}, u.Name)[0]
			}
			return one(fmt.Sprintf("user %s cannot log in at the admin port: %s", u.Name, serverText(u.AdminErr)), fix)
		}
	}
	return nil
}

func settingsUnknown(f Facts) []found {
	if f.SettingsErr == nil {
		return nil
	}
	return one("its settings cannot be read: " + serverText(f.SettingsErr))
}

// heartbeatTable: 1049 no such database, 1146 no such table, 1142 and 1044 no
// privilege to look.
func heartbeatTable(f Facts) []found {
	what := "a promotion could not prove the new primary by a write"
	if f.Insert {
		what = "insert probes fail, and " + what
	}
	switch f.HeartbeatErrno {
	case 1049, 1146:
		if !f.IsPrimary && len(f.Node.Links) > 0 {
			return nil // it comes from the primary
		}
		var fix []string
		for _, statement := range check.HeartbeatDDL() {
			fix = append(fix, statement+";")
		}
		return one("there is no table "+check.HeartbeatTable+": "+what, fix...)
	case 0, 1044, 1142: // missing privileges are reported as such
		return nil
	default:
		return one(fmt.Sprintf("table %s cannot be read: server error %d", check.HeartbeatTable, f.HeartbeatErrno))
	}
}

func gtidOff(f Facts) []found {
	if mode, has := f.setting("gtid_mode"); has && !f.mariadb() && !strings.EqualFold(mode, "ON") {
		return one("gtid_mode is "+mode+": positions of replicas cannot be compared, nothing can be promoted",
			"enforce_gtid_consistency=ON, then gtid_mode=ON step by step (MySQL manual, \"Enabling GTID Transactions Online\")")
	}
	return nil
}

func binaryLogOff(f Facts) []found {
	var list []found
	if _, has := f.setting("log_bin"); has && !f.on("log_bin") {
		list = append(list, found{"log_bin is off: it cannot become a primary", []string{"log_bin in the server's option file, and a restart"}})
	}
	if _, has := f.setting("log_slave_updates", "log_replica_updates"); has && !f.on("log_slave_updates", "log_replica_updates") {
		name := "log_replica_updates"
		if f.mariadb() || !f.version().AtLeast(8, 0, 26) {
			name = "log_slave_updates"
		}
		list = append(list, found{name + " is off: it cannot become a primary", []string{name + "=ON in the server's option file, and a restart"}})
	}
	return list
}

func gtidNotStrict(f Facts) []found {
	if !f.mariadb() || f.on("gtid_strict_mode") || len(f.Settings) == 0 {
		return nil
	}
	return one("gtid_strict_mode is off: a diverged node can follow a primary without an error",
		"SET GLOBAL gtid_strict_mode=ON;", "gtid_strict_mode=ON in the server's option file")
}

func writableReplica(f Facts) []found {
	if f.IsPrimary || len(f.Node.Links) == 0 || !f.Node.Status.Writable() {
		return nil
	}
	statement := "SET GLOBAL super_read_only=ON;"
	if f.mariadb() {
		statement = "SET GLOBAL read_only=ON;"
	}
	return one("this replica is writable", statement, "read_only=ON in the server's option file, so that it also starts so")
}

func slowHeartbeat(f Facts) []found {
	var list []found
	for _, c := range f.Node.Status.Channels.Or(nil) {
		period, known := c.HeartbeatPeriod.Get()
		if !known || period > 0 && period <= heartbeatLimit {
			continue
		}
		fix := "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD=1; START REPLICA;"
		if f.mariadb() {
			fix = "STOP SLAVE; CHANGE MASTER TO MASTER_HEARTBEAT_PERIOD=1; START SLAVE; -- once the relay log is applied"
		}
		list = append(list, found{
			fmt.Sprintf("the heartbeat period of its replication is %s: above %s only a restart of its IO thread shows whether it sees the primary", period, heartbeatLimit),
			[]string{fix},
		})
	}
	return list
}

func netTimeout(f Facts) []found {
	text, has := f.setting("replica_net_timeout", "slave_net_timeout")
	seconds, err := strconv.Atoi(text)
	timeout := time.Duration(seconds) * time.Second
	if !has || err != nil || f.NetTimeoutLimit <= 0 || timeout <= f.NetTimeoutLimit || len(f.Node.Links) == 0 {
		return nil
	}
	name := "replica_net_timeout"
	if f.mariadb() || !f.version().AtLeast(8, 0, 26) {
		name = "slave_net_timeout"
	}
	return one(fmt.Sprintf("%s is %s, longer than the shortest fatal threshold %s: the replica may still believe in a primary that is given up", name, timeout, f.NetTimeoutLimit),
		fmt.Sprintf("SET GLOBAL %s=%d; -- and restart its replication", name, max(1, int(f.NetTimeoutLimit.Seconds()/2))))
}

func semiSyncOnReplica(f Facts) []found {
	if f.IsPrimary || len(f.Node.Links) == 0 || !f.on("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled") {
		return nil
	}
	name := "rpl_semi_sync_source_enabled"
	if _, has := f.setting(name); !has {
		name = "rpl_semi_sync_master_enabled"
	}
	return one("semi-sync's source side is on at this replica: what it applies waits for acknowledgements that nobody sends",
		"SET GLOBAL "+name+"=OFF; -- a promotion switches it on")
}

func semiSyncGivesUp(f Facts) []found {
	const name = "rpl_semi_sync_master_wait_no_slave"
	if _, has := f.setting(name); !has || !f.IsPrimary || !f.on("rpl_semi_sync_master_enabled") || f.on(name) {
		return nil
	}
	return one(name+" is off: with no replica attached commits are acknowledged at once, and can be lost", "SET GLOBAL "+name+"=ON;")
}

func blocksProbes(f Facts) []found {
	text, has := f.setting("max_connect_errors")
	limit, err := strconv.ParseUint(text, 10, 64)
	if !has || err != nil || limit >= safeErrors || f.on("skip_name_resolve") {
		return nil
	}
	return one(fmt.Sprintf("max_connect_errors is %d and skip_name_resolve is off: after so many handshakes cut short, as by a freeze, the server refuses this host (error 1129)", limit),
		"SET GLOBAL max_connect_errors=1000000;", "or skip_name_resolve=ON in the server's option file")
}

func reportHost(f Facts) []found {
	if v, has := f.setting("report_host"); !has || v != "" || len(f.Node.Links) == 0 {
		return nil
	}
	return one("report_host is not set: the primary's list of replicas does not name it", "report_host="+f.Node.Host+" in the server's option file")
}

func clockSkew(f Facts) []found {
	if f.Skew.Abs() <= skewLimit+f.SkewError {
		return nil
	}
	return one(fmt.Sprintf("its clock is %s off this host's: the age of heartbeats is as much off", f.Skew.Round(time.Millisecond)), "run an NTP client on both hosts")
}
