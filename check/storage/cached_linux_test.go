package storage

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"failwise/check/storage/loopdisk"
)

// forget drops what the kernel keeps of a file's content.
func forget(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

func TestCached(t *testing.T) {
	disk := loopdisk.New(t, 4<<20)
	file := filepath.Join(disk.Dir, "file")
	if err := os.WriteFile(file, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(disk.Dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if !Cached(file) {
		t.Error("a file that was just written is not cached")
	}
	if !Cached(fifo) {
		t.Error("a pipe is not taken for one")
	}
	if !Cached("/proc/self/status") || !Cached("/dev/null") {
		t.Error("a file of the kernel and a device are not cached")
	}
	forget(t, file)
	if Cached(file) {
		t.Error("a file whose content was dropped is cached")
	}
	if _, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if !Cached(file) {
		t.Error("a file that was just read is not cached")
	}
	missing := filepath.Join(disk.Dir, "missing")
	if _, err := os.Stat(missing); err == nil {
		t.Fatal("it exists")
	}
	if !Cached(missing) {
		t.Error("a name that was just looked for in vain is not cached")
	}
	// Neither needs the disk.
	defer disk.Freeze()()
	if !Cached(file) || !Cached(missing) {
		t.Error("not cached while the disk is frozen")
	}
}

func TestCachedOnAFileSystemThatNeverAnswers(t *testing.T) {
	if Cached(filepath.Join(loopdisk.Silent(t), "file")) {
		t.Error("a file that nobody has read is cached")
	}
}
