package storage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mountinfo = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
23 22 0:5 / /proc rw - proc proc rw
30 22 8:1 / /var/lib/mysql rw,noatime shared:1 - xfs /dev/sda1 rw,attr2
31 30 8:2 / /var/lib/mysql/log\040dir ro,noatime shared:2 master:1 - ext4 /dev/sdb ro,errors=remount-ro
32 22 7:3 / /mnt rw - ext4 /dev/loop3 rw,emergency_ro
33 22 7:4 / /mnt rw - ext4 /dev/loop4 rw
34 22 0:44 / /pool rw - btrfs /dev/sdc rw,space_cache=v2
35 22 0:50 / /nfs rw - nfs4 host:/export rw,vers=4.2
36 22 8:5 / /usr/local ro - ext4 /dev/sde rw
`

func TestMountOfAPath(t *testing.T) {
	mounts, err := readMounts(strings.NewReader(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, dev string
		want      Mount
	}{
		{"/etc", "", Mount{"/", "ext4", "/dev/vda", false, "rw,discard", "254:0", false}},
		{"/var/lib/mysql", "", Mount{"/var/lib/mysql", "xfs", "/dev/sda1", false, "rw,attr2", "8:1", false}},
		{"/var/lib/mysql/", "", Mount{"/var/lib/mysql", "xfs", "/dev/sda1", false, "rw,attr2", "8:1", false}},
		{"/var/lib/mysqlx/y", "", Mount{"/", "ext4", "/dev/vda", false, "rw,discard", "254:0", false}},
		{"/var/lib/mysql/log dir/x", "", Mount{"/var/lib/mysql/log dir", "ext4", "/dev/sdb", true, "ro,errors=remount-ro", "8:2", true}},
		{"/mnt/x", "", Mount{"/mnt", "ext4", "/dev/loop4", false, "rw", "7:4", false}}, // the last one covers the first
		{"/mnt/x", "7:3", Mount{"/mnt", "ext4", "/dev/loop3", true, "rw,emergency_ro", "7:3", true}},
		{"/srv/link", "8:1", Mount{"/var/lib/mysql", "xfs", "/dev/sda1", false, "rw,attr2", "8:1", false}}, // a link elsewhere
		{"/usr/local/x", "8:5", Mount{"/usr/local", "ext4", "/dev/sde", true, "rw", "8:5", false}},
		{"/hidden", "8:5", Mount{"/usr/local", "ext4", "/dev/sde", false, "rw", "8:5", false}}, // its own mount is out of sight
		{"/hidden", "7:3", Mount{"/mnt", "ext4", "/dev/loop3", true, "rw,emergency_ro", "7:3", true}},
		{"/nfs/a/../b", "", Mount{"/nfs", "nfs4", "host:/export", false, "rw,vers=4.2", "0:50", false}},
	} {
		got := mountOf(mounts, c.path, c.dev)
		if got == nil {
			t.Errorf("%s: none", c.path)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(Mount{})); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
	if m := mountOf(mounts, "/x", "9:9"); m != nil {
		t.Errorf("unknown device: %+v", m)
	}
	if _, err := readMounts(strings.NewReader("22 1 254:0 / / rw\n")); err == nil {
		t.Error("a line of unknown form was accepted")
	}
}

func TestBlockStatistics(t *testing.T) {
	for _, c := range []struct {
		in   string
		want blockStat
	}{
		{"  1 0 8 0 2 0 16 4 3 4 4", blockStat{finished: 3, inFlight: 3}},
		{"1 0 8 0 2 0 16 4 0 4 4 10 0 0 0 100 7\n", blockStat{finished: 113}},
		{"1 0 8 0 2 0 16 4 -1 4 4", blockStat{finished: 3}},
	} {
		if got, err := parseBlockStat(c.in); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{"", "1 2 3", "x 0 8 0 2 0 16 4 3 4 4", "1 0 8 0 2 0 16 4 x 4 4"} {
		if st, err := parseBlockStat(bad); err == nil {
			t.Errorf("%q: %+v", bad, st)
		}
	}
}

func TestProgressOfADevice(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, c := range []struct {
		name    string
		samples []blockStat // one a second
		want    Device
	}{
		{"idle", []blockStat{{7, 0}, {7, 0}, {7, 0}}, Device{Name: "sda"}},
		{"busy", []blockStat{{7, 2}, {8, 2}, {9, 2}}, Device{Name: "sda", InFlight: 2, Finished: 2, NoneFinishedFor: 1}},
		{"stuck", []blockStat{{7, 3}, {7, 3}, {7, 3}, {7, 3}}, Device{Name: "sda", InFlight: 3, NoneFinishedFor: 4}},
		{"stuck after work", []blockStat{{7, 1}, {9, 1}, {9, 4}, {9, 4}}, Device{Name: "sda", InFlight: 4, Finished: 2, NoneFinishedFor: 3}},
		{"stuck after rest", []blockStat{{7, 0}, {7, 0}, {7, 1}, {7, 1}}, Device{Name: "sda", InFlight: 1, NoneFinishedFor: 2}},
	} {
		p := &progress{name: "sda"}
		for i, s := range c.samples {
			p.sample(at(i), s)
		}
		if diff := cmp.Diff(c.want, *p.device(at(len(c.samples)))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	var none *progress
	if d := none.device(at(0)); d != nil {
		t.Error(d)
	}
}

func TestPressureFile(t *testing.T) {
	p, err := parsePressure("some avg10=25.08 avg60=9.02 avg300=2.54 total=11096847\nfull avg10=11.94 avg60=5.43 avg300=1.61 total=7487302\n")
	if err != nil || *p != (Pressure{25.08, 11.94}) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := parsePressure("some avg60=1\n"); err == nil {
		t.Error(p)
	}
}

func FuzzProcFiles(f *testing.F) {
	f.Add(mountinfo)
	f.Add("1 0 8 0 2 0 16 4 3 4 4")
	f.Add(`1 2 3 4 5\04 6 - 7 8`)
	f.Fuzz(func(t *testing.T, s string) {
		if mounts, err := readMounts(strings.NewReader(s)); err == nil {
			mountOf(mounts, "/var/lib", "")
			mountOf(mounts, "/var/lib", "8:1")
		}
		if st, err := parseBlockStat(s); err == nil && st.inFlight < 0 {
			t.Error(st)
		}
		_, _ = parsePressure(s)
	})
}

func TestTimesAreShort(t *testing.T) {
	for s, want := range map[float64]string{0: "0 ms", 0.000123: "0.12 ms", 0.00996: "10 ms", 0.0996: "100 ms", 0.25: "250 ms", 1: "1.0 s", 61.26: "61.3 s"} {
		if got := seconds(s); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
}
