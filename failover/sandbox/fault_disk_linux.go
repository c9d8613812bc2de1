package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// diskFaults need a data directory on a file system of its own.
func diskFaults() []Fault {
	return []Fault{
		{
			Name: "disk-stall", Doc: "the data directory's file system is frozen (fsfreeze)", Needs: NeedLoop,
			start: freezeDisk,
		},
		{
			Name: "disk-slow", Doc: "the server may write one byte a second to its disk (control group)", Needs: NeedLoop | NeedThrottle,
			start: throttleDisk,
		},
		{
			Name: "disk-full", Doc: "no free block is left on the data directory's file system; a server that waits for space goes on up to 60 s after healing", Needs: NeedLoop,
			start: fillDisk,
		},
		{
			Name: "disk-read-only", Doc: "the file system aborts and turns read-only: the server ends at its next write", Needs: NeedLoop,
			start: abortDisk,
		},
	}
}

func freezeDisk(_ context.Context, n *Node) (injury, error) {
	if _, err := run("", "fsfreeze", "--freeze", n.mount); err != nil {
		return injury{}, err
	}
	heal := func(context.Context) error {
		_, err := run("", "fsfreeze", "--unfreeze", n.mount)
		return err
	}
	return injury{heal: heal, abandon: func() { thaw(n.mount) }}, nil
}

// fillDisk takes every free block.
func fillDisk(_ context.Context, n *Node) (injury, error) {
	path := filepath.Join(n.mount, "ballast")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return injury{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	heal := func(context.Context) error { return os.Remove(path) }
	var size int64
	// The largest piece first, halved whenever it no longer fits.
	for piece := int64(1) << 30; piece >= 4096; {
		err := unix.Fallocate(int(f.Fd()), 0, size, piece)
		switch {
		case err == nil:
			size += piece
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		case errors.Is(err, unix.EINTR):
		default:
			return injury{}, errors.Join(fmt.Errorf("fill the disk: %w", err), f.Close(), heal(context.Background()))
		}
	}
	return injury{heal: heal}, nil
}

// abortDisk does what ext4 does by itself after an error of the device; a plain
// remount read-only is refused while a server has files open for writing.
func abortDisk(_ context.Context, n *Node) (injury, error) {
	if _, err := run("", "mount", "-o", "remount,abort", n.mount); err != nil {
		return injury{}, err
	}
	return injury{heal: func(ctx context.Context) error {
		if err := n.Kill(ctx); err != nil {
			return err
		}
		if err := unmount(n.mount); err != nil {
			return err
		}
		// Status 1 is "errors corrected".
		if _, err := run("", "sh", "-c", `e2fsck -f -y "$0" || [ $? = 1 ]`, n.image); err != nil {
			return err
		}
		if err := mountLoop(n.image, n.mount); err != nil {
			return err
		}
		return n.Start(ctx)
	}}, nil
}

// The controllers for block devices of both generations of control groups.
const (
	blkioV1  = "/sys/fs/cgroup/blkio"
	groupsV2 = "/sys/fs/cgroup"
)

// throttleDisk moves the server into a control group that may hardly write.
func throttleDisk(_ context.Context, n *Node) (injury, error) {
	device, err := deviceOf(n.mount)
	if err != nil {
		return injury{}, err
	}
	parent, file, limit, lift := blkioV1, "blkio.throttle.write_bps_device", device+" 1", device+" 0"
	if _, err := os.Stat(filepath.Join(blkioV1, file)); err != nil {
		parent, file, limit, lift = groupsV2, "io.max", device+" wbps=1", device+" wbps=max"
		controllers, err := os.ReadFile(filepath.Join(groupsV2, "cgroup.controllers"))
		if err != nil || !strings.Contains(" "+strings.TrimSpace(string(controllers))+" ", " io ") {
			return injury{}, fmt.Errorf("%w: no control group controller for block devices", ErrNotHere)
		}
		if err := os.WriteFile(filepath.Join(groupsV2, "cgroup.subtree_control"), []byte("+io"), 0o644); err != nil {
			return injury{}, err
		}
	}
	group := filepath.Join(parent, fmt.Sprintf("failwise_%d_%d", n.cluster.slot.number, n.index))
	if err := n.cluster.slot.update(func(r *record) { r.Groups = append(r.Groups, group) }); err != nil {
		return injury{}, err
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		return injury{}, err
	}
	release := func() error {
		return errors.Join(os.WriteFile(filepath.Join(group, file), []byte(lift), 0o644), removeGroup(group))
	}
	err = os.WriteFile(filepath.Join(group, file), []byte(limit), 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(n.Pid())), 0o644)
	}
	if err != nil {
		return injury{}, errors.Join(fmt.Errorf("throttle the disk: %w", err), release())
	}
	return injury{
		heal:    func(context.Context) error { return release() },
		abandon: func() { _ = release() }, // what stays is removed with the slot
	}, nil
}

// deviceOf returns "major:minor" of the device a directory lies on.
func deviceOf(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev)), nil
}
