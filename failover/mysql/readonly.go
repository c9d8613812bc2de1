package mysql

import (
	"fmt"
	"strings"
)

// ReadOnly is the value of read_only. Newer MariaDB knows more than two.
type ReadOnly uint8

// The values; the zero value is unknown. ReadOnlyNoLockNoAdmin binds users with
// READ ONLY ADMIN too, as super_read_only does on MySQL.
const (
	ReadOnlyUnknown ReadOnly = iota
	ReadOnlyOff
	ReadOnlyOn
	ReadOnlyNoLock
	ReadOnlyNoLockNoAdmin
)

var readOnlyNames = [...]string{"unknown", "OFF", "ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"}

func (r ReadOnly) String() string {
	if int(r) < len(readOnlyNames) {
		return readOnlyNames[r]
	}
	return fmt.Sprintf("readonly(%d)", uint8(r))
}

// ParseReadOnly is the inverse of [ReadOnly.String]; it also takes 0 and 1.
func ParseReadOnly(s string) (ReadOnly, error) {
	switch s {
	case "0":
		return ReadOnlyOff, nil
	case "1":
		return ReadOnlyOn, nil
	}
	for i, n := range readOnlyNames {
		if strings.EqualFold(n, s) {
			return ReadOnly(i), nil
		}
	}
	return ReadOnlyUnknown, fmt.Errorf("unknown value of read_only %q", s)
}

// MarshalText is [ReadOnly.String].
func (r ReadOnly) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is [ParseReadOnly].
func (r *ReadOnly) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReadOnly(string(text))
	return err
}

// Writable tells whether ordinary users can write; unknown is not writable.
func (r ReadOnly) Writable() bool { return r == ReadOnlyOff }
