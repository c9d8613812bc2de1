package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyBlock is InnoDB's page size: its files are preallocated and mostly zero.
const copyBlock = 16 << 10

// copyTree copies a directory of plain files and gives it to a user. With holes it
// writes no zeros, which is quicker; without, the copy has all the blocks it needs,
// so that a disk that fills up later cannot take them from it.
func copyTree(from, to string, owner runAs, holes bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			if err := os.MkdirAll(target, 0o700); err != nil {
				return err
			}
		} else if entry.Type().IsRegular() {
			if err := copyFile(path, target, holes); err != nil {
				return err
			}
		} else {
			return nil
		}
		return owner.own(target)
	})
}

// own gives a file to the servers' user.
func (r runAs) own(path string) error {
	if !r.change {
		return nil
	}
	return os.Chown(path, r.uid, r.gid)
}

// copyFile copies a file, with holes for its zeros or without.
func copyFile(from, to string, holes bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyBlocks(out, in, holes), out.Close())
}

func copyBlocks(out *os.File, in io.Reader, holes bool) error {
	block, zeros := make([]byte, copyBlock), make([]byte, copyBlock)
	for size := int64(0); ; {
		read, err := io.ReadFull(in, block)
		if read > 0 && (!holes || !bytes.Equal(block[:read], zeros[:read])) {
			if _, err := out.WriteAt(block[:read], size); err != nil {
				return err
			}
		}
		size += int64(read)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return out.Truncate(size)
		case err != nil:
			return err
		}
	}
}
