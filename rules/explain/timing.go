package explain

import (
	"fmt"
	"time"

	"failwise/rules"
)

// Timing is when the action of a rule comes, counted from the real fault and as
// long as the fault lasts without a break.
type Timing struct {
	Steps []Step `json:"steps"`
	// Expires is when the alarm expires, Acts when the decision is taken if
	// nobody holds it. In seconds.
	Expires Span `json:"expires"`
	Acts    Span `json:"acts"`
	// Of is what Acts is the moment of: "failover decided", "alert" …
	Of string `json:"of"`
}

// Step is a part of the way from the fault to the action.
type Step struct {
	Name string `json:"name"`
	// Takes is how long the step takes, at least and at most, in seconds.
	Takes Span   `json:"takes"`
	Why   string `json:"why"`
}

// Span is an earliest and a latest moment, in seconds.
type Span struct {
	Earliest float64 `json:"earliest"`
	Latest   float64 `json:"latest"`
}

// plus adds two spans.
func (s Span) plus(t Span) Span { return Span{s.Earliest + t.Earliest, s.Latest + t.Latest} }

func between(a, b time.Duration) Span { return Span{a.Seconds(), b.Seconds()} }

// votePatience is how long a replica is given to show whether it still reaches
// its source.
const votePatience = 5 * time.Second

// speed is how soon a probe that meets the fault ends.
type speed uint8

const (
	atOnce   speed = iota // the kernel or the server answers
	whole                 // the probe's time is over
	between0              // anything up to the budget
)

// speedOf tells how soon a probe ends in an outcome.
func speedOf(o rules.Outcome) speed {
	switch o {
	case rules.SocketConnectTimeout, rules.LoginResponseTimeout, rules.SendQueryTimeout,
		rules.QueryExecTimeout, rules.QueryResultsTimeout, rules.WriteTimeout:
		return whole
	case rules.NoRouteToHost, rules.HostIsDown, rules.UnknownHost, rules.NotOnline, rules.DiskFull, rules.StorageError:
		return between0
	default:
		return atOnce
	}
}

// timing computes when the rule acts on a node of a role; nil if it never does.
func (q Question) timing(role Role) *Timing {
	r, t := q.Rules.Rule(q.Outcome), q.Setup.Timings
	switch {
	case r.Threshold < 0, r.State == rules.Online, never(q.Outcome):
		return nil
	case q.Outcome == rules.NotOnline && r.Window == 0, role == Replica && q.Outcome.OfInsert():
		return nil
	}
	seen := q.seen(role)
	fuse := t.Ticks(r.Threshold)
	out := &Timing{Steps: []Step{seen}}
	out.Expires = seen.Takes
	if r.Threshold > 0 {
		why := "the count is the alarm's age in whole ticks, from the first such probe"
		if r.Window > 0 {
			why = "only whole ticks count, from the first such probe; a flapping fault takes longer"
		}
		out.Steps = append(out.Steps, Step{
			Name: fmt.Sprintf("%s of %s", count(r.Threshold, "tick"), span(t.Tick)), Takes: between(fuse, fuse), Why: why,
		})
		out.Expires = out.Expires.plus(between(fuse, fuse))
	}
	out.Acts = out.Expires
	switch {
	case r.Action == rules.None:
		out.Of = "a line in the journal"
	case r.Action == rules.Alert:
		out.Of = "alert"
	case role == Replica:
		out.Of = "replica set aside"
	default:
		out.Of = "failover decided"
		steps, takes := q.confirmation()
		out.Steps = append(out.Steps, steps...)
		out.Acts = out.Acts.plus(takes)
	}
	return out
}

// seen is the time from the fault to the end of the first probe that meets it.
func (q Question) seen(role Role) Step {
	t := q.Setup.Timings
	every := fmt.Sprintf("probes start every %s", span(t.ProbeInterval))
	s := Step{Name: "a probe sees it"}
	switch speedOf(q.Outcome) {
	case whole:
		s.Takes = between(t.ProbeBudget, t.ProbeInterval+t.ProbeBudget)
		s.Why = fmt.Sprintf("%s and hang for their whole budget of %s", every, span(t.ProbeBudget))
	case between0:
		s.Takes = between(0, t.ProbeInterval+t.ProbeBudget)
		s.Why = fmt.Sprintf("%s and take up to %s", every, span(t.ProbeBudget))
	default:
		s.Takes = between(0, t.ProbeInterval)
		s.Why = every + " and are answered at once"
		if q.Outcome == rules.SocketIOError && role == Primary {
			s.Why += "; the idle session to the primary breaks with it, which starts a probe right away"
		}
	}
	return s
}

// confirmation is what comes between the expiry of a primary's alarm and the
// decision. The settle and the questions run side by side.
func (q Question) confirmation() ([]Step, Span) {
	t := q.Setup.Timings
	var steps []Step
	settle := Span{}
	if t.Settle > 0 {
		settle = between(t.Ticks(t.Settle), t.Ticks(t.Settle*(1+t.SettleRestarts)))
		steps = append(steps, Step{
			Name: fmt.Sprintf("settle of %s", count(t.Settle, "tick")), Takes: settle,
			Why: fmt.Sprintf("starts anew when another node goes down, at most %s", count(t.SettleRestarts, "time")),
		})
	}
	ask := between(0, t.ProbeBudget)
	if speedOf(q.Outcome) == whole {
		ask = between(t.ProbeBudget, t.ProbeBudget)
	}
	name, why := "recheck", "one more probe must agree"
	if q.Outcome.UpToLogin() && q.votes() == "bounce" {
		name = "recheck and votes"
		why = fmt.Sprintf("one more probe must agree; %s asked, one after the other, up to %s each",
			count(q.Setup.Replicas, "replica"), span(votePatience))
		ask.Latest = max(ask.Latest, (time.Duration(q.Setup.Replicas) * votePatience).Seconds())
	}
	if t.Settle > 0 {
		why += "; while it settles"
	}
	steps = append(steps, Step{Name: name, Takes: ask, Why: why})
	return steps, Span{max(settle.Earliest, ask.Earliest), max(settle.Latest, ask.Latest)}
}

// votes is how replicas are asked.
func (q Question) votes() string {
	if q.Setup.ConfirmReplicas == "" {
		return "bounce"
	}
	return q.Setup.ConfirmReplicas
}

// never reports whether no probe ends in the outcome.
func never(o rules.Outcome) bool { return o == rules.UntrappedCondition || o == rules.Undefined }
