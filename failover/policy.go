package failover

// Policy says what may be done without asking.
type Policy uint8

// The policies. The zero value is Manual: nobody promotes by accident.
const (
	// Manual detects, raises alarms and alerts; fail holds.
	Manual Policy = iota
	// Automatic does all.
	Automatic
	// Maintenance probes and keeps states and alarms, whose clocks stand still;
	// no alert, no action.
	Maintenance
)

var policyNames = []string{"manual", "automatic", "maintenance"}

func (p Policy) String() string { return nameOf("policy", policyNames, p) }

// ParsePolicy is the inverse of [Policy.String].
func ParsePolicy(s string) (Policy, error) { return parseName[Policy]("policy", policyNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Policy) UnmarshalText(b []byte) (err error) { *p, err = ParsePolicy(string(b)); return err }
