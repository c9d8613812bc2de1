package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeDir makes a directory of mode 0700 and those above it that are missing, and
// gives them to their owner as [OpenFile] does.
func MakeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MakeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	switch {
	case err == nil:
		made, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(giveToOwner(made), made.Close())
	case errors.Is(err, fs.ErrExist):
		return os.MkdirAll(path, 0o700) // an error if it is a file
	default:
		return err
	}
}

// OpenFile is [os.OpenFile] with mode 0600. What root opens in somebody else's
// directory becomes that one's: a command that is run as root must not lock out the
// user of the watcher.
func OpenFile(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := giveToOwner(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// giveToOwner gives a file of root's to the owner of the directory it lies in. A file
// with another name elsewhere is left alone.
func giveToOwner(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	file, err := f.Stat()
	if err != nil {
		return err
	}
	owner, known := dir.Sys().(*syscall.Stat_t)
	its, knownToo := file.Sys().(*syscall.Stat_t)
	if !known || !knownToo || owner.Uid == 0 || its.Uid != 0 || file.Mode().IsRegular() && its.Nlink > 1 {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
