package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ErrNoServer is wrapped by the error of FindBinary and New when no server
// program of the wanted flavour is on this machine.
var ErrNoServer = errors.New("no server program")

// Binary is one server program.
type Binary struct {
	Path    string
	Flavour Flavour
	Version string // as the server prints it, without a distribution's suffix: "10.11.19", "9.7.4"
}

// environment names the variable that overrides the search for a flavour.
func (f Flavour) environment() string {
	if f == MySQL {
		return "FAILWISE_MYSQLD"
	}
	return "FAILWISE_MARIADBD"
}

// FindBinary looks for a server program: first in FAILWISE_MYSQLD or
// FAILWISE_MARIADBD, then on the PATH and in the usual directories of system
// programs, and for MySQL at last in failwise/mysql below the user's cache
// directory. A name proves nothing, since MariaDB installs a "mysqld" too: the
// program's own version decides. Without one the error wraps ErrNoServer.
func FindBinary(ctx context.Context, flavour Flavour) (Binary, error) {
	if path := os.Getenv(flavour.environment()); path != "" {
		b, err := inspect(ctx, path)
		if err != nil {
			return Binary{}, fmt.Errorf("%s: %w", flavour.environment(), err)
		}
		if b.Flavour != flavour {
			return Binary{}, fmt.Errorf("%s: %s is a %s server", flavour.environment(), path, b.Flavour)
		}
		return b, nil
	}
	for _, path := range candidates(flavour) {
		if b, err := inspect(ctx, path); err == nil && b.Flavour == flavour {
			return b, nil
		}
	}
	return Binary{}, fmt.Errorf("%w for %s on this machine: install it or set %s", ErrNoServer, flavour, flavour.environment())
}

// candidates lists the files that may be the flavour's server program.
func candidates(flavour Flavour) []string {
	names := []string{"mysqld"}
	if flavour == MariaDB {
		names = []string{"mariadbd", "mysqld"}
	}
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin")
	var paths []string
	for _, name := range names {
		for _, dir := range dirs {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if cache, err := os.UserCacheDir(); err == nil && flavour == MySQL {
		paths = append(paths, filepath.Join(cache, "failwise", "mysql", "mysqld"))
	}
	return paths
}

// versionLine matches the answer of both servers to --version, "mysqld  Ver 9.7.4-2 for Linux …".
var versionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Ver\s+(\d+\.\d+\.\d+)(\S*)`) })

// inspect asks a program for its version.
func inspect(ctx context.Context, path string) (Binary, error) {
	if info, err := os.Stat(path); err != nil {
		return Binary{}, fmt.Errorf("%w: %w", ErrNoServer, err)
	} else if info.IsDir() || info.Mode()&0o111 == 0 {
		return Binary{}, fmt.Errorf("%w: %s is not a program", ErrNoServer, path)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--no-defaults", "--version")
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return Binary{}, fmt.Errorf("%w: %s --version: %w", ErrNoServer, path, err)
	}
	m := versionLine().FindStringSubmatch(stdout.String())
	if m == nil {
		return Binary{}, fmt.Errorf("%w: %s --version prints no version", ErrNoServer, path)
	}
	b := Binary{Path: path, Flavour: MySQL, Version: m[1]}
	if strings.Contains(stdout.String(), "MariaDB") {
		b.Flavour = MariaDB
	}
	return b, nil
}
