package journal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What root writes into the directory of the watcher's user must stay readable for it.
func TestRootGivesItsFilesToTheOwnerOfTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal("only root can give files away")
		}
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	const uid, gid = 12345, 23456
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	cluster := filepath.Join(dir, "prod", "promotions")
	if err := MakeDir(cluster); err != nil {
		t.Fatal(err)
	}
	if err := MakeDir(cluster); err != nil {
		t.Errorf("a directory that is there: %v", err)
	}
	state, log := filepath.Join(cluster, "state.json"), filepath.Join(cluster, "log")
	if err := ReplaceFile(state, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(log, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{filepath.Dir(cluster), cluster, state, log} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: owner %d:%d, mode %v", path, s.Uid, s.Gid, info.Mode())
		}
	}
	if err := MakeDir(log); err == nil {
		t.Error("a file was taken for a directory")
	}
}
