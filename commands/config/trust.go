package config

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted refuses a file that was found, not named, and that another user could
// have put there: it may name programs to run.
func trusted(file string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return &UntrustedError{File: file, Reason: "it belongs to another user", Hint: "chown it to yourself or to root"}
	case info.Mode().Perm()&0o002 != 0:
		return &UntrustedError{File: file, Reason: "everyone can write to it", Hint: "chmod o-w " + file}
	}
	return nil
}
