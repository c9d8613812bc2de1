package mysql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"failwise/failover/gtid"
)

// algebra compares set algebra with the servers' own functions on random sets.
func algebra(t *testing.T, l lab) {
	if l.isMariaDB() {
		positions(t, l)
		return
	}
	s := l.act(t, 2)
	random := rand.New(rand.NewPCG(1, 2))
	tags := []string{"", "nightly:", "_a1:"}
	v, err := s.Version(within(t, 5*time.Second))
	ok(t, "version", err)
	if !v.AtLeast(8, 3, 0) {
		tags = tags[:1]
	}
	draw := func() string {
		var parts []string
		for range random.IntN(5) {
			uuid := fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", 1+random.IntN(2))
			first := 1 + random.IntN(20)
			parts = append(parts, fmt.Sprintf("%s:%s%d-%d", uuid, tags[random.IntN(len(tags))], first, first-1+random.IntN(8)))
		}
		return strings.Join(parts, ",")
	}
	for range 300 {
		ta, tb := draw(), draw()
		a, errA := gtid.Parse(ta)
		b, errB := gtid.Parse(tb)
		if errA != nil || errB != nil {
			t.Fatalf("parse %q: %v, %q: %v", ta, errA, tb, errB)
		}
		rows, err := s.run(within(t, 5*time.Second), "test", fmt.Sprintf(
			"SELECT GTID_SUBTRACT(%[1]s, %[2]s) AS minus, GTID_SUBSET(%[1]s, %[2]s) AS subset, GTID_SUBTRACT(%[1]s, '') AS same", quote(ta), quote(tb)), "")
		ok(t, "ask", err)
		plain := func(column string) string { return strings.ReplaceAll(rows[0].text(column), "\n", "") }
		if got, want := a.Subtract(b).String(), plain("minus"); got != want {
			t.Errorf("%q minus %q = %q, the server says %q", ta, tb, got, want)
		}
		if got, want := b.Contains(a), plain("subset") == "1"; got != want {
			t.Errorf("%q contains %q = %v, the server says %v", tb, ta, got, want)
		}
		if got, want := a.String(), plain("same"); got != want {
			t.Errorf("%q prints as %q, the server says %q", ta, got, want)
		}
	}
	for _, text := range []string{
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:5-3", "3E11FA4771CA11E19E33C80AA9429562:1", " , ,", "x", "3e11fa47-71ca-11e1-9e33-c80aa9429562",
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:0", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-", "3e11fa47-71ca-11e1-9e33-c80aa9429562:9223372036854775806",
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:9223372036854775807", "3e11fa47-71ca-11e1-9e33-c80aa9429562:nightly",
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:1:nightly", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1:nightly:other:2", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1 - 5",
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:",
	} {
		_, serverErr := s.scalar(within(t, 5*time.Second), "test", "SELECT GTID_SUBTRACT("+quote(text)+", '')")
		_, err := gtid.Parse(text)
		if (err == nil) != (serverErr == nil) {
			t.Errorf("%q: ours %v, the server's %v", text, err, serverErr)
		}
	}
}

// positions compares the reach of positions with MASTER_GTID_WAIT. The server
// compares numbers alone; so the drawn positions have one server a domain.
func positions(t *testing.T, l lab) {
	s := l.act(t, 2)
	ok(t, "stop", s.StopReplication(within(t, 5*time.Second), ""))
	before := l.status(t, s)
	defer func() {
		ok(t, "restore", s.SetGTIDSlavePos(within(t, 5*time.Second), before.SlavePos))
		ok(t, "start", s.StartReplication(within(t, 5*time.Second), ""))
		l.running(t, s)
	}()
	random := rand.New(rand.NewPCG(3, 4))
	draw := func() gtid.Position {
		var parts []string
		for _, domain := range []int{5, 6, 7} {
			if random.IntN(3) > 0 {
				parts = append(parts, fmt.Sprintf("%d-1-%d", domain, 1+random.IntN(4)))
			}
		}
		p, err := gtid.ParsePosition(strings.Join(parts, ","))
		ok(t, "parse", err)
		return p
	}
	for range 100 {
		a, b := draw(), draw()
		ok(t, "set position", s.SetGTIDSlavePos(within(t, 5*time.Second), a.Max(before.SlavePos)))
		got, err := s.WaitForGTID(within(t, 5*time.Second), b.String(), time.Millisecond)
		ok(t, "ask", err)
		if want := a.Reaches(b); got != want {
			t.Errorf("%q reaches %q = %v, the server says %v", a, b, want, got)
		}
	}
}
