package loopdisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a mounted file system on a loop device.
type Disk struct {
	// Dir is where it is mounted.
	Dir string
	// Device is the loop device, for instance /dev/loop3.
	Device string

	t      testing.TB
	number string // major:minor
	under  *Disk
	heal   []func() error
	faults []func() error
}

// New makes a disk of the given size in bytes, at least 4 MiB.
func New(t testing.TB, size int64) *Disk {
	t.Helper()
	return mounted(t, nil, size)
}

// NewOn makes a disk whose image lies on another one: when that is frozen, requests
// to this device stay in flight.
func NewOn(under *Disk, size int64) *Disk {
	under.t.Helper()
	return mounted(under.t, under, size)
}

func mounted(t testing.TB, under *Disk, size int64) *Disk {
	t.Helper()
	if os.Geteuid() != 0 {
		unable(t, "a loop mount needs root")
	}
	for _, tool := range []string{"losetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(tool); err != nil {
			unable(t, fmt.Sprintf("a loop mount needs %s: %v", tool, err))
		}
	}
	// Not t.TempDir: that is removed at the end without regard to a mount in it.
	parent := ""
	if under != nil {
		parent = under.Dir
	}
	root, err := os.MkdirTemp(parent, "failwise-disk-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	d := &Disk{t: t, under: under, Dir: filepath.Join(root, "mnt")}
	t.Cleanup(d.remove)
	d.undo("remove the image", func() error { return os.RemoveAll(root) })
	image := filepath.Join(root, "image")
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	d.tool("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,nodiscard", image)
	d.Device = strings.TrimSpace(d.tool("losetup", "--find", "--show", image))
	d.undo("detach the loop device", func() error { _, err := run("losetup", "--detach", d.Device); return err })
	if err := unix.Mount(d.Device, d.Dir, "ext4", unix.MS_NOATIME, ""); err != nil {
		t.Fatalf("mount %s: %v", d.Device, err)
	}
	d.undo("unmount", func() error { return eventually(func() error { return unix.Unmount(d.Dir, 0) }) })
	var st unix.Stat_t
	if err := unix.Stat(d.Dir, &st); err != nil {
		t.Fatal(err)
	}
	d.number = fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	return d
}

func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Number is the device's number, major:minor.
func (d *Disk) Number() string { return d.number }

func (d *Disk) undo(what string, do func() error) {
	d.heal = append(d.heal, func() error {
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// remove undoes everything, last first; before that the faults of the disk under
// this one, on which it could hang.
func (d *Disk) remove() {
	if d.under != nil {
		for _, heal := range d.under.faults {
			if err := heal(); err != nil {
				d.t.Error(err)
			}
		}
	}
	for i := len(d.heal) - 1; i >= 0; i-- {
		if err := d.heal[i](); err != nil {
			d.t.Error(err)
		}
	}
}

// fault registers heal to run at the end of the test at the latest and returns it;
// it runs once.
func (d *Disk) fault(what string, heal func() error) (healed func()) {
	done := false
	once := func() error {
		if done {
			return nil
		}
		done = true
		return heal()
	}
	d.undo(what, once)
	d.faults = append(d.faults, once)
	return func() {
		d.t.Helper()
		if err := once(); err != nil {
			d.t.Errorf("%s: %v", what, err)
		}
	}
}

// Freeze stops all writes to the file system above the device, as fsfreeze(8)
// does, until heal.
func (d *Disk) Freeze() (heal func()) {
	const fifreeze, fithaw = 0xC0045877, 0xC0045878
	d.t.Helper()
	if err := ioctl(d.Dir, fifreeze); err != nil {
		d.t.Fatalf("freeze: %v", err)
	}
	return d.fault("thaw", func() error { return ioctl(d.Dir, fithaw) })
}

// ShutDown makes the file system answer everything with EIO until the end of the
// test, as ext4 does after an error (EXT4_IOC_SHUTDOWN).
func (d *Disk) ShutDown() {
	const shutdown, nologflush = 0x8004587D, 2
	d.t.Helper()
	f, err := os.Open(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, nologflush); err != nil {
		d.t.Fatalf("shut down: %v", err)
	}
}

// Fill writes until nothing more fits, also into what is reserved for root, and
// returns what makes room again.
func (d *Disk) Fill() (heal func()) {
	d.t.Helper()
	name := filepath.Join(d.Dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size >= 1; size /= 2 {
		block := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			d.t.Fatalf("fill: %v", err)
		}
	}
	return d.fault("make room", func() error { return os.Remove(name) })
}

// ReadOnly remounts the disk read-only until heal.
func (d *Disk) ReadOnly() (heal func()) {
	d.t.Helper()
	if err := unix.Mount("", d.Dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		d.t.Fatalf("remount read-only: %v", err)
	}
	return d.fault("remount writable", func() error { return unix.Mount("", d.Dir, "", unix.MS_REMOUNT|unix.MS_NOATIME, "") })
}

func ioctl(dir string, request uint) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.IoctlSetInt(int(f.Fd()), request, 0)
}

func (d *Disk) tool(name string, args ...string) string {
	d.t.Helper()
	out, err := run(name, args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func run(name string, args ...string) (string, error) {
	// Not the test's context: cleaning up comes after its end.
	out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// eventually repeats do for a while: a process that was stuck on the disk goes
// only some moments after the disk returned.
func eventually(do func() error) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := do()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
