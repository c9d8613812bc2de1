package storage

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// blockStat is the part of /sys/dev/block/M:N/stat that tells progress
// (Documentation/block/stat.rst).
type blockStat struct {
	finished uint64 // reads, writes, discards and flushes
	inFlight int
}

func parseBlockStat(s string) (blockStat, error) {
	f := strings.Fields(s)
	if len(f) < 11 {
		return blockStat{}, fmt.Errorf("block device statistics have %d fields, not at least 11", len(f))
	}
	var st blockStat
	// Discards came with Linux 4.18, flushes with 5.5.
	for _, i := range []int{0, 4, 11, 15} {
		if i >= len(f) {
			break
		}
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return blockStat{}, fmt.Errorf("block device statistics: %q is no number", f[i])
		}
		st.finished += n
	}
	n, err := strconv.Atoi(f[8])
	if err != nil {
		return blockStat{}, fmt.Errorf("block device statistics: %q is no number", f[8])
	}
	st.inFlight = max(n, 0)
	return st, nil
}

// progress watches one device over a probe.
type progress struct {
	name      string
	first     blockStat
	last      blockStat
	lastMoved time.Time
	samples   int
}

// sample takes one reading.
func (p *progress) sample(now time.Time, st blockStat) {
	switch {
	case p.samples == 0:
		p.first, p.lastMoved = st, now
	case st.finished != p.last.finished || p.last.inFlight == 0:
		// Without requests in flight the clock of "none finished" stands at 0.
		p.lastMoved = now
	}
	p.last = st
	p.samples++
}

func (p *progress) device(now time.Time) *Device {
	if p == nil || p.samples == 0 {
		return nil
	}
	d := &Device{Name: p.name, InFlight: p.last.inFlight, Finished: p.last.finished - p.first.finished}
	if d.InFlight > 0 {
		d.NoneFinishedFor = now.Sub(p.lastMoved).Seconds()
	}
	return d
}
