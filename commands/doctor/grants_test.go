package doctor

import (
	"strings"
	"testing"

	"failwise/failover/mysql"
)

func TestGrantsOfRealServers(t *testing.T) {
	g := ParseGrants([]string{
		"GRANT PROCESS, REPLICATION CLIENT ON *.* TO `u`@`%`",
		"GRANT CONNECTION_ADMIN,SYSTEM_USER ON *.* TO `u`@`%`",
		"GRANT SELECT ON `performance\\_schema`.* TO `u`@`%`",
		"GRANT SELECT (id), INSERT, UPDATE (id, ts) ON `failwise`.`heartbeat` TO `u`@`%`",
		"GRANT ALL PRIVILEGES ON `app`.* TO `u`@`%` WITH GRANT OPTION",
		"GRANT EXECUTE ON PROCEDURE `app`.`p` TO `u`@`%`",
		"GRANT `reader`@`%` TO `u`@`%`",
		"GRANT SLAVE MONITOR ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*AB'",
	})
	for _, c := range []struct {
		privilege, scope string
		want             bool
	}{
		{"PROCESS", "*.*", true}, {"SYSTEM_USER", "*.*", true}, {"RELOAD", "*.*", false},
		{"SELECT", "performance_schema.*", true}, {"SELECT", "failwise.heartbeat", false},
		{"INSERT", "failwise.heartbeat", true}, {"UPDATE", "failwise.heartbeat", false},
		{"DROP", "app.t", true}, {"DROP", "*.*", false}, {"SLAVE MONITOR", "*.*", true}, {"PROCESS", "app.t", true},
	} {
		if got := g.Has(c.privilege, c.scope); got != c.want {
			t.Errorf("%s on %s: %v, want %v", c.privilege, c.scope, got, c.want)
		}
	}
	if len(g.Roles()) != 1 {
		t.Errorf("roles %q", g.Roles())
	}
}

// TestStatementsGiveWhatIsNeeded closes the circle: a user made by the statements
// lacks nothing but what is optional.
func TestStatementsGiveWhatIsNeeded(t *testing.T) {
	for _, v := range []mysql.Version{
		{Flavour: mysql.MySQL, Major: 5, Minor: 7}, {Flavour: mysql.MySQL, Major: 8, Minor: 4}, {Flavour: mysql.MariaDB, Major: 10, Minor: 11},
	} {
		for _, p := range []Purpose{Monitor, Act} {
			var lines []string
			for _, s := range Statements(v, p, "it's") {
				lines = append(lines, strings.TrimSuffix(s, ";"))
			}
			if !strings.HasPrefix(lines[0], "CREATE USER 'it''s'@'%' IDENTIFIED BY") {
				t.Errorf("%s", lines[0])
			}
			g := ParseGrants(lines[1:])
			for _, need := range Privileges(v, p, false) {
				if need.held(g) == need.Optional {
					t.Errorf("%s %s: %s on %s: held %v", v, p, need.Name, need.Scope, need.held(g))
				}
			}
			if p == Monitor {
				for _, no := range tooMuch(v) {
					if no.held(g) {
						t.Errorf("%s: the monitoring user gets %s", v, no.Name)
					}
				}
			}
		}
	}
}
