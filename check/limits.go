package check

import (
	"time"

	"failwise/rules"
)

// DefaultTotal is the budget of a probe whose [Limits] name none.
const DefaultTotal = 5 * time.Second

// Limits bound a probe in time. A phase never gets more than what is left of
// Total, whatever its own limit says.
type Limits struct {
	// Total is the budget of the whole probe, the one retry included; 0 means
	// [DefaultTotal].
	Total time.Duration
	// The limits of the phases; 0 means whatever is left of Total. Connect is
	// shared by all addresses of a name.
	Resolve, Connect, Greeting, Login, Send, Execute, Results time.Duration
}

// total is the budget with its default.
func (l Limits) total() time.Duration {
	if l.Total <= 0 {
		return DefaultTotal
	}
	return l.Total
}

// phase is the own limit of a phase; 0 is none.
func (l Limits) phase(p rules.Phase) time.Duration {
	switch p {
	case rules.PhaseResolve:
		return l.Resolve
	case rules.PhaseConnect:
		return l.Connect
	case rules.PhaseGreeting:
		return l.Greeting
	case rules.PhaseLogin:
		return l.Login
	case rules.PhaseSend:
		return l.Send
	case rules.PhaseExecute:
		return l.Execute
	case rules.PhaseResults:
		return l.Results
	default:
		return 0
	}
}

// budget is a running probe's share of time.
type budget struct {
	limits Limits
	end    time.Time
}

// until is the moment at which a phase that begins now must be over.
func (b budget) until(p rules.Phase, now time.Time) time.Time {
	if limit := b.limits.phase(p); limit > 0 {
		if t := now.Add(limit); t.Before(b.end) {
			return t
		}
	}
	return b.end
}
