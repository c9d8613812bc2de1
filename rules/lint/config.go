package lint

import (
	"time"

	"failwise/rules"
)

// Config is what checks may know beside the file. The zero value of a field is
// "not known" and keeps the checks that need it silent.
type Config struct {
	// Timings are the configured times and limits. They are known as a whole if
	// their tick is positive.
	Timings rules.Timings
	// ProbeTypes are the configured ones: "connect", "select", "insert".
	ProbeTypes []string
	// ConfirmReplicas is "bounce", "passive" or "off".
	ConfirmReplicas string
	// ReplicaNetTimeout is the longest replica_net_timeout (slave_net_timeout)
	// among the live replicas.
	ReplicaNetTimeout time.Duration
}

// types reports whether the probe types are known and whether kind is one.
func (c *Config) types(kind string) (known, has bool) {
	if c == nil || len(c.ProbeTypes) == 0 {
		return false, false
	}
	for _, t := range c.ProbeTypes {
		if t == kind {
			return true, true
		}
	}
	return true, false
}

// usual are the timings of the default profile, for examples.
var usual = rules.Timings{
	Tick: 10 * time.Second, ProbeInterval: 3 * time.Second, ProbeBudget: 5 * time.Second,
	SettleRestarts: 3, AgeLimit: 10 * time.Minute, Retry: time.Minute, Attempts: 3,
}

// usualBut returns the usual timings with a change.
func usualBut(change func(*rules.Timings)) rules.Timings {
	t := usual
	change(&t)
	return t
}
