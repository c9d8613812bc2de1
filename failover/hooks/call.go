package hooks

import (
	"encoding/json"
	"sort"
	"strings"
	"time"
)

// Call is everything a hook is told. Unknown fields stay empty and their
// environment variables are not set. It never holds a password in a field that
// is written to JSON.
type Call struct {
	Event      Event     `json:"event"`
	Operation  Operation `json:"operation,omitempty"`
	Time       time.Time `json:"time"`
	Cluster    string    `json:"cluster"`
	Node       string    `json:"node,omitempty"`        // the node an alert or a replica event is about
	OldPrimary string    `json:"old_primary,omitempty"` // host:port
	NewPrimary string    `json:"new_primary,omitempty"` // host:port
	Replicas   []string  `json:"replicas,omitempty"`    // who follows the new primary, host:port
	Reason     string    `json:"reason,omitempty"`
	Outcome    string    `json:"outcome,omitempty"` // the probe outcome behind it
	DryRun     bool      `json:"-"`                 // hooks are not run

	// Record is the decision record, written to standard input as "record".
	Record any `json:"record,omitempty"`

	// MHA is what only scripts with contract mha are given.
	MHA MHAFacts `json:"-"`
}

// MHAFacts are what MHA's scripts expect beyond the names of the nodes. The
// passwords go into the environment unless the hook says otherwise.
type MHAFacts struct {
	OldUser     string
	OldPassword string
	NewUser     string
	NewPassword string
	// OldFollows is true when the old primary becomes a replica of the new one.
	OldFollows bool
	Subject    string
	Body       string
}

// JSON is the object on a hook's standard input and in a webhook's body, one line.
func (c Call) JSON() ([]byte, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// environ is the FAILWISE_ part of a hook's environment, sorted.
func (c Call) environ() []string {
	vars := map[string]string{
		"FAILWISE_EVENT":       c.Event.String(),
		"FAILWISE_OPERATION":   c.Operation.String(),
		"FAILWISE_CLUSTER":     c.Cluster,
		"FAILWISE_NODE":        c.Node,
		"FAILWISE_OLD_PRIMARY": c.OldPrimary,
		"FAILWISE_NEW_PRIMARY": c.NewPrimary,
		"FAILWISE_REPLICAS":    strings.Join(c.Replicas, ","),
		"FAILWISE_REASON":      c.Reason,
		"FAILWISE_OUTCOME":     c.Outcome,
	}
	if !c.Time.IsZero() {
		vars["FAILWISE_TIME"] = c.Time.Format("2006-01-02T15:04:05.000Z07:00")
	}
	var env []string
	for name, value := range vars {
		if value != "" {
			env = append(env, name+"="+strings.ReplaceAll(value, "\x00", ""))
		}
	}
	sort.Strings(env)
	return env
}
