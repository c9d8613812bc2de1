package failover

import (
	"time"

	"failwise/rules"
)

// How long an answer counts, and when a standing no is asked again.
const (
	// SeesFor is how long a replica's "sees" stands unless it answers again.
	SeesFor = 60 * time.Second
	// AnswerFor is how long any other answer counts; older ones are unknown,
	// and unknown does not hold.
	AnswerFor = 15 * time.Second
	// AskAgain is the time from the end of a round of questions whose answers
	// hold to the next round.
	AskAgain = 10 * time.Second
)

// Vote is a replica's answer to "do you still see the primary?".
type Vote uint8

// The votes.
const (
	VoteUnknown Vote = iota
	VoteSees
	VoteLost
)

var voteNames = []string{"unknown", "sees", "lost"}

func (v Vote) String() string { return nameOf("vote", voteNames, v) }

// ParseVote is the inverse of [Vote.String].
func ParseVote(s string) (Vote, error) { return parseName[Vote]("vote", voteNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (v Vote) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Vote) UnmarshalText(b []byte) (err error) { *v, err = ParseVote(string(b)); return err }

// Route is the joint answer of the configured routes: commands that look at the
// primary from elsewhere.
type Route uint8

// The routes' answers.
const (
	RouteUnknown Route = iota
	RouteSees
	RouteDead
)

var routeNames = []string{"unknown", "sees", "dead"}

func (r Route) String() string { return nameOf("route", routeNames, r) }

// ParseRoute is the inverse of [Route.String].
func ParseRoute(s string) (Route, error) { return parseName[Route]("route", routeNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (r Route) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Route) UnmarshalText(b []byte) (err error) { *r, err = ParseRoute(string(b)); return err }

// Observers is what the other watchers say about the primary: they agree when a
// strict majority of the configured watchers, this one counted, report it
// nearly_down.
type Observers uint8

// The observers' answers.
const (
	ObserversUnknown Observers = iota
	ObserversAgree
	ObserversDisagree
)

var observersNames = []string{"unknown", "agree", "disagree"}

func (o Observers) String() string { return nameOf("observers", observersNames, o) }

// ParseObservers is the inverse of [Observers.String].
func ParseObservers(s string) (Observers, error) {
	return parseName[Observers]("observers", observersNames, s)
}

// MarshalText implements encoding.TextMarshaler.
func (o Observers) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Observers) UnmarshalText(b []byte) (err error) {
	*o, err = ParseObservers(string(b))
	return err
}

// Contestable reports whether a replica or a route can contradict the outcome:
// it is no outcome after a good login. A hung server still answers a TCP check,
// so their views count for nothing once a login has worked.
func Contestable(o rules.Outcome) bool { return o.UpToLogin() || !o.Alive() }
