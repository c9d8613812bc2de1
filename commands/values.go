package commands

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// durationValue is a flag's duration: Go's notation (1m30s, 250ms), or a number
// without unit, which is seconds as monitoring plugins have it.
type durationValue struct {
	d time.Duration
	// needsUnit refuses a number without unit, where seconds are hardly meant.
	needsUnit bool
}

func (v *durationValue) Set(s string) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil && v.needsUnit {
		return fmt.Errorf("%q has no unit: %sm is minutes, %sh hours", s, s, s)
	}
	d, err := parseDuration(s)
	if err != nil {
		return err
	}
	v.d = d
	return nil
}

func (v *durationValue) String() string {
	if v.d == 0 {
		return ""
	}
	return v.d.String()
}

// Type implements [pflag.Value].
func (v *durationValue) Type() string { return "duration" }

// portValue is a flag's TCP port, in decimal; "" if it was not given.
type portValue string

func (v *portValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("it is no port (1 to 65535)")
	}
	*v = portValue(strconv.FormatUint(n, 10))
	return nil
}

func (v *portValue) String() string { return string(*v) }

// Type implements [pflag.Value].
func (v *portValue) Type() string { return "port" }

// parseDuration reads a duration ≥ 0 of at most a hundred years.
func parseDuration(s string) (time.Duration, error) {
	const limit = 100 * 365 * 24 * time.Hour
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if !(f >= 0 && f <= limit.Seconds()) {
			return 0, fmt.Errorf("%q is out of range", s)
		}
		return time.Duration(f * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration (like 10s, 250ms or 1m30s)", s)
	}
	if d < 0 || d > limit {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return d, nil
}

// duration is the value of a flag declared with a durationValue; 0 if not given.
func (in *invocation) duration(name string) time.Duration {
	if f := in.flags.Lookup(name); f != nil {
		if v, ok := f.Value.(*durationValue); ok {
			return v.d
		}
	}
	return 0
}

// oneLine keeps an error from spreading over several lines or from sending
// control codes to a terminal, whatever a server put into it.
func oneLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}
