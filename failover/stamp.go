package failover

import "time"

// Stamp writes a time on the wall clock as all JSON shows it: RFC 3339 with
// milliseconds.
func Stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }
