package storage

import (
	"fmt"
	"strconv"
	"strings"
)

// parsePressure reads /proc/pressure/io (Documentation/accounting/psi.rst):
//
//	some avg10=0.12 avg60=0.05 avg300=0.01 total=123456
//	full avg10=0.10 avg60=0.04 avg300=0.01 total=103456
func parsePressure(s string) (*Pressure, error) {
	var p Pressure
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		text, ok := strings.CutPrefix(f[1], "avg10=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("pressure line %q has an unknown form", strings.TrimSpace(line))
		}
		switch f[0] {
		case "some":
			p.Some = v
		case "full":
			p.Full = v
		}
	}
	return &p, nil
}
