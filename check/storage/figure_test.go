package storage

import (
	"strings"
	"testing"

	"failwise/check"
)

func TestFiguresAndConditionsAreTheInverseOfTheirNames(t *testing.T) {
	for _, f := range Figures() {
		if got, err := ParseFigure(f.String()); err != nil || got != f {
			t.Errorf("ParseFigure(%q) = %v, %v", f, got, err)
		}
	}
	for c := OK; c < conditionEnd; c++ {
		if got, err := ParseCondition(c.String()); err != nil || got != c {
			t.Errorf("ParseCondition(%q) = %v, %v", c, got, err)
		}
	}
	if _, err := ParseFigure("speed"); err == nil || !strings.Contains(err.Error(), "write, read, space, inodes, psi_some, psi_full, in_flight") {
		t.Error(err)
	}
	if c, err := ParseCondition("fine"); err == nil {
		t.Error(c)
	}
}

func TestThresholds(t *testing.T) {
	r := Result{
		Write: &Latency{Seconds: 0.25}, Read: &Latency{Seconds: 0.002}, Space: &Space{Bytes: 1, FreePercent: 8, Inodes: 100, InodesFreePercent: 50},
		Pressure: &Pressure{Some: 30, Full: 12.5}, Device: &Device{InFlight: 3},
	}
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"write=200ms"}, "write 250 ms alerts at 0.2"},
		{[]string{"write=0.3"}, ""},
		{[]string{"1ms"}, "write 250 ms alerts at 0.001; read 2 ms alerts at 0.001"},
		{[]string{"1ms", "write="}, "read 2 ms alerts at 0.001"},
		{[]string{"space=10%:"}, "space 8.0% alerts at 10:"},
		{[]string{"space=5:", "inodes=@40:60"}, "inodes 50.0% alerts at @40:60"},
		{[]string{"psi_full=10", "psi_some=40"}, "psi_full 12.5% alerts at 10"},
		{[]string{"in_flight=2"}, "in_flight 3 alerts at 2"},
	} {
		var th Thresholds
		for _, s := range c.set {
			if err := th.Set(s); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, a := range th.Alerts(r) {
			got = append(got, a.String())
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%v: got %q, want %q", c.set, s, c.want)
		}
		if none := th.Alerts(Result{}); len(none) != 0 {
			t.Errorf("%v: what was not measured alerts: %v", c.set, none)
		}
	}
	for _, bad := range []string{"", "speed=1", "write=fast", "space=10s", "5:1", "in_flight=1ms"} {
		if err := new(Thresholds).Set(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestPerfdata(t *testing.T) {
	r := Result{Write: &Latency{Seconds: 0.25}, Read: &Latency{Seconds: 1, Error: "EIO"}, Space: &Space{Bytes: 1, FreePercent: 8.5}, Device: &Device{}, Pressure: &Pressure{Some: 1, Full: 0.5}}
	got := check.JoinPerfdata(append(Perfdata(r, "/data ", DefaultWarning(), DefaultCritical()), PressurePerfdata(r.Pressure, Thresholds{}, Thresholds{})...))
	if want := "'/data write'=0.25s;0.1;1;0 '/data space'=8.5%;10:;3:;0;100 '/data in_flight'=0;;;0 psi_some=1%;;;0;100 psi_full=0.5%;;;0;100"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
