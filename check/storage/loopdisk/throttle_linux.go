package loopdisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	cgroupV1 = "/sys/fs/cgroup/blkio"
	cgroupV2 = "/sys/fs/cgroup"
)

// Throttle bounds reads and writes of the device to so many bytes a second each,
// until heal: for every process with cgroup v1, for this one and its later
// children with v2.
func (d *Disk) Throttle(bytesPerSecond int) (heal func()) {
	d.t.Helper()
	if _, err := os.Stat(filepath.Join(cgroupV1, "blkio.throttle.write_bps_device")); err == nil {
		return d.throttleV1(bytesPerSecond)
	}
	controllers, err := os.ReadFile(filepath.Join(cgroupV2, "cgroup.subtree_control"))
	if err != nil || !strings.Contains(" "+string(controllers)+" ", "io") {
		unable(d.t, "this kernel offers no I/O throttling to root: neither cgroup v1 blkio nor the v2 io controller")
	}
	return d.throttleV2(bytesPerSecond)
}

func (d *Disk) throttleV1(bytesPerSecond int) func() {
	d.t.Helper()
	set := func(n int) error {
		var errs []error
		for _, file := range []string{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"} {
			errs = append(errs, os.WriteFile(filepath.Join(cgroupV1, file), fmt.Appendf(nil, "%s %d", d.number, n), 0))
		}
		return errors.Join(errs...)
	}
	if err := set(bytesPerSecond); err != nil {
		d.t.Fatalf("throttle: %v", err)
	}
	return d.fault("end the throttle", func() error { return set(0) })
}

func (d *Disk) throttleV2(bytesPerSecond int) func() {
	d.t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		d.t.Fatal(err)
	}
	before := filepath.Join(cgroupV2, strings.TrimPrefix(strings.TrimSpace(string(own)), "0::"))
	group := filepath.Join(cgroupV2, fmt.Sprintf("failwise-disk-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		d.t.Fatal(err)
	}
	join := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0)
	}
	limit := func(n string) error {
		return os.WriteFile(filepath.Join(group, "io.max"), fmt.Appendf(nil, "%s rbps=%s wbps=%s", d.number, n, n), 0)
	}
	heal := d.fault("end the throttle", func() error {
		return errors.Join(limit("max"), join(before), eventually(func() error { return os.Remove(group) }))
	})
	if err := errors.Join(limit(fmt.Sprint(bytesPerSecond)), join(group)); err != nil {
		d.t.Fatalf("throttle: %v", err)
	}
	return heal
}
