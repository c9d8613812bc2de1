package topology

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"failwise/failover"
	"failwise/failover/mysql"
)

// Voter is one replica to be asked; [mysql.Session] is the way to ask it.
type Voter struct {
	Name    string
	Session Asker
	// Channel is the replication channel that follows the primary.
	Channel string
	// Connected is when its IO thread was last seen connected; zero is never.
	Connected time.Time
	// Before is its channel as it was read at BeforeAt; see [mysql.VoteOptions].
	Before   mysql.Channel
	BeforeAt time.Time
}

// Asker asks one replica about its source.
type Asker interface {
	Look(ctx context.Context, o mysql.VoteOptions) mysql.Ballot
	Bounce(ctx context.Context, channel string) mysql.Ballot
}

// Answer is one replica's vote. A replica that was not asked any more, because
// another one had seen the primary already, has none.
type Answer struct {
	Name string `json:"name"`
	mysql.Ballot
}

// MarshalJSON writes the duration in seconds.
func (a Answer) MarshalJSON() ([]byte, error) {
	type plain Answer
	return json.Marshal(struct {
		plain
		Took float64 `json:"took"`
	}{plain(a), a.Took.Seconds()})
}

// Poll asks the replicas whether they still see the primary. First it looks at
// all of them at once without touching them; then, if bounce is wanted, it asks
// those afresh for whom a look is no answer, one after the other. The first one
// that sees the primary ends the round. Answers come in the voters' order. ctx
// bounds the round: each bounce takes up to 5 s and a bit.
func Poll(ctx context.Context, voters []Voter, bounce bool) []Answer {
	answers := make([]Answer, len(voters))
	var all sync.WaitGroup
	looking, enough := context.WithCancel(ctx)
	defer enough()
	for i, v := range voters {
		all.Go(func() {
			b := v.Session.Look(looking, mysql.VoteOptions{
				Channel: v.Channel, Connected: v.Connected, Before: v.Before, BeforeAt: v.BeforeAt,
			})
			answers[i] = Answer{v.Name, b}
			if b.Vote == failover.VoteSees && !b.NeedsBounce {
				enough()
			}
		})
	}
	all.Wait()
	for _, a := range answers {
		if a.Vote == failover.VoteSees && !a.NeedsBounce {
			return answered(answers)
		}
	}
	if !bounce {
		return answers
	}
	for i, v := range voters {
		if !answers[i].NeedsBounce {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		looked := answers[i].Took
		answers[i].Ballot = v.Session.Bounce(ctx, v.Channel)
		answers[i].Took += looked
		if answers[i].Vote == failover.VoteSees {
			return answered(answers)
		}
	}
	return answers
}

// answered leaves out those whose question was cut short.
func answered(answers []Answer) []Answer {
	var list []Answer
	for _, a := range answers {
		if a.Vote != failover.VoteUnknown && (a.Vote != failover.VoteSees || !a.NeedsBounce) {
			list = append(list, a)
		}
	}
	return list
}

// Voters are the readable replicas of the primary, for [Poll].
func Voters(t Topology, r *Reader, connected map[string]time.Time) []Voter {
	var list []Voter
	for _, n := range t.Followers(t.Primary) {
		if c, ok := n.Channel(t.Primary); ok {
			list = append(list, Voter{
				Name: n.Name, Session: r.Session(n.Name), Channel: c.Name, Connected: connected[n.Name], Before: c, BeforeAt: n.Status.ReadAt,
			})
		}
	}
	return list
}
