package topology

import (
	"context"
	"slices"
	"sync"
	"testing"

	"failwise/failover"
	"failwise/failover/mysql"
)

// fakeAsker is a replica with prepared answers.
type fakeAsker struct {
	look, bounce mysql.Ballot
	bounced      func()
}

func (f fakeAsker) Look(context.Context, mysql.VoteOptions) mysql.Ballot { return f.look }

func (f fakeAsker) Bounce(context.Context, string) mysql.Ballot {
	f.bounced()
	return f.bounce
}

func TestPollAsksAfreshOneByOneUntilOneSeesThePrimary(t *testing.T) {
	sees, lost, unknown := mysql.Ballot{Vote: failover.VoteSees}, mysql.Ballot{Vote: failover.VoteLost}, mysql.Ballot{}
	asleep := mysql.Ballot{NeedsBounce: true}
	running := mysql.Ballot{Vote: failover.VoteSees, NeedsBounce: true}
	for _, c := range []struct {
		name    string
		look    []mysql.Ballot
		fresh   []mysql.Ballot
		bounce  bool
		votes   map[string]failover.Vote
		bounced []string
	}{
		{"all lost by a look", []mysql.Ballot{lost, lost}, nil, true, map[string]failover.Vote{"a": failover.VoteLost, "b": failover.VoteLost}, nil},
		{"one sees by a look", []mysql.Ballot{running, sees}, nil, true, map[string]failover.Vote{"b": failover.VoteSees}, nil},
		{"running threads are asked afresh", []mysql.Ballot{running, running}, []mysql.Ballot{lost, lost}, true,
			map[string]failover.Vote{"a": failover.VoteLost, "b": failover.VoteLost}, []string{"a", "b"}},
		{"the first that sees ends the round", []mysql.Ballot{running, running, running}, []mysql.Ballot{lost, sees, lost}, true,
			map[string]failover.Vote{"a": failover.VoteLost, "b": failover.VoteSees}, []string{"a", "b"}},
		{"passive trusts a running thread", []mysql.Ballot{running, lost}, nil, false,
			map[string]failover.Vote{"a": failover.VoteSees, "b": failover.VoteLost}, nil},
		{"a look that answers is not bounced", []mysql.Ballot{unknown, asleep}, []mysql.Ballot{sees, lost}, true,
			map[string]failover.Vote{"a": failover.VoteUnknown, "b": failover.VoteLost}, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var bounced []string
			var voters []Voter
			for i, name := range []string{"a", "b", "c"}[:len(c.look)] {
				f := fakeAsker{look: c.look[i], bounced: func() { mu.Lock(); defer mu.Unlock(); bounced = append(bounced, name) }}
				if c.fresh != nil {
					f.bounce = c.fresh[i]
				}
				voters = append(voters, Voter{Name: name, Session: f})
			}
			got := map[string]failover.Vote{}
			for _, a := range Poll(t.Context(), voters, c.bounce) {
				got[a.Name] = a.Vote
			}
			if len(got) != len(c.votes) {
				t.Errorf("votes %v, want %v", got, c.votes)
			}
			for name, want := range c.votes {
				if got[name] != want {
					t.Errorf("%s votes %v, want %v", name, got[name], want)
				}
			}
			if !slices.Equal(bounced, c.bounced) {
				t.Errorf("bounced %v, want %v", bounced, c.bounced)
			}
		})
	}
}
