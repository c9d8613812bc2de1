package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// template returns a freshly made data directory of the given server, to be
// copied. It is made once per program, version and settings and kept below the
// user's cache directory; without one, below the sandbox registry of the machine.
func template(ctx context.Context, b Binary, log func(string)) (string, error) {
	key := sha256.Sum256([]byte(b.Path + "\n" + strings.Join(templateSettings(b.Flavour), "\n")))
	name := fmt.Sprintf("%s-%s-%x", b.Flavour, b.Version, key[:4])

	var bases []string
	if cache, err := os.UserCacheDir(); err == nil {
		bases = append(bases, filepath.Join(cache, "failwise", "templates"))
	}
	bases = append(bases, filepath.Join(slotDir(), "templates"))
	var errs []error
	for _, base := range bases {
		if err := os.MkdirAll(base, 0o700); err != nil {
			errs = append(errs, err)
			continue
		}
		dir := filepath.Join(base, name)
		if err := makeTemplate(ctx, b, dir, log); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		return dir, nil
	}
	return "", fmt.Errorf("make a data directory for %s: %w", b.Path, errors.Join(errs...))
}

// makeTemplate makes dir unless it is there. Of several processes at once, one
// makes it and the others wait for its lock.
func makeTemplate(ctx context.Context, b Binary, dir string, log func(string)) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // nothing was written
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	log(fmt.Sprintf("making a data directory for %s %s, once", b.Flavour, b.Version))
	// The lock is held, so anything half-made is from a process that died.
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := initialise(ctx, b, half); err != nil {
		return err
	}
	// A copied identity would make all nodes the same server.
	if err := os.Remove(filepath.Join(half, "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(half, dir)
}

// initialise fills an absent directory with the server's system tables.
func initialise(ctx context.Context, b Binary, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	options := dir + ".cnf"
	lines := append([]string{"[mysqld]"}, templateSettings(b.Flavour)...)
	lines = append(lines, "skip_log_bin", "innodb_flush_log_at_trx_commit=2", "")
	if os.Getuid() == 0 {
		lines = append(lines, "user=root", "")
	}
	if err := os.WriteFile(options, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(options) }() // it is written anew each time

	var cmd *exec.Cmd
	if b.Flavour == MySQL {
		cmd = exec.CommandContext(ctx, b.Path, "--defaults-file="+options, "--initialize-insecure", "--datadir="+dir)
	} else {
		script, args, err := installScript(b.Path)
		if err != nil {
			return err
		}
		args = append([]string{"--defaults-file=" + options}, args...)
		args = append(args, "--datadir="+dir, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
		cmd = exec.CommandContext(ctx, script, args...)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLines(out.String(), 5))
	}
	return nil
}

// installScript finds the program that makes MariaDB's system tables: beside the
// server where it was unpacked by itself, on the PATH where it was installed.
func installScript(server string) (script string, args []string, err error) {
	if target, err := filepath.EvalSymlinks(server); err == nil {
		server = target
	}
	base := filepath.Dir(filepath.Dir(server))
	for _, name := range []string{"scripts/mariadb-install-db", "bin/mariadb-install-db"} {
		path := filepath.Join(base, name)
		if _, err := os.Stat(path); err == nil {
			return path, []string{"--basedir=" + base}, nil
		}
	}
	for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil, nil
		}
	}
	return "", nil, fmt.Errorf("%w: mariadb-install-db is neither beside %s nor on the PATH", ErrNoServer, server)
}

// lastLines returns the last n lines of a text that say something.
func lastLines(text string, n int) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
