package storage

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readMounts parses /proc/self/mountinfo (proc(5)):
//
//	36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue
func readMounts(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		dash := slices.Index(f, "-")
		if dash < 6 || len(f) < dash+3 {
			return nil, fmt.Errorf("mountinfo line %q has an unknown form", lines.Text())
		}
		m := Mount{Point: unescapeMount(f[4]), Type: f[dash+1], Source: unescapeMount(f[dash+2]), dev: f[2]}
		if len(f) > dash+3 {
			m.Options = f[dash+3]
		}
		m.allReadOnly = readOnly(m.Options)
		m.ReadOnly = m.allReadOnly || readOnly(f[5])
		mounts = append(mounts, m)
	}
	return mounts, lines.Err()
}

// readOnly looks for an option that keeps writes away. ext4 says emergency_ro of a
// file system that it shut itself off.
func readOnly(options string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == "ro" || o == "emergency_ro" || o == "shutdown" {
			return true
		}
	}
	return false
}

// unescapeMount undoes the octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountOf is the mount of an absolute path by its text alone, which does not touch
// it; links on the way are not followed. Where a device number is known the mount
// must have it. Of several on one point the last covers the others.
func mountOf(mounts []Mount, abs, dev string) *Mount {
	abs = path.Clean(abs)
	var best *Mount
	for i := range mounts {
		m := &mounts[i]
		if dev != "" && m.dev != dev {
			continue
		}
		inside := m.Point == "/" || abs == m.Point || strings.HasPrefix(abs, m.Point+"/")
		if inside && (best == nil || len(m.Point) >= len(best.Point)) {
			best = m
		}
	}
	if best != nil || dev == "" {
		return best
	}
	// The path leads over a link to another mount, or its own is out of sight, as in a
	// chroot: any one of that device. Whether that one takes writes says nothing.
	for _, m := range mounts {
		if m.dev == dev {
			m.ReadOnly = m.allReadOnly
			return &m
		}
	}
	return nil
}
