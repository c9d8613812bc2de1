package replay

import (
	"fmt"
	"time"
)

// timeReader reads the times of rows: RFC 3339, or durations from 0, one of both
// in a timeline.
type timeReader struct {
	// started: a time was read; absolute: the times are RFC 3339.
	started, absolute bool
	// base is the first time of absolute ones, in nanoseconds since 1970.
	base int64
	// day and dayStart cache the date of the row before.
	day      [10]byte
	dayStart int64
}

// read returns the time since the start of the timeline.
func (r *timeReader) read(b []byte) (time.Duration, error) {
	nanos, absolute, err := r.parse(b)
	if err != nil {
		return 0, err
	}
	if !r.started {
		r.started, r.absolute = true, absolute
		if absolute {
			r.base = nanos
		}
	}
	if absolute != r.absolute {
		return 0, fmt.Errorf("time %q: durations and RFC 3339 times do not mix", b)
	}
	return time.Duration(nanos - r.base), nil
}

func (r *timeReader) parse(b []byte) (nanos int64, absolute bool, err error) {
	if nanos, ok := r.fast(b); ok {
		return nanos, true, nil
	}
	if len(b) > 64 {
		return 0, false, fmt.Errorf("time %q… is neither RFC 3339 nor a duration such as 90s", b[:40])
	}
	if len(b) > 4 && b[4] == '-' {
		t, err := time.Parse(time.RFC3339Nano, string(b))
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return 0, false, fmt.Errorf("time %q is not RFC 3339 such as 2006-01-02T15:04:05Z", b)
		}
		return t.UnixNano(), true, nil
	}
	d, err := time.ParseDuration(string(b))
	if err != nil || d < 0 || d > maxDuration {
		return 0, false, fmt.Errorf("time %q is neither RFC 3339 nor a duration such as 90s", b)
	}
	return int64(d), false, nil
}

// fast reads the usual spelling in UTC of a day that was seen before.
func (r *timeReader) fast(b []byte) (int64, bool) {
	if len(b) < 20 || len(b) > 30 || b[len(b)-1] != 'Z' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	if [10]byte(b[:10]) != r.day {
		t, err := time.Parse(time.DateOnly, string(b[:10]))
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return 0, false
		}
		r.day, r.dayStart = [10]byte(b[:10]), t.UnixNano()
	}
	h, ok1 := twoDigits(b[11:])
	m, ok2 := twoDigits(b[14:])
	s, ok3 := twoDigits(b[17:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	frac := int64(0)
	if rest := b[19 : len(b)-1]; len(rest) > 0 {
		if rest[0] != '.' || len(rest) == 1 {
			return 0, false
		}
		scale := int64(1e9)
		for _, c := range rest[1:] {
			if c < '0' || c > '9' {
				return 0, false
			}
			scale /= 10
			frac += int64(c-'0') * scale
		}
	}
	return r.dayStart + (h*3600+m*60+s)*1e9 + frac, true
}

func twoDigits(b []byte) (int64, bool) {
	hi, lo := b[0]-'0', b[1]-'0'
	return int64(hi)*10 + int64(lo), hi <= 9 && lo <= 9
}
