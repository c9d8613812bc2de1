package failover

// Stage is how far a node has gone from healthy to failed over.
type Stage uint8

// The stages.
const (
	// Up: online, or not seen otherwise yet.
	Up Stage = iota
	// HalfDown: bad, with alarms running.
	HalfDown
	// NearlyDown: a fatal alarm has expired and is being confirmed, or held.
	NearlyDown
	// InFailover: its failover is being executed.
	InFailover
	// Shunned: failed, or an old primary. It is probed and never acted on until
	// it comes back.
	Shunned
)

var stageNames = []string{"up", "half_down", "nearly_down", "failover", "shunned"}

func (s Stage) String() string { return nameOf("stage", stageNames, s) }

// ParseStage is the inverse of [Stage.String].
func ParseStage(s string) (Stage, error) { return parseName[Stage]("stage", stageNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Stage) UnmarshalText(b []byte) (err error) { *s, err = ParseStage(string(b)); return err }
