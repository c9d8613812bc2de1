package failover

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// seconds is a duration that JSON shows as a number of seconds, exact to the
// nanosecond in both directions.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) {
	n := int64(s)
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

func (s *seconds) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	whole, part, _ := strings.Cut(text, ".")
	negative := strings.HasPrefix(whole, "-")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(part) > 9 {
		return fmt.Errorf("%q is no number of seconds", text)
	}
	nanos := int64(0)
	if part != "" {
		if nanos, err = strconv.ParseInt(part+strings.Repeat("0", 9-len(part)), 10, 64); err != nil || nanos < 0 {
			return fmt.Errorf("%q is no number of seconds", text)
		}
	}
	if negative {
		nanos = -nanos
	}
	const most = int64(1<<63-1) / 1e9
	if n >= most || n <= -most {
		return fmt.Errorf("%q seconds are too many", text)
	}
	*s = seconds(n*1e9 + nanos)
	return nil
}
