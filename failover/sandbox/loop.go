package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// systemCommand is the time one of the system's tools may take.
const systemCommand = 20 * time.Second

// run executes one of the system's tools. It is not bound to a caller's context:
// what it does must also be done while a test's context has already ended.
func run(stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), systemCommand)
	defer cancel()
	if _, err := exec.LookPath(name); err != nil {
		for _, dir := range []string{"/usr/sbin", "/sbin"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				name = filepath.Join(dir, name)
				break
			}
		}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// loopDisk makes an ext4 file system of the given size in a file and mounts it.
// Nothing is reserved for root, so that full means full for everybody.
func loopDisk(image, mount string, bytes int64) error {
	f, err := os.OpenFile(image, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(bytes), f.Close()); err != nil {
		return err
	}
	if err := os.Mkdir(mount, 0o755); err != nil {
		return err
	}
	if _, err := run("", "mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=4", "-E", "lazy_itable_init=1,lazy_journal_init=1", image); err != nil {
		return err
	}
	return mountLoop(image, mount)
}

// mountLoop mounts without barriers: a flush ends at the loop device and does not
// wait for the disk below it, which survives the sandbox's servers anyway.
func mountLoop(image, mount string) error {
	_, err := run("", "mount", "-t", "ext4", "-o", "loop,noatime,nobarrier", image, mount)
	return err
}

// thaw ends a freeze of a file system; on one that is not frozen it does nothing.
func thaw(mount string) {
	_, _ = run("", "fsfreeze", "--unfreeze", mount) // EINVAL when it is not frozen
}

// unmount takes a loop mount away, and its loop device with it.
func unmount(mount string) error {
	mounted, err := isMounted(mount)
	if err != nil || !mounted {
		return err
	}
	for range 50 {
		if _, err = run("", "umount", mount); err == nil {
			return nil
		}
		// A killed server gives its files back a moment after it can be waited for.
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func isMounted(mount string) (bool, error) {
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == mount {
			return true, nil
		}
	}
	return false, nil
}
