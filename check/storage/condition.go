package storage

import "fmt"

// Condition is what a probe found in one word. Conditions are ordered: of two
// findings the later one is reported.
type Condition uint8

// The conditions.
const (
	ConditionUnset Condition = iota
	// OK: every step was done.
	OK
	// Unsure: the disk could not be judged, for instance for want of permission.
	Unsure
	// NotFound: there is no such path.
	NotFound
	// Full: no space, no inode or no quota left to write one block.
	Full
	// ReadOnly: the file system takes no writes.
	ReadOnly
	// IOError: the disk or the file system answered with an error.
	IOError
	// Stalled: a step did not come back in time.
	Stalled

	conditionEnd
)

var conditionNames = [conditionEnd]string{"", "ok", "unknown", "not_found", "full", "read_only", "io_error", "stalled"}

func (c Condition) String() string {
	if c < conditionEnd {
		return conditionNames[c]
	}
	return fmt.Sprintf("condition(%d)", uint8(c))
}

// ParseCondition is the inverse of [Condition.String].
func ParseCondition(s string) (Condition, error) {
	for c := OK; c < conditionEnd; c++ {
		if conditionNames[c] == s {
			return c, nil
		}
	}
	return ConditionUnset, fmt.Errorf("unknown condition of a disk %q", s)
}

// MarshalText encodes the condition by name.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (c *Condition) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCondition(string(b))
	return err
}
