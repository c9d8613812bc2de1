//go:build linux

package realtest

import (
	"os"
	"path/filepath"
	"testing"

	"failwise/check"
	"failwise/check/storage/loopdisk"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// everybodys is a directory in which the servers' user may write.
func everybodys(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// write makes one insert probe of the given watcher.
func (b bed) write(t *testing.T, watcher uint64) check.Result {
	t.Helper()
	p, err := check.NewProber(b.login(t, b.primary, b.Accounts().Monitor), check.Insert, check.Options{Watcher: watcher})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return p.Probe(t.Context())
}

// TestBinaryLogOnABrokenDisk has a disk that answers every write with EIO below the
// binary log alone: MariaDB refuses the write and lives, MySQL says so and aborts
// (binlog_error_action=ABORT_SERVER).
func TestBinaryLogOnABrokenDisk(t *testing.T) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			disk := loopdisk.New(t, 32<<20)
			c := sandbox.ForTest(t, sandbox.Options{
				Flavour: flavour, Nodes: 1, Durable: true,
				Config: []string{"log_bin=" + filepath.Join(everybodys(t, disk.Dir), "binlog")},
			})
			b := bed{Cluster: c, primary: c.Node(0)}
			expect(t, b.write(t, 7), rules.OK, 0)
			disk.ShutDown()
			r := b.write(t, 7)
			t.Log(r.Message)
			if flavour == sandbox.MariaDB {
				number(t, r, rules.StorageError, 3, 1026)
				expect(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.OK, 0)
				return
			}
			number(t, r, rules.StorageError, 1598)
		})
	}
}

// TestFullDiskUnderTheHeartbeatTable fills the disk of the data directory, with the
// binary log on another, until the table's tablespace cannot grow.
func TestFullDiskUnderTheHeartbeatTable(t *testing.T) {
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			size := int64(128 << 20)
			if flavour == sandbox.MySQL {
				size = 384 << 20
			}
			c := sandbox.ForTest(t, sandbox.Options{
				Flavour: flavour, Nodes: 1, LoopBytes: size,
				Config: []string{"log_bin=" + filepath.Join(everybodys(t, t.TempDir()), "binlog")},
			})
			b := bed{Cluster: c, primary: c.Node(0)}
			// Rows of which two fill a page, so that some dozens need more of them.
			execute(t, b.primary, "ALTER TABLE failwise.heartbeat ADD pad CHAR(255) CHARACTER SET latin1 NOT NULL DEFAULT 'x'")
			for i := range 25 {
				execute(t, b.primary, "ALTER TABLE failwise.heartbeat ADD pad"+string(rune('a'+i))+" CHAR(255) CHARACTER SET latin1 NOT NULL DEFAULT 'x'")
			}
			expect(t, b.write(t, 1), rules.OK, 0)
			a := sandbox.Break(t, "disk-full", b.primary)
			var r check.Result
			for watcher := uint64(2); watcher < 500; watcher++ {
				if r = b.write(t, watcher); r.Outcome != rules.OK {
					break
				}
			}
			t.Log(r.Message)
			number(t, r, rules.DiskFull, 1114)
			expect(t, b.write(t, 1), rules.OK, 0) // a row that is there needs no room
			heal(t, b, a)
			expect(t, b.write(t, 600), rules.OK, 0)
		})
	}
}
