package storage

import (
	"fmt"
	"strings"
)

// message is the result in one plain line.
func (t *trial) message() string {
	r := &t.result
	var parts []string
	switch r.Condition {
	case OK:
		parts = append(parts, t.measured()...)
	case Stalled:
		parts = append(parts, t.stalled())
		if t.reason != "" {
			parts = append(parts, t.reason)
		}
	default:
		parts = append(parts, t.reason)
		parts = append(parts, t.measured()...)
	}
	line := strings.Join(parts, ", ")
	if where := t.where(); where != "" {
		line += " (" + where + ")"
	}
	switch r.Condition {
	case OK, NotFound:
		return line
	case ReadOnly:
		return "read-only: " + line
	case IOError:
		return "I/O error: " + line
	case Unsure:
		return "cannot tell: " + line
	default:
		return r.Condition.String() + ": " + line
	}
}

// stalled says what the device was doing meanwhile.
func (t *trial) stalled() string {
	d := t.result.Device
	switch {
	case d == nil:
		return "the disk does not answer"
	case d.InFlight > 0 && d.NoneFinishedFor >= 1:
		return fmt.Sprintf("%s in flight, none finished in %s", requests(d.InFlight), seconds(d.NoneFinishedFor))
	case d.InFlight > 0:
		return fmt.Sprintf("%s in flight, %d finished in %s", requests(d.InFlight), d.Finished, seconds(t.result.Elapsed))
	case strings.Contains(t.result.WaitsIn, "percpu_rwsem"):
		return "no request in flight, the file system is frozen"
	default:
		return "no request in flight, so the wait is above the device: a frozen file system or a throttled group"
	}
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// measured lists the figures there are.
func (t *trial) measured() []string {
	r := &t.result
	var parts []string
	if r.Write != nil && r.Write.Error == "" {
		parts = append(parts, "4 KiB written and synced in "+seconds(r.Write.Seconds))
	}
	if r.Read != nil && r.Read.Error == "" {
		parts = append(parts, "4 KiB read in "+seconds(r.Read.Seconds))
	}
	if s := r.Space; s != nil && s.Bytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f%% space free", s.FreePercent))
		if s.Inodes > 0 {
			parts = append(parts, fmt.Sprintf("%.1f%% inodes free", s.InodesFreePercent))
		}
	}
	return parts
}

// where names file system and device.
func (t *trial) where() string {
	m, d := t.result.Mount, t.result.Device
	switch {
	case m != nil && d != nil:
		return fmt.Sprintf("%s on %s", m.Type, d.Name)
	case m != nil:
		return m.Type
	case d != nil:
		return d.Name
	default:
		return ""
	}
}
