package topology

import (
	"fmt"
	"testing"
	"time"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// The builders below make readings of imagined servers: db1 is 10.0.0.1:3306
// with server_id 1, and so on.

type change func(*Reading)

const sourceUUID = "00000000-0000-0000-0000-00000000000"

func uuidOf(i int) string { return fmt.Sprintf("%s%d", sourceUUID, i) }

func parse(s string) gtid.Set {
	set, err := gtid.Parse(s)
	if err != nil {
		panic(err)
	}
	return set
}

// node is a writable MySQL server that follows nobody.
func node(i int, changes ...change) Reading {
	r := Reading{
		Name: fmt.Sprintf("db%d", i), Host: fmt.Sprintf("10.0.0.%d", i), Port: 3306, Address: fmt.Sprintf("10.0.0.%d:3306", i),
		Status: mysql.Status{
			Version:  mysql.Version{Flavour: mysql.MySQL, Major: 8, Minor: 4},
			ServerID: uint32(i), ServerUUID: uuidOf(i), Port: 3306,
			ReadOnly: mysql.ReadOnlyOff, GTIDMode: "ON", LogBin: true, LogReplicaUpdates: true,
			Executed: parse(uuidOf(1) + ":1-100"), Channels: mysql.Known([]mysql.Channel{}),
		},
		Locks: mysql.Known([]mysql.Lock(nil)),
	}
	for _, c := range changes {
		c(&r)
	}
	return r
}

// replica is a read-only server that follows db<source>.
func replica(i, source int, changes ...change) Reading {
	follow := func(r *Reading) {
		r.Status.ReadOnly = mysql.ReadOnlyOn
		r.Status.Channels = mysql.Known([]mysql.Channel{{
			SourceHost: fmt.Sprintf("10.0.0.%d", source), SourcePort: 3306,
			SourceUUID: uuidOf(source), SourceServerID: uint32(source),
			IO: mysql.ThreadYes, SQL: mysql.ThreadYes, AutoPosition: true,
		}})
	}
	return node(i, append([]change{follow}, changes...)...)
}

func unreadable(r *Reading) {
	r.Error = r.Name + ": connect: connection refused"
	r.Status = mysql.Status{}
}

func writable(r *Reading) { r.Status.ReadOnly = mysql.ReadOnlyOff }

func readOnly(r *Reading) { r.Status.ReadOnly = mysql.ReadOnlyOn }

func channel(edit func(*mysql.Channel)) change {
	return func(r *Reading) {
		channels, _ := r.Status.Channels.Get()
		for i := range channels {
			edit(&channels[i])
		}
	}
}

func executed(set string) change { return func(r *Reading) { r.Status.Executed = parse(set) } }

func retrieved(set string) change {
	return channel(func(c *mysql.Channel) { c.Fetched = parse(set) })
}

// mariaDB turns the node into a MariaDB server with a binlog state.
func mariaDB(state string) change {
	return func(r *Reading) {
		st, err := gtid.ParseState(state)
		if err != nil {
			panic(err)
		}
		s := &r.Status
		s.Version = mysql.Version{Flavour: mysql.MariaDB, Major: 10, Minor: 11}
		s.ServerUUID, s.Executed = "", gtid.Set{}
		s.BinlogState, s.BinlogPos, s.CurrentPos = st, st.Position(), st.Position()
		channel(func(c *mysql.Channel) { c.SourceUUID = "" })(r)
	}
}

func preference(p Preference) change { return func(r *Reading) { r.Promote = p } }

func site(s string) change { return func(r *Reading) { r.Site = s } }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func judge(readings ...Reading) Topology { return Judge(readings, Memory{}, noon) }

// remembered is the memory of a healthy cluster of three.
func remembered(t *testing.T) Memory {
	t.Helper()
	m, ok := judge(node(1), replica(2, 1), replica(3, 1)).Remember(Memory{})
	if !ok {
		t.Fatal("a healthy cluster is not remembered")
	}
	return m
}
