package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"failwise/failover/mysql"
	"failwise/failover/topology"
)

// healthy is a replica about which there is nothing to say.
func healthy(flavour mysql.Flavour) Facts {
	v := mysql.Version{Flavour: flavour, Major: 8, Minor: 4, Text: "8.4.3"}
	on := map[string]string{
		"max_connect_errors": "1000000", "skip_name_resolve": "OFF", "log_bin": "ON", "log_replica_updates": "ON", "gtid_mode": "ON",
		"read_only": "ON", "report_host": "db2", "replica_net_timeout": "10", "rpl_semi_sync_source_enabled": "OFF",
	}
	if flavour == mysql.MariaDB {
		v.Major, v.Minor = 10, 11
		on["gtid_strict_mode"] = "ON"
		on["log_slave_updates"] = "ON"
		on["slave_net_timeout"] = "10"
	}
	f := Facts{Settings: on, NetTimeoutLimit: 80 * time.Second}
	f.Node.Name, f.Node.Host = "db2", "db2"
	f.Node.Links = []topology.Link{{Source: "db1"}}
	f.Node.Status = mysql.Status{
		Version: v, ReadOnly: mysql.ReadOnlyOn,
		Channels: mysql.Known([]mysql.Channel{{HeartbeatPeriod: mysql.Known(time.Second)}}),
	}
	for _, p := range []Purpose{Monitor, Act} {
		f.Users = append(f.Users, User{Purpose: p, Name: "fw_" + p.String(), Grants: grantsOf(v, p)})
	}
	return f
}

func grantsOf(v mysql.Version, p Purpose) Grants {
	return ParseGrants(Grant(Privileges(v, p, true), "u"))
}

func TestHealthyServerHasNoFinding(t *testing.T) {
	for _, flavour := range []mysql.Flavour{mysql.MySQL, mysql.MariaDB} {
		if list := Examine(healthy(flavour)); len(list) > 0 {
			t.Errorf("%s: %+v", flavour, list)
		}
	}
}

func TestEachRuleFindsItsCause(t *testing.T) {
	monitor, act := 0, 1
	tested := map[string]bool{}
	for _, c := range []struct {
		rule   string
		only   mysql.Flavour // 0 for both
		broken func(*Facts)
		text   string
	}{
		{"login", 0, func(f *Facts) { f.Users[act].LoginErr = &driver.MySQLError{Number: 1045, Message: "denied"} }, "server error 1045: denied"},
		{"privileges", mysql.MariaDB, func(f *Facts) { f.Users[act].Grants = Grants{} }, "lacks SLAVE MONITOR on *.*"},
		{"privileges", mysql.MySQL, func(f *Facts) { f.Users[monitor].Grants = Grants{} }, "lacks REPLICATION CLIENT on *.*, SELECT on performance_schema.*, SELECT on failwise.heartbeat"},
		{"optional_privileges", mysql.MySQL, func(f *Facts) {
			delete(f.Users[act].Grants.scopes["*.*"], "SYSTEM_USER")
		}, "lacks SYSTEM_USER on *.*: end applier threads"},
		{"too_many_privileges", 0, func(f *Facts) { f.Users[monitor].Grants.scopes["*.*"]["SUPER"] = true }, "has SUPER"},
		{"one_user", 0, func(f *Facts) { f.Users = f.Users[act:] }, "both probes and acts"},
		{"admin_port", mysql.MySQL, func(f *Facts) { f.Users[act].AdminErr = &driver.MySQLError{Number: 1227, Message: "no"} }, "admin port"},
		{"settings", 0, func(f *Facts) { f.SettingsErr = errors.New("gone"); f.Settings = nil }, "cannot be read: gone"},
		{"heartbeat_table", 0, func(f *Facts) { f.HeartbeatErrno = 1146; f.IsPrimary = true; f.Node.Links = nil }, "there is no table failwise.heartbeat"},
		{"gtid", mysql.MySQL, func(f *Facts) { f.Settings["gtid_mode"] = "OFF_PERMISSIVE" }, "gtid_mode is OFF_PERMISSIVE"},
		{"binary_log", 0, func(f *Facts) { f.Settings["log_bin"] = "OFF" }, "log_bin is off"},
		{"binary_log", mysql.MariaDB, func(f *Facts) { f.Settings["log_slave_updates"] = "OFF"; delete(f.Settings, "log_replica_updates") }, "log_slave_updates is off"},
		{"gtid_strict_mode", mysql.MariaDB, func(f *Facts) { f.Settings["gtid_strict_mode"] = "OFF" }, "gtid_strict_mode is off"},
		{"read_only", 0, func(f *Facts) { f.Node.Status.ReadOnly = mysql.ReadOnlyOff }, "writable"},
		{"heartbeat_period", 0, func(f *Facts) {
			f.Node.Status.Channels = mysql.Known([]mysql.Channel{{HeartbeatPeriod: mysql.Known(30 * time.Second)}})
		}, "is 30s"},
		{"net_timeout", mysql.MySQL, func(f *Facts) { f.Settings["replica_net_timeout"] = "3600" }, "1h0m0s"},
		{"semi_sync_on_replica", 0, func(f *Facts) { f.Settings["rpl_semi_sync_source_enabled"] = "ON" }, "source side is on"},
		{"semi_sync_wait_no_replica", 0, func(f *Facts) {
			f.IsPrimary, f.Node.Links = true, nil
			f.Settings["rpl_semi_sync_master_enabled"], f.Settings["rpl_semi_sync_master_wait_no_slave"] = "ON", "OFF"
		}, "wait_no_slave is off"},
		{"blocked_host", 0, func(f *Facts) { f.Settings["max_connect_errors"] = "100" }, "error 1129"},
		{"report_host", 0, func(f *Facts) { f.Settings["report_host"] = "" }, "report_host is not set"},
		{"clock", 0, func(f *Facts) { f.Skew = -5 * time.Second }, "-5s off"},
	} {
		tested[c.rule] = true
		for _, flavour := range []mysql.Flavour{mysql.MySQL, mysql.MariaDB} {
			if c.only != 0 && c.only != flavour {
				continue
			}
			f := healthy(flavour)
			c.broken(&f)
			list := Examine(f)
			if len(list) != 1 || list[0].Rule != c.rule || !strings.Contains(list[0].Text, c.text) || list[0].Node != "db2" {
				t.Errorf("%s on %s: %+v", c.rule, flavour, list)
			}
		}
	}
	for _, r := range rules() {
		if !tested[r.name] {
			t.Errorf("rule %s has no test", r.name)
		}
	}
}
