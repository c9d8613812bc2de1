//go:build unix

package watch

import (
	"io/fs"
	"syscall"
)

// inodeOf tells a replaced file from one written in place.
func inodeOf(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
