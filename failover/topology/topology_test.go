package topology

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"failwise/failover"
	"failwise/failover/mysql"
)

func ruleNames(t Topology) []string {
	var names []string
	for _, f := range t.Findings {
		names = append(names, f.Rule)
	}
	return slices.Compact(names)
}

func TestPrimaryIsTheOneThatFollowsNobodyAndIsFollowed(t *testing.T) {
	stranger := channel(func(c *mysql.Channel) {
		c.SourceHost, c.SourceUUID, c.SourceServerID = "elsewhere", "", 0
	})
	for _, c := range []struct {
		name     string
		readings []Reading
		primary  string
		dead     bool
		rules    []string
	}{
		{"healthy", []Reading{node(1), replica(2, 1), replica(3, 1)}, "db1", false, nil},
		{"configured order does not matter", []Reading{replica(2, 1), replica(3, 1), node(1)}, "db1", false, nil},
		{"one node", []Reading{node(1)}, "db1", false, nil},
		{"dead primary that a majority follows", []Reading{node(1, unreadable), replica(2, 1), replica(3, 1)}, "db1", true, []string{"unreadable"}},
		{"dead primary without a majority", []Reading{node(1, unreadable), replica(2, 1, unreadable), replica(3, 1)}, "", false,
			[]string{"unproven_primary", "unreadable"}},
		{"dead primary, one replica detached", []Reading{node(1, unreadable), replica(2, 1), node(3, readOnly)}, "", false,
			[]string{"unproven_primary", "unreadable"}},
		{"half of four is no majority", []Reading{node(1, unreadable), replica(2, 1), replica(3, 1), replica(4, 1, unreadable)}, "", false,
			[]string{"unproven_primary", "unreadable"}},
		{"two primaries", []Reading{node(1), replica(2, 1), node(3), replica(4, 3)}, "", false, []string{"two_primaries"}},
		{"nobody follows", []Reading{node(1), node(2)}, "", false, []string{"no_primary"}},
		{"ring", []Reading{replica(1, 2, writable), replica(2, 1)}, "", false, []string{"ring"}},
		{"writable replica", []Reading{node(1), replica(2, 1, writable), replica(3, 1)}, "db1", false, []string{"writable_replica"}},
		{"returned primary that nobody follows", []Reading{node(1), node(2), replica(3, 2)}, "db2", false, []string{"writable_replica", "detached"}},
		{"read-only primary", []Reading{node(1, readOnly), replica(2, 1)}, "db1", false, []string{"read_only_primary"}},
		{"chain", []Reading{node(1), replica(2, 1), replica(3, 2)}, "db1", false, []string{"chain"}},
		{"a stranger above", []Reading{replica(1, 9, stranger, writable), replica(2, 1)}, "db1", false, []string{"stranger"}},
		{"duplicate server id", []Reading{node(1), replica(2, 1, func(r *Reading) { r.Status.ServerID = 1 })}, "db1", false, []string{"duplicate_identity"}},
		{"mixed flavours", []Reading{node(1), replica(2, 1, mariaDB("0-1-1"))}, "db1", false, []string{"mixed_flavours"}},
		{"threads stopped", []Reading{node(1), replica(2, 1, channel(func(c *mysql.Channel) { c.IO, c.SQL = mysql.ThreadNo, mysql.ThreadNo }))},
			"db1", false, []string{"io_stopped", "sql_stopped"}},
		{"no gtid", []Reading{node(1), replica(2, 1, channel(func(c *mysql.Channel) { c.AutoPosition = false }))}, "db1", false, []string{"no_gtid"}},
		{"channels unknown", []Reading{node(1), replica(2, 1), replica(3, 1, func(r *Reading) { r.Status.Channels = mysql.Fact[[]mysql.Channel]{} })},
			"db1", false, []string{"unknown_channels"}},
		{"everything dead", []Reading{node(1, unreadable), replica(2, 1, unreadable)}, "", false, []string{"primary_unread"}},
		{"a majority cannot be read", []Reading{node(1, unreadable), node(2, unreadable), node(3)}, "", false, []string{"primary_unread"}},
		{"a majority can be read and nobody follows", []Reading{node(1, unreadable), node(2), node(3)}, "", false, []string{"no_primary", "unreadable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(c.readings...)
			if got.Primary != c.primary || got.PrimaryDead != c.dead {
				t.Errorf("primary %q dead %v, want %q %v", got.Primary, got.PrimaryDead, c.primary, c.dead)
			}
			if diff := cmp.Diff(c.rules, ruleNames(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, f := range got.Findings {
				if f.Text == "" || f.Fix == "" {
					t.Errorf("finding without text or fix: %+v", f)
				}
			}
			holds := slices.ContainsFunc(got.Findings, func(f Finding) bool { return f.Holds })
			if got.Primary == "" && !holds {
				t.Error("no primary and nothing that holds")
			}
			for _, n := range got.Nodes {
				if (n.Role == failover.Primary) != (n.Name == c.primary) {
					t.Errorf("%s has role %v", n.Name, n.Role)
				}
			}
		})
	}
}

func TestSourceIsMatchedByAddressNameAndIdentity(t *testing.T) {
	named := func(host string, port int) change {
		return channel(func(c *mysql.Channel) { c.SourceHost, c.SourcePort, c.SourceUUID, c.SourceServerID = host, port, "", 0 })
	}
	resolved := func(r *Reading) {
		r.SourceIPs = map[string][]netip.Addr{"db-one.example": {netip.MustParseAddr("10.0.0.1")}}
	}
	withIP := func(r *Reading) { r.IPs = []netip.Addr{netip.MustParseAddr("10.0.0.1")} }
	for _, c := range []struct {
		name      string
		primary   change
		follower  []change
		wantMatch bool
	}{
		{"by configured address", nil, []change{named("10.0.0.1", 3306)}, true},
		{"by report_host", func(r *Reading) { r.Status.ReportHost, r.Status.ReportPort = "Reported", 3306 }, []change{named("reported", 3306)}, true},
		{"by host name", func(r *Reading) { r.Status.Hostname = "alpha" }, []change{named("ALPHA", 3306)}, true},
		{"by resolved address", withIP, []change{named("db-one.example", 3306), resolved}, true},
		{"by resolved address, other port", withIP, []change{named("db-one.example", 3307), resolved}, false},
		{"by mapped address", withIP, []change{named("::ffff:10.0.0.1", 3306)}, true},
		{"by identity behind another address", nil, []change{channel(func(c *mysql.Channel) { c.SourceHost = "vip" })}, true},
		{"identity of a connection wins over a stale address", nil, []change{channel(func(c *mysql.Channel) { c.SourceHost = "10.0.0.3" })}, true},
		{"unknown", nil, []change{named("elsewhere", 3306)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var changes []change
			if c.primary != nil {
				changes = append(changes, c.primary)
			}
			got := judge(node(1, changes...), replica(2, 1, c.follower...), replica(3, 1))
			n, _ := got.Node("db2")
			if matched := slices.Equal(n.Follows(), []string{"db1"}); matched != c.wantMatch {
				t.Errorf("follows %v, strangers %v; want match %v", n.Follows(), n.Strangers(), c.wantMatch)
			}
		})
	}
}

func TestMemoryMakesADeadPrimaryKnown(t *testing.T) {
	memory := remembered(t)
	for _, c := range []struct {
		name     string
		readings []Reading
		primary  string
	}{
		{"no majority", []Reading{node(1, unreadable), replica(2, 1), replica(3, 1, unreadable)}, "db1"},
		{"known by identity behind another name", []Reading{node(1, unreadable),
			replica(2, 1, channel(func(c *mysql.Channel) { c.SourceHost = "vip" })), replica(3, 1)}, "db1"},
		{"nothing readable", []Reading{node(1, unreadable), replica(2, 1, unreadable), replica(3, 1, unreadable)}, "db1"},
		{"replicas dead, primary alive", []Reading{node(1), replica(2, 1, unreadable), replica(3, 1, unreadable)}, "db1"},
		{"another is followed now", []Reading{node(1, unreadable), node(2), replica(3, 2)}, "db2"},
		{"a chain below it", []Reading{node(1, unreadable), replica(2, 1), replica(3, 2)}, "db1"},
		{"a replica follows a stranger", []Reading{node(1, unreadable), replica(2, 1), replica(3, 8)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.readings, memory, noon)
			if got.Primary != c.primary {
				t.Errorf("primary %q, want %q; findings %+v", got.Primary, c.primary, got.Findings)
			}
			if got.Primary == "db1" && got.History.IsEmpty() {
				t.Error("what the primary had is forgotten")
			}
		})
	}
}

func TestMemorySurvivesJSONAndSicknessAndOneDeadNode(t *testing.T) {
	memory := remembered(t)
	text, err := json.Marshal(memory)
	if err != nil {
		t.Fatal(err)
	}
	var again Memory
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(again)
	if err != nil || string(back) != string(text) {
		t.Errorf("%s became %s, %v", text, back, err)
	}
	if kept, ok := judge(node(1), node(2)).Remember(memory); ok || kept.Primary != "db1" {
		t.Errorf("a sick topology was remembered: %+v", kept)
	}
	kept, ok := judge(node(1), replica(2, 1), replica(3, 1, unreadable)).Remember(memory)
	if n, found := kept.Node("db3"); !ok || !found || n.ServerUUID != uuidOf(3) {
		t.Errorf("db3 was forgotten: %+v", kept)
	}
}

func TestTopologySurvivesJSON(t *testing.T) {
	want := judge(node(1, mariaDB("0-1-8")), replica(2, 1, mariaDB("0-1-8,7-2-9")), replica(3, 1, unreadable))
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Topology
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(got)
	if err != nil || string(back) != string(text) {
		t.Errorf("%s\nbecame\n%s, %v", text, back, err)
	}
}

func TestTreeShowsWhoFollowsWhom(t *testing.T) {
	tree := judge(node(1), replica(2, 1, channel(func(c *mysql.Channel) { c.IO, c.IOErrno = mysql.ThreadConnecting, 2003 })), replica(3, 2), replica(4, 1, unreadable)).Tree()
	const want = `db1 10.0.0.1:3306 primary mysql 8.4.0 writable 00000000-0000-0000-0000-000000000001:1-100
` + "`" + `- db2 10.0.0.2:3306 replica mysql 8.4.0 read-only 00000000-0000-0000-0000-000000000001:1-100 io=Connecting(2003) sql=Yes lag=unknown
   ` + "`" + `- db3 10.0.0.3:3306 replica mysql 8.4.0 read-only 00000000-0000-0000-0000-000000000001:1-100 io=Yes sql=Yes lag=unknown
db4 10.0.0.4:3306 replica unreadable
! db4: unreadable: db4: connect: connection refused
  hint: see ` + "`failwise check connect db4`" + `
! db3: chain: it follows db2, not the primary
  hint: attach it to the primary, or leave it: it cannot be promoted and is not repointed
! db2: io_stopped: its IO thread is not connected: Connecting, error 2003
  hint: see the server's Last_IO_Error, then START REPLICA IO_THREAD
`
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ring := judge(replica(1, 2), replica(2, 1)).Tree(); strings.Count(ring, "\ndb2")+strings.Count(ring, "`- db2") != 1 || !strings.Contains(ring, "db1 ") {
		t.Errorf("ring:\n%s", ring)
	}
}
