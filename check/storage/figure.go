package storage

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"failwise/check"
)

// Figure is a number of a result on which a threshold can be set.
type Figure uint8

// The figures.
const (
	FigureUnset Figure = iota
	// WriteLatency and ReadLatency are in seconds.
	WriteLatency
	ReadLatency
	// SpaceFree and InodesFree are in percent of what processes without
	// privileges can use.
	SpaceFree
	InodesFree
	// PressureSome and PressureFull are in percent of the last ten seconds, for
	// the whole machine.
	PressureSome
	PressureFull
	// InFlight is the number of requests under way on the device.
	InFlight

	figureEnd
)

type figureInfo struct {
	name  string
	unit  check.Unit
	value func(Result) (float64, bool)
}

var figures = [figureEnd]figureInfo{
	WriteLatency: {"write", check.Seconds, func(r Result) (float64, bool) { return r.Write.value() }},
	ReadLatency:  {"read", check.Seconds, func(r Result) (float64, bool) { return r.Read.value() }},
	SpaceFree: {"space", check.Percent, func(r Result) (float64, bool) {
		if r.Space == nil || r.Space.Bytes == 0 {
			return 0, false
		}
		return r.Space.FreePercent, true
	}},
	InodesFree: {"inodes", check.Percent, func(r Result) (float64, bool) {
		if r.Space == nil || r.Space.Inodes == 0 {
			return 0, false
		}
		return r.Space.InodesFreePercent, true
	}},
	PressureSome: {"psi_some", check.Percent, func(r Result) (float64, bool) {
		if r.Pressure == nil {
			return 0, false
		}
		return r.Pressure.Some, true
	}},
	PressureFull: {"psi_full", check.Percent, func(r Result) (float64, bool) {
		if r.Pressure == nil {
			return 0, false
		}
		return r.Pressure.Full, true
	}},
	InFlight: {"in_flight", check.NoUnit, func(r Result) (float64, bool) {
		if r.Device == nil {
			return 0, false
		}
		return float64(r.Device.InFlight), true
	}},
}

// value is the time of a step that ended well, or that was waited for in vain: so
// long it took at least.
func (l *Latency) value() (float64, bool) {
	if l == nil || l.Error != "" && l.Error != hungError {
		return 0, false
	}
	return l.Seconds, true
}

// Figures lists all figures in their order.
func Figures() []Figure {
	var fs []Figure
	for f := WriteLatency; f < figureEnd; f++ {
		fs = append(fs, f)
	}
	return fs
}

func (f Figure) String() string {
	if f > FigureUnset && f < figureEnd {
		return figures[f].name
	}
	return fmt.Sprintf("figure(%d)", uint8(f))
}

// ParseFigure is the inverse of [Figure.String].
func ParseFigure(s string) (Figure, error) {
	var names []string
	for _, f := range Figures() {
		if f.String() == s {
			return f, nil
		}
		names = append(names, f.String())
	}
	return FigureUnset, fmt.Errorf("unknown figure %q; there are %s", s, strings.Join(names, ", "))
}

// Unit is the figure's unit.
func (f Figure) Unit() check.Unit {
	if f > FigureUnset && f < figureEnd {
		return figures[f].unit
	}
	return check.NoUnit
}

// Of is the figure's value in r, and false when it was not measured.
func (f Figure) Of(r Result) (float64, bool) {
	if f > FigureUnset && f < figureEnd {
		return figures[f].value(r)
	}
	return 0, false
}

// Thresholds are ranges by figure; a figure without one never alerts.
type Thresholds [figureEnd]check.Range

// DefaultWarning and DefaultCritical are the thresholds of a check that is given
// none. Pressure has none: what is much depends on the machine.
func DefaultWarning() Thresholds {
	return mustThresholds("write=0.1", "read=0.1", "space=10:", "inodes=10:")
}

// DefaultCritical is the counterpart of [DefaultWarning].
func DefaultCritical() Thresholds {
	return mustThresholds("write=1", "read=1", "space=3:", "inodes=3:")
}

func mustThresholds(settings ...string) Thresholds {
	var t Thresholds
	for _, s := range settings {
		if err := t.Set(s); err != nil {
			panic(err)
		}
	}
	return t
}

// Set reads FIGURE=RANGE, for instance write=50ms or space=10:, where RANGE is as
// in [check.ParseRange], with durations for the latencies. RANGE alone is for
// write and read. An empty RANGE removes the threshold.
func (t *Thresholds) Set(s string) error {
	name, text, named := strings.Cut(s, "=")
	if !named {
		if s == "" {
			return errors.New("empty threshold; write FIGURE=RANGE, for instance space=10: or write=50ms")
		}
		r, err := check.ParseTimeRange(s)
		if err != nil {
			return err
		}
		t[WriteLatency], t[ReadLatency] = r, r
		return nil
	}
	f, err := ParseFigure(strings.TrimSpace(name))
	if err != nil {
		return err
	}
	parse := check.ParseRange
	switch f.Unit() {
	case check.Seconds:
		parse = check.ParseTimeRange
	case check.Percent:
		text = strings.ReplaceAll(text, "%", "")
	case check.NoUnit, check.Bytes, check.Counter:
	}
	r, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f, err)
	}
	t[f] = r
	return nil
}

// Alert is a figure outside its threshold.
type Alert struct {
	Figure Figure
	Value  float64
	Range  check.Range
}

func (a Alert) String() string {
	value := fmt.Sprintf("%.1f", a.Value)
	switch a.Figure.Unit() {
	case check.Seconds:
		value = seconds(a.Value)
	case check.Percent:
		value += "%"
	case check.NoUnit, check.Bytes, check.Counter:
		value = fmt.Sprintf("%.0f", a.Value)
	}
	return fmt.Sprintf("%s %s alerts at %s", a.Figure, value, a.Range)
}

// Alerts lists the measured figures of r that are outside t.
func (t Thresholds) Alerts(r Result) []Alert {
	var alerts []Alert
	for _, f := range Figures() {
		if v, ok := f.Of(r); ok && t[f].Alerts(v) {
			alerts = append(alerts, Alert{f, v, t[f]})
		}
	}
	return alerts
}

// Perfdata lists the measured figures of r's own path; prefix begins each label.
func Perfdata(r Result, prefix string, warn, crit Thresholds) []check.Perfdata {
	r.Pressure = nil
	return perfdata(r, prefix, warn, crit)
}

// PressurePerfdata lists the machine's I/O pressure, which is the same for all
// paths; nil if the kernel does not tell.
func PressurePerfdata(p *Pressure, warn, crit Thresholds) []check.Perfdata {
	return perfdata(Result{Pressure: p}, "", warn, crit)
}

func perfdata(r Result, prefix string, warn, crit Thresholds) []check.Perfdata {
	var list []check.Perfdata
	for _, f := range Figures() {
		v, ok := f.Of(r)
		if !ok {
			continue
		}
		p := check.Perfdata{Label: prefix + f.String(), Value: v, Unit: f.Unit(), Warn: warn[f], Crit: crit[f], Bounds: true, Max: math.Inf(1)}
		if f.Unit() == check.Percent {
			p.Max = 100
		}
		list = append(list, p)
	}
	return list
}

// seconds writes a time for a human: three figures at most.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.1f s", s)
	case s >= 0.01:
		return fmt.Sprintf("%.0f ms", s*1000)
	default:
		return fmt.Sprintf("%.2g ms", s*1000)
	}
}
