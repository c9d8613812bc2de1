package promote

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"failwise/failover/hooks"
)

// Plan is an ordered list of steps, and all they need to know. The value that
// --dry-run prints is the value that is executed. A plan names its candidate as
// far as it is known; a failover chooses anew on final positions, and its steps
// from there on are built again when the choice differs.
type Plan struct {
	ID         string          `json:"id"`
	Operation  hooks.Operation `json:"operation"`
	Cluster    string          `json:"cluster"`
	OldPrimary string          `json:"old_primary"`
	// Candidate is the node to be opened; for a recover the primary to follow.
	Candidate string `json:"candidate"`
	// To is the candidate that was asked for, if one was.
	To string `json:"to,omitempty"`
	// Siblings are the other replicas.
	Siblings []string `json:"siblings,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	// Notes are for who reads the plan before it is carried out.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
}

// Step gives the plan's step of that name, or nil.
func (p *Plan) Step(name StepName) *Step {
	for i := range p.Steps {
		if p.Steps[i].Name == name {
			return &p.Steps[i]
		}
	}
	return nil
}

// MarshalJSON writes a list without elements as such.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	if p.Steps == nil {
		p.Steps = []Step{}
	}
	return json.Marshal(plain(p))
}

// MarshalJSON writes the limits of the steps in seconds.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	return json.Marshal(struct {
		plain
		Limit float64 `json:"limit,omitempty"`
	}{plain(s), s.Limit.Seconds()})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (s *Step) UnmarshalJSON(data []byte) error {
	type plain Step
	var with struct {
		plain
		Limit float64 `json:"limit"`
	}
	if err := json.Unmarshal(data, &with); err != nil {
		return err
	}
	*s = Step(with.plain)
	s.Limit = time.Duration(with.Limit * float64(time.Second))
	return nil
}

// WriteText prints the plan for a reader: one paragraph a step.
func (p Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s → %s\n", p.Operation, p.Cluster, p.OldPrimary, p.Candidate)
	if p.Reason != "" {
		fmt.Fprintf(&b, "reason: %s\n", p.Reason)
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n%2d. %s", i+1, s.Name)
		if len(s.Targets) > 0 {
			fmt.Fprintf(&b, " on %s", strings.Join(s.Targets, ", "))
		}
		if s.Limit > 0 {
			fmt.Fprintf(&b, ", at most %v", s.Limit)
		}
		if s.Forward {
			b.WriteString(", forward only")
		}
		fmt.Fprintf(&b, "\n    %s\n", s.Does)
		if s.Requires != "" {
			fmt.Fprintf(&b, "    requires: %s\n", s.Requires)
		}
		writeStatements(&b, "", s.Statements)
		writeStatements(&b, "undo ", s.Undo)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeStatements(b *strings.Builder, prefix string, statements []Statement) {
	for _, s := range statements {
		fmt.Fprintf(b, "    %s%s> %s;\n", prefix, s.Node, s.SQL)
	}
}
