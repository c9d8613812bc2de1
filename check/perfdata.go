package check

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Unit is a unit of measurement that the Monitoring Plugins guidelines know.
type Unit string

// The units. The guidelines allow no other, and none that changes from one run
// to the next.
const (
	NoUnit  Unit = ""
	Seconds Unit = "s"
	Percent Unit = "%"
	Bytes   Unit = "B"
	Counter Unit = "c"
)

// Perfdata is one performance value of a check,
// 'label'=value[unit];[warn];[crit];[min];[max].
type Perfdata struct {
	// Label is unique in its check. It is quoted where needed; = and ' cannot
	// stand in it and are written as _.
	Label string
	// Value in Unit; NaN and the infinities are written as U, unknown.
	Value float64
	Unit  Unit
	// Warn and Crit in the same unit.
	Warn, Crit Range
	// Bounds says that Min and Max are known; Max may be +Inf for none.
	Bounds   bool
	Min, Max float64
}

// TimePerfdata is the time d in seconds with no bounds but 0.
func TimePerfdata(label string, d time.Duration) Perfdata {
	return Perfdata{Label: label, Value: d.Seconds(), Unit: Seconds}
}

// String is the value as the guidelines write it, with no needless semicolons.
func (p Perfdata) String() string {
	fields := []string{
		perfLabel(p.Label) + "=" + p.value(), p.Warn.String(), p.Crit.String(), "", "",
	}
	if p.Bounds {
		fields[3], fields[4] = bound(p.Min), bound(p.Max)
	}
	return strings.TrimRight(strings.Join(fields, ";"), ";")
}

func (p Perfdata) value() string {
	if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
		return "U"
	}
	// A tenth of a microsecond is finer than any clock that matters here.
	text := strconv.FormatFloat(p.Value, 'f', 7, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		text = "0"
	}
	return text + string(p.Unit)
}

func bound(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return ""
	}
	return decimal(f)
}

// perfLabel makes a label that every consumer can split.
func perfLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '=' || r == '\'' || r == '|' || unicode.IsControl(r) || r == unicode.ReplacementChar:
			return '_'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
	if s == "" {
		s = "_"
	}
	if strings.ContainsAny(s, " ;\"") {
		return "'" + s + "'"
	}
	return s
}

// JoinPerfdata is the part of a plugin's line after the bar.
func JoinPerfdata(list []Perfdata) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.String()
	}
	return strings.Join(parts, " ")
}
