package check

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrRange is wrapped by every error of [ParseRange] and [ParseTimeRange].
var ErrRange = errors.New("not a threshold range")

// Range is a threshold of the Monitoring Plugins guidelines (section "Threshold
// and Ranges"), `[@]start:end`: a value outside of start to end alerts, with @ one
// inside of it, both ends included. The zero value never alerts.
type Range struct {
	start, end float64 // -Inf and +Inf where open
	inside     bool
	set        bool
}

// ParseRange reads "10" (below 0 or above 10), "10:" (below 10), "~:10" (above
// 10), "10:20" (outside), "@10:20" (inside). "" is no threshold. It is the inverse
// of [Range.String].
func ParseRange(s string) (Range, error) { return parseRange(s, parseNumber) }

// ParseTimeRange is [ParseRange] for times: each end is a number of seconds or a
// duration such as 10s, 250ms or 1m30s. The range is in seconds.
func ParseTimeRange(s string) (Range, error) { return parseRange(s, parseSeconds) }

func parseRange(s string, parse func(string) (float64, error)) (Range, error) {
	if s == "" {
		return Range{}, nil
	}
	fail := func(reason string) (Range, error) {
		return Range{}, fmt.Errorf("%w: %q: %s; write [@]start:end, such as 10, 5:10 or @5:10", ErrRange, s, reason)
	}
	r := Range{end: math.Inf(1), set: true}
	text, inside := strings.CutPrefix(s, "@")
	r.inside = inside
	start, end, both := strings.Cut(text, ":")
	if !both {
		start, end = "", text
	}
	var err error
	switch {
	case start == "~":
		r.start = math.Inf(-1)
	case start != "":
		if r.start, err = parse(start); err != nil {
			return fail(err.Error())
		}
	case both && end == "":
		return fail("both ends are missing")
	}
	switch {
	case end != "":
		if r.end, err = parse(end); err != nil {
			return fail(err.Error())
		}
	case !both:
		return fail("it has no number")
	}
	if r.start > r.end {
		return fail("the start is larger than the end")
	}
	return r, nil
}

func parseNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(s, "xXpP_") {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return f, nil
}

func parseSeconds(s string) (float64, error) {
	if f, err := parseNumber(s); err == nil {
		return f, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number of seconds nor a duration", s)
	}
	return d.Seconds(), nil
}

// IsZero reports whether r is no threshold.
func (r Range) IsZero() bool { return !r.set }

// Alerts reports whether v alerts. A value that is not a number alerts unless
// there is no threshold: what is not known is not good.
func (r Range) Alerts(v float64) bool {
	switch {
	case !r.set:
		return false
	case math.IsNaN(v):
		return true
	}
	return (v >= r.start && v <= r.end) == r.inside
}

// String is the shortest spelling; "" for the zero value.
func (r Range) String() string {
	if !r.set {
		return ""
	}
	var b strings.Builder
	if r.inside {
		b.WriteByte('@')
	}
	switch {
	case math.IsInf(r.start, -1):
		b.WriteString("~:")
	case r.start != 0 || math.IsInf(r.end, 1):
		b.WriteString(decimal(r.start) + ":")
	}
	if !math.IsInf(r.end, 1) {
		b.WriteString(decimal(r.end))
	}
	return b.String()
}

// decimal writes a number without an exponent.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
